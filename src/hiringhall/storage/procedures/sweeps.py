"""Bounded background corrections: the pulse, silent workers, run limits, due retries, counts.

Each judges units by the domain's arithmetic on rows that it has locked, so that a unit settled meanwhile is left alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.lease import Pulse, Terms, ended_by, hears_since, is_offline, may_be_silent, may_overrun
from hiringhall.domain.lifecycle import State
from hiringhall.domain.names import SERVICE_WORKER
from hiringhall.ports.asks import Beat, Beaten, FoldTallies, SweepRetries, SweepRunLimit, SweepSilent, Swept
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.give_back import take_back
from hiringhall.storage.procedures.service_workers import lose_children, return_offers
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.workers import pulse_from
from hiringhall.storage.procedures.writing import write


def beat(context: Context, asks: Sequence[Beat]) -> Procedure:
    """Write the pulse; after a time without one, what could not be heard counts as heard now."""
    rows = yield beat_step(context.now, context.terms)
    return [beaten(rows[0], context.terms)] * len(asks)


def beat_step(now: int | None, terms: Terms) -> Step:
    """What writes the pulse. `now`: None has PostgreSQL look at its clock."""
    return Fetch("beat", {"now": now, "deaf_after_ms": terms.deaf_after_ms})


def beaten(row: Row, terms: Terms) -> Beaten:
    """What the pulse found."""
    now, deaf, last_seen, run_until, retry_at, deadline_at = row
    return Beaten(
        bool(deaf),
        last_seen is not None and may_be_silent(Pulse(last_seen), now, terms),
        run_until is not None and may_overrun(run_until, now, terms),
        None if retry_at is None else max(0, retry_at - now),
        None if deadline_at is None else max(0, deadline_at - now),
    )


def sweep_silent(context: Context, asks: Sequence[SweepSilent]) -> Procedure:
    """Take back what silent workers hold. Starts from their pulses and reads their holds by index."""
    outcomes = []
    for ask in asks:
        terms = context.terms
        rows = yield Fetch("find_silent", {"before": context.now - terms.silent_after_ms, "limit": ask.limit})
        orphans = (yield Fetch("find_orphans", {"limit": ask.limit})) if ask.orphans else []
        heard_since = yield from _heard_since(context)
        pulses = {row[0]: pulse_from(row[1], row[2], row[3]) for row in rows}
        holds = (yield Fetch("find_holds", {"workers": sorted(pulses)})) if pulses else []
        changed = yield from _judge(context, [row[0] for row in (*holds, *orphans)], heard_since)
        gone = [
            {"worker": worker, "last_seen": pulse.last_seen}
            for worker, pulse in pulses.items()
            if is_offline(pulse, heard_since, context.now, terms)
        ]
        marked = (yield FetchMany("mark_offline", gone)) if gone else []
        lost = {row[0] for row in marked if row[0].startswith(SERVICE_WORKER)}
        for worker in sorted(lost):
            yield from return_offers(context, worker)
        if ask.orphans:
            lost.update(row[0] for row in (yield Fetch("find_lost", {"limit": ask.limit})))
        if lost:
            changed += yield from lose_children(context, sorted(lost))
        outcomes.append(Swept(changed, len(rows) == ask.limit and bool(gone)))
    return outcomes


def _judge(context: Context, ids: Sequence[int], heard_since: int) -> Generator[Step, list[Row], int]:
    units = yield from lock_units(ids)
    if not units:
        return 0
    holders = sorted({unit.holder for unit in units.values() if unit.holder is not None})
    rows = yield Fetch("find_pulses", {"workers": holders})
    fresh = {row[0]: pulse_from(row[1], row[2], row[3]) for row in rows}
    changes = Changes()
    for unit in units.values():
        if unit.state is not State.HELD or unit.holder is None:
            continue
        cause = ended_by(
            fresh.get(unit.holder), unit.handed_at or 0, unit.run_until, heard_since, context.now, context.terms
        )
        if cause is not None:
            take_back(changes, unit, cause)
    yield from write(context, changes)
    return len(changes.events)


def sweep_run_limit(context: Context, asks: Sequence[SweepRunLimit]) -> Procedure:
    """Take back what was held past its run limit, however alive the holder is."""
    outcomes = []
    for ask in asks:
        heard_since = yield from _heard_since(context)
        rows = yield Fetch("find_overrun", {"before": context.now - context.terms.overrun_after_ms, "limit": ask.limit})
        changed = yield from _judge(context, [row[0] for row in rows], heard_since)
        outcomes.append(Swept(changed, len(rows) == ask.limit and changed > 0))
    return outcomes


def sweep_retries(context: Context, asks: Sequence[SweepRetries]) -> Procedure:
    """Make failed units ready whose retry is due."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch("find_retries", {"limit": ask.limit})
        due = [row[0] for row in rows if row[1] <= context.now]
        units = yield from lock_units(due)
        changes = Changes()
        for unit in units.values():
            before = unit.counted_as
            event = work.retry_due(unit, context.now)
            if event is not None:
                changes.note(before, unit, event)
        yield from write(context, changes)
        outcomes.append(Swept(len(changes.events), len(due) == ask.limit))
    return outcomes


def fold_tallies(_: Context, asks: Sequence[FoldTallies]) -> Procedure:
    """Replace the deltas of each count by their sum."""
    outcomes = []
    for ask in asks:
        rows: Any = yield Fetch("find_unfolded", {"limit": ask.limit})
        changed = 0
        for lane, state in rows:
            deltas = yield Fetch("delete_tally", {"lane": lane, "state": state})
            changed += len(deltas)
            total = sum(row[0] for row in deltas)
            if total:
                yield Many("insert_tally", [{"lane": lane, "state": state, "n": total}])
        outcomes.append(Swept(changed))
    return outcomes


def _heard_since(context: Context) -> Generator[Step, list[Row], int]:
    rows = yield Fetch("find_heard_since")
    heard_since, pulse_at = rows[0]
    return hears_since(heard_since, pulse_at, context.now, context.terms)
