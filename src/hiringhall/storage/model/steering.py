"""Operators' verbs on single tasks, and the retry of a whole plan."""

from __future__ import annotations

from hiringhall.domain import steering
from hiringhall.domain.lifecycle import FINAL, SATISFIED, Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import RetryPlan, Steer, TaskView
from hiringhall.storage.model.call_steering import steer_call
from hiringhall.storage.model.hall import Hall


def steer(hall: Hall, ask: Steer) -> TaskView | State | Refused:
    """Carry out one verb on one task, or on one call."""
    if ask.work is not None:
        return steer_call(hall, ask)
    task = hall.find(ask.plan, ask.task_id)
    if task is None:
        return Refused("not_found", f"there is no task {ask.task_id!r} in a plan {ask.plan!r}", ask.task_id)
    unit, before, holder = task.unit, task.unit.state, task.unit.holder
    if ask.move is Move.RESET:
        return _reset(hall, unit, cascade=ask.cascade) or task.view
    event = steering.steer(unit, ask.move, force=ask.force, priority=ask.priority)
    if isinstance(event, Refused):
        return event
    hall.note(event)
    if before is not State.READY:
        hall.ring_lane(unit)
    if unit.holder is None:
        hall.tell_to_stop(unit, holder)
    return task.view


def _reset(hall: Hall, unit: Unit, *, cascade: bool) -> Refused | None:
    """Make a finished unit pending again. Its pending dependents wait again; held or finished ones need `cascade`."""
    if unit.state not in FINAL:
        refused = steering.reset(unit)
        assert isinstance(refused, Refused)
        return refused
    affected = [unit]
    for each in affected:  # grows while it is walked
        touched = [one for one in hall.dependents(each.id) if one.state is State.HELD or one.state in FINAL]
        if touched and not cascade:
            names = ", ".join(repr(one.name) for one in touched)
            return Refused("wrong_state", f"tasks that depend on it are held or finished: {names}", unit.name)
        affected += [one for one in touched if one not in affected]
    satisfied = {each.id for each in affected if each.state in SATISFIED}
    for each in affected:
        holder = each.holder
        event = steering.take_back(each) if each.state is State.HELD else steering.reset(each)
        assert isinstance(event, Event)
        hall.note(event)
        hall.tell_to_stop(each, holder)
    hall.open_edges(sorted(edge for edge in hall.edges if edge[0] in satisfied))
    for each in affected:
        hall.ring_lane(each)
    return None


def retry_plan(hall: Hall, ask: RetryPlan) -> int | None:
    """Retry every failed task of a plan."""
    plan = hall.plans.get(ask.plan)
    if plan is None:
        return None
    failed = [task.unit for task in plan.tasks.values() if task.unit.state is State.FAILED]
    for unit in failed:
        event = steering.retry(unit)
        assert isinstance(event, Event)
        hall.note(event)
        hall.ring_lane(unit)
    return len(failed)
