"""Admit workers, direct them, forget them, and write down their signs of life."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

from hiringhall.domain.lease import Cause, Pulse, next_gaps
from hiringhall.domain.lifecycle import State
from hiringhall.domain.names import service_of, worker_id_of
from hiringhall.domain.topics import topic_of_worker
from hiringhall.ports.asks import DirectWorker, MarkSeen, Register, RemoveWorker, Sign
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.give_back import take_back
from hiringhall.storage.procedures.logins import end_logins_of
from hiringhall.storage.procedures.service_workers import forget_service_worker
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.writing import write


def pulse_from(last_seen: int, last_beat: int | None, gaps: str) -> Pulse:
    """Signs of life from their columns."""
    return Pulse(last_seen, last_beat, tuple(int(gap) for gap in gaps.split(",") if gap))


def register(context: Context, asks: Sequence[Register]) -> Procedure:
    """Admit workers whose id is free; being admitted is a sign of life."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch(
            "insert_worker",
            {"key": ask.worker, "hostname": json.dumps(ask.hostname), "token_hash": ask.token_hash, "now": context.now},
        )
        if rows:
            yield Many("insert_pulse", [{"worker": ask.worker, "last_seen": context.now}])
            context.ring(topic_of_worker(ask.worker))
        outcomes.append(bool(rows) or ask.known_is_fine)
    return outcomes


def mark_seen(context: Context, asks: Sequence[MarkSeen]) -> Procedure:
    """Write down when workers were last heard; a sign never moves a pulse back."""
    signs = [sign for ask in asks for sign in ask.signs]
    beats = [sign for sign in signs if sign.beat_ms_ago is not None]
    if beats:
        yield from _mark_beats(context, beats)
    if len(beats) < len(signs):
        yield seen_step([sign for sign in signs if sign.beat_ms_ago is None], context.now)
    return [None] * len(asks)


def seen_step(signs: Sequence[Sign], now: int | None) -> Step:
    """What writes down signs of life that are no heartbeats. `now`: None has PostgreSQL look at its clock."""
    heard: dict[str, int] = {}
    for sign in signs:
        heard[sign.worker] = min(sign.seen_ms_ago, heard.get(sign.worker, sign.seen_ms_ago))
    return Fetch("mark_seen", {"signs": json.dumps(sorted(heard.items())), "now": now})


def _mark_beats(context: Context, signs: Sequence[Sign]) -> Generator[Step, list[Row], None]:
    rows = yield Fetch("lock_pulses", {"workers": sorted({sign.worker for sign in signs})})
    pulses = {worker: pulse_from(last_seen, last_beat, gaps) for worker, last_seen, last_beat, gaps in rows}
    for sign in signs:
        pulse = pulses.get(sign.worker)
        if pulse is None:
            continue  # removed meanwhile
        last_seen, last_beat, gaps = max(pulse.last_seen, context.now - sign.seen_ms_ago), pulse.last_beat, pulse.gaps
        if sign.beat_ms_ago is not None:
            beat_at = context.now - sign.beat_ms_ago
            gaps = next_gaps(pulse, beat_at)
            last_beat = max(last_beat or 0, beat_at)
        pulses[sign.worker] = Pulse(last_seen, last_beat, gaps)
    if pulses:
        yield Many(
            "update_pulse",
            [
                {
                    "worker": worker,
                    "last_seen": pulse.last_seen,
                    "last_beat": pulse.last_beat,
                    "gaps": ",".join(map(str, pulse.gaps)),
                }
                for worker, pulse in pulses.items()
            ],
        )


def direct_worker(context: Context, asks: Sequence[DirectWorker]) -> Procedure:
    """Quiet, resume or terminate workers."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch(
            "direct_worker",
            {
                "key": ask.worker,
                "quiet": None if ask.quiet is None else int(ask.quiet),
                "terminate": None if ask.terminate is None else int(ask.terminate),
            },
        )
        if rows:
            context.ring(topic_of_worker(ask.worker))
        outcomes.append(bool(rows))
    return outcomes


def remove_worker(context: Context, asks: Sequence[RemoveWorker]) -> Procedure:
    """Forget workers; what they hold returns in the same transaction, and the logins of service workers end in it."""
    outcomes = []
    for ask in asks:
        holds = yield Fetch("find_holds", {"workers": [ask.worker]})
        units = yield from lock_units(row[0] for row in holds)
        changes = Changes()
        for unit in units.values():
            if unit.holder == ask.worker and unit.state is State.HELD:
                take_back(changes, unit, Cause.OPERATOR)
        yield from write(context, changes)
        service = service_of(ask.worker)
        if service is not None:
            yield from end_logins_of(context, service, worker_id_of(ask.worker))
            yield from forget_service_worker(context, ask.worker)
        rows = yield Fetch("delete_worker", {"key": ask.worker})
        yield Many("delete_pulse", [{"worker": ask.worker}])
        yield Many("delete_directives", [{"worker": ask.worker}])
        context.ring(topic_of_worker(ask.worker))
        outcomes.append(bool(rows))
    return outcomes
