"""Complete, fail or release the task that a worker was handed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane, topic_of_worker
from hiringhall.domain.work import Conflict, Unit
from hiringhall.ports.asks import Settle, TaskView
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.units import Changes, lock_units, unit_from, view_of
from hiringhall.storage.procedures.writing import write


def settle(context: Context, asks: Sequence[Settle]) -> Procedure:
    """Decide each ask on the unit it means; the first accepted one wins."""
    units: dict[int, Unit] = {}
    details: dict[int, str] = {}
    meant = yield from _resolve(asks, units, details)
    changes = Changes()
    outcomes: list[Any] = []
    answers = []
    for ask, found in zip(asks, meant, strict=True):
        unit = units.get(found) if isinstance(found, int) else None
        if isinstance(found, Refused):
            outcomes.append(found)
        elif unit is None:
            outcomes.append(Conflict(ask.task_id, ask.version))
        elif work.may_settle(unit, ask.worker, ask.version, any_holder=ask.any_holder):
            before = unit.counted_as
            event = work.settle(unit, ask.move, ask.worker, ask.reason, now=context.now, jitter=ask.jitter)
            changes.note(before, unit, event)
            outcomes.append(view_of(unit, details[unit.id]))
            if ask.key is not None:
                answers.append({"work": unit.id, **_record(ask)})
        else:
            outcomes.append((yield from _refuse(context, ask, unit, details[unit.id])))
    yield from write(context, changes)
    if answers:
        yield Many("insert_answer", answers)
    return outcomes


def _resolve(
    asks: Sequence[Settle], units: dict[int, Unit], details: dict[int, str]
) -> Generator[Step, list[Row], list[int | Refused | None]]:
    """Which unit each ask means: the one that the worker was handed under exactly that version, else the only one.

    `units` and `details` receive the units that still exist, locked.
    """
    rows = yield FetchMany(
        "lock_handed",
        [
            {"ordinal": ordinal, "worker": ask.worker, "name": ask.task_id, "version": ask.version}
            for ordinal, ask in enumerate(asks)
        ],
    )
    meant: list[int | Refused | None] = [None] * len(asks)
    for row in rows:
        ordinal, number, lane_key = row[21:24]
        plan = asks[ordinal].plan
        if plan is None or plan_lane(plan) == lane_key:
            meant[ordinal] = number
            if row[2] is not None and number not in units:
                units[number], details[number] = unit_from(row), row[20]
    for ordinal, ask in enumerate(asks):
        if meant[ordinal] is None:
            meant[ordinal] = yield from _resolve_by_name(ask)
    missing = {number for number in meant if isinstance(number, int)} - units.keys()
    units.update((yield from lock_units(missing, details)))
    return meant


def _resolve_by_name(ask: Settle) -> Generator[Step, list[Row], int | Refused | None]:
    rows = yield Fetch("find_by_task_id", {"task_id": ask.task_id})
    if ask.plan is not None:
        rows = [row for row in rows if row[1] == ask.plan]
    rows = [row for row in rows if row[2] == ask.worker] or rows
    if len(rows) > 1:
        plans = ", ".join(repr(row[1]) for row in rows[:10])
        detail = f"task {ask.task_id!r} exists in several plans ({plans}): name plan_id in the request"
        return Refused("ambiguous_task_id", detail, ask.task_id)
    return rows[0][0] if rows else None


def _refuse(
    context: Context, ask: Settle, unit: Unit, detail: str
) -> Generator[Step, list[Row], TaskView | Conflict | Refused]:
    """Tell what the unit is now; a repetition of an answer that was accepted gets the present row instead."""
    yield from _obeyed(context, ask, unit)
    if ask.key is not None:
        rows = yield Fetch("find_answer", {"work": unit.id, "worker": ask.worker, "version": ask.version})
        for key, body in rows:
            if bytes(key) != ask.key:
                continue
            if bytes(body) == ask.body:
                return view_of(unit, detail)
            return Refused("idempotency_key_reused", "this Idempotency-Key came with another body before", ask.task_id)
    return work.conflict(unit, ask.worker, ask.version)


def _obeyed(context: Context, ask: Settle, unit: Unit) -> Generator[Step, list[Row], None]:
    """A worker that answers for a unit that it was told to stop need not be told again."""
    if unit.holder == ask.worker and unit.state is State.HELD:
        return
    rows = yield Fetch("delete_directive", {"worker": ask.worker, "target": unit.target})
    if rows:
        context.ring(topic_of_worker(ask.worker))


def _record(ask: Settle) -> dict[str, Any]:
    return {"worker": ask.worker, "version": ask.version, "key": ask.key, "body": ask.body}
