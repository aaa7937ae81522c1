"""What follows when a call ends, whoever ended it: its outcome is written down, those who follow it are rung, and the
broadcast of which it is a child counts it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Any, Final

from hiringhall.domain import work
from hiringhall.domain.call import Answer, gathered
from hiringhall.domain.lifecycle import FINAL, State
from hiringhall.domain.names import worker_id_of
from hiringhall.domain.topics import topic_of_request
from hiringhall.domain.work import Unit
from hiringhall.storage.procedure import Context, Fetch, Many, Row, Step
from hiringhall.storage.procedures.units import Changes, load_missing

UNANSWERED: Final = {
    State.CANCELLED: Answer.CANCELLED,
    State.EXPIRED: Answer.EXPIRED,
    State.FAILED: Answer.ERROR,
}
"""How a call ended that no worker answered."""
_FINAL: Final = frozenset(state.value for state in FINAL)


def answer_row(
    unit: Unit, answer: Answer, now: int, *, result: bytes | None = None, error_text: str | None = None,
    worker: str | None = None, key: bytes | None = None, body: bytes | None = None,
) -> dict[str, Any]:  # fmt: skip
    """An answer as it is stored. Texts are stored as their JSON text."""
    return {
        "work": unit.id,
        "answer": answer.value,
        "result": result,
        "error_text": None if error_text is None else json.dumps(error_text),
        "worker": worker,
        "key": key,
        "body": body,
        "at": now,
    }


def conclude(context: Context, changes: Changes) -> Generator[Step, list[Row], None]:
    """Write down accepted answers, and how other calls ended; end broadcasts whose last child has ended."""
    ended = _ended(changes, changes.units.values())
    taken_away = [unit.id for unit in changes.units.values() if _no_longer_offered(changes, unit)]
    if taken_away:
        yield Fetch("delete_offers_of", {"ids": sorted(taken_away)})
    while ended or changes.answers:
        yield from _write_answers(context, changes, ended)
        for unit in ended:
            context.ring(topic_of_request(unit.name))
        parents = Counter(unit.parent for unit in ended if unit.parent is not None)
        ended = (yield from _count_down(context, changes, parents)) if parents else []


def _ended(changes: Changes, units: Iterable[Unit]) -> list[Unit]:
    return [unit for unit in units if not unit.plan and unit.finished and changes.before[unit.id] not in _FINAL]


def _no_longer_offered(changes: Changes, unit: Unit) -> bool:
    """Whether a call was ready and is not any more, by an answer that came late for example."""
    return not unit.plan and changes.before[unit.id] == State.READY and unit.state is not State.READY


def _write_answers(context: Context, changes: Changes, ended: list[Unit]) -> Generator[Step, list[Row], None]:
    answers, changes.answers = changes.answers, {}
    silent = {unit.id for unit in ended} - answers.keys()
    reasons = {event.work: event.reason for event in changes.events if event.work in silent}
    for unit in ended:
        if unit.id in silent:
            reason = reasons.get(unit.id) if unit.state is State.FAILED else None
            answers[unit.id] = answer_row(unit, UNANSWERED[unit.state], context.now, error_text=reason)
    yield Many("upsert_result", [answers[id_] for id_ in sorted(answers)])


def _count_down(context: Context, changes: Changes, parents: Counter[int]) -> Generator[Step, list[Row], list[Unit]]:
    """Count children as ended; return the broadcasts that have ended by that."""
    units = yield from load_missing(changes, parents)
    gathered_now = []
    for unit in units:
        before, event = unit.counted_as, None
        unit.waiting_on -= parents[unit.id]
        if unit.waiting_on == 0 and unit.state is State.WAITING:
            event = work.gather(unit)
            parts = yield Fetch("find_parts", {"parent": unit.id})
            changes.answers[unit.id] = answer_row(unit, Answer.SUCCESS, context.now, result=_gathered(parts))
            gathered_now.append(unit)
        changes.note(before, unit, event)
    return gathered_now


def _gathered(parts: Iterable[Row]) -> bytes:
    return gathered(
        (
            worker_id_of(worker),
            Answer(answer),
            None if result is None else bytes(result),
            None if error_text is None else json.loads(error_text),
        )
        for worker, answer, result, error_text in parts
    )
