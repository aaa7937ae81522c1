"""Operators' verbs on single tasks and on whole plans."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from hiringhall.domain import steering, work
from hiringhall.domain.lifecycle import FINAL, SATISFIED, Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import RetryPlan, Steer
from hiringhall.storage.procedure import Context, Fetch, Procedure, Row, Step
from hiringhall.storage.procedures.give_back import tell_to_stop
from hiringhall.storage.procedures.steer_calls import steer_call
from hiringhall.storage.procedures.units import Changes, load_missing, lock_units, view_of
from hiringhall.storage.procedures.writing import write


def steer(context: Context, asks: Sequence[Steer]) -> Procedure:
    """Carry out each verb on its task."""
    outcomes: list[Any] = []
    for ask in asks:
        if ask.work is not None:
            outcomes.append((yield from steer_call(context, ask)))
            continue
        rows = yield Fetch("find_task", {"plan": ask.plan, "task_id": ask.task_id})
        details: dict[int, str] = {}
        units = yield from lock_units((row[0] for row in rows), details)
        if not units:
            detail = f"there is no task {ask.task_id!r} in a plan {ask.plan!r}"
            outcomes.append(Refused("not_found", detail, ask.task_id))
            continue
        (unit,) = units.values()
        outcome = yield from _steer_one(context, ask, unit)
        outcomes.append(outcome if isinstance(outcome, Refused) else view_of(unit, details[unit.id]))
    return outcomes


def _steer_one(context: Context, ask: Steer, unit: Unit) -> Generator[Step, list[Row], Refused | None]:
    changes = Changes()
    if ask.move is Move.RESET:
        refused = yield from _reset(context, changes, unit, cascade=ask.cascade)
        if refused is not None:
            return refused
    else:
        before, holder = unit.counted_as, unit.holder
        event = steering.steer(unit, ask.move, force=ask.force, priority=ask.priority)
        if isinstance(event, Refused):
            return event
        changes.note(before, unit, event)
        if holder is not None and unit.holder is None:
            yield from tell_to_stop(context, [(holder, unit)])
    yield from write(context, changes)
    return None


def _reset(
    context: Context, changes: Changes, unit: Unit, *, cascade: bool
) -> Generator[Step, list[Row], Refused | None]:
    """Make a finished unit pending again. Its pending dependents wait again; held or finished ones need `cascade`."""
    affected = yield from _affected_by_reset(unit, cascade=cascade)
    if isinstance(affected, Refused):
        return affected
    satisfied = sorted(each.id for each in affected if each.state in SATISFIED)
    holders = []
    for each in affected:
        before, holder = each.counted_as, each.holder
        event = steering.take_back(each) if each.state is State.HELD else steering.reset(each)
        if isinstance(event, Refused):
            return event
        changes.note(before, each, event)
        if holder is not None:
            holders.append((holder, each))
    yield from tell_to_stop(context, holders)
    if satisfied:
        yield from _reopen_edges(changes, satisfied)
    return None


def _affected_by_reset(unit: Unit, *, cascade: bool) -> Generator[Step, list[Row], list[Unit] | Refused]:
    """The unit and, with `cascade`, all that is held or finished below it, in an order in which nothing comes twice."""
    if unit.state not in FINAL:
        return steering.wrong_state(unit, Move.RESET)
    found = {unit.id: unit}
    affected = [unit]
    for each in affected:  # grows while it is walked
        rows = yield Fetch("find_dependents", {"work": each.id})
        units = yield from lock_units(row[0] for row in rows if row[0] not in found)
        found.update(units)
        touched = [one for one in units.values() if one.state is State.HELD or one.state in FINAL]
        if touched and not cascade:
            names = ", ".join(repr(one.name) for one in touched[:20])
            detail = f"tasks that depend on {unit.name!r} are held or finished: {names} (cascade=true resets them too)"
            return Refused("wrong_state", detail, unit.name)
        affected += touched
    return affected


def _reopen_edges(changes: Changes, dependencies: Sequence[int]) -> Generator[Step, list[Row], None]:
    rows = yield Fetch("reopen_edges", {"ids": sorted(dependencies)})
    opened: dict[int, int] = {}
    for (dependent,) in rows:
        opened[dependent] = opened.get(dependent, 0) + 1
    units = yield from load_missing(changes, opened)
    for unit in units:
        before = unit.counted_as
        work.reopen_dependencies(unit, opened[unit.id])
        changes.note(before, unit, None)


def retry_plan(context: Context, asks: Sequence[RetryPlan]) -> Procedure:
    """Retry every failed task of each plan."""
    outcomes: list[int | None] = []
    for ask in asks:
        rows = yield Fetch("find_plan_lane", {"plan": ask.plan})
        if not rows:
            outcomes.append(None)
            continue
        failed = yield Fetch("find_failed", {"lane": rows[0][0]})
        units = yield from lock_units(row[0] for row in failed)
        changes = Changes()
        for unit in units.values():
            before = unit.counted_as
            event = steering.retry(unit)
            if isinstance(event, Event):
                changes.note(before, unit, event)
        yield from write(context, changes)
        outcomes.append(len(changes.events))
    return outcomes
