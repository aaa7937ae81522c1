"""Ending hand-overs and giving them back: answers of workers, answers that got lost, holdings that were not named."""

from __future__ import annotations

from collections.abc import Sequence

from hiringhall.domain import work
from hiringhall.domain.lease import Cause
from hiringhall.domain.names import call_name
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict, Unit
from hiringhall.ports.asks import Reconcile, Return, Settle, TaskView
from hiringhall.storage.model.hall import Hall, Task


def settle_all(hall: Hall, asks: Sequence[Settle]) -> list[TaskView | Conflict | Refused]:
    """Decide on each ask, the first accepted one wins; what follows for other units comes when all are decided."""
    moved: list[Unit] = []
    outcomes = [_settle(hall, ask, moved) for ask in asks]
    for unit in moved:
        hall.follow(unit)
    return outcomes


def _settle(hall: Hall, ask: Settle, moved: list[Unit]) -> TaskView | Conflict | Refused:
    """Complete, fail or release the task that the worker was handed under the version it names."""
    found = _resolve(hall, ask)
    if isinstance(found, Refused):
        return found
    if found is None:
        return Conflict(ask.task_id, ask.version)
    unit = found.unit
    if not work.may_settle(unit, ask.worker, ask.version, any_holder=ask.any_holder):
        _obeyed(hall, ask.worker, unit)
        return _replay(found, ask) or work.conflict(unit, ask.worker, ask.version)
    event = work.settle(unit, ask.move, ask.worker, ask.reason, now=hall.now, jitter=ask.jitter)
    moved.append(hall.record(event))
    hall.ring_lane(unit)
    if ask.key is not None:
        found.answers.setdefault((ask.worker, ask.version), (ask.key, ask.body))
    return found.view


def _resolve(hall: Hall, ask: Settle) -> Task | Refused | None:
    """The task that is meant: never chosen among plans by its version, but by the record of the hand-over."""
    hand_over = hall.hand_overs.get((ask.worker, ask.task_id, ask.version))
    if hand_over is not None and (ask.plan is None or plan_lane(ask.plan) == hand_over.lane_key):
        return hall.tasks.get(hand_over.work)
    if ask.plan is not None:
        return hall.find(ask.plan, ask.task_id)
    everywhere = [plan.tasks[ask.task_id] for plan in hall.plans.values() if ask.task_id in plan.tasks]
    candidates = [task for task in everywhere if task.unit.holder == ask.worker] or everywhere
    if len(candidates) > 1:
        plans = ", ".join(repr(task.unit.plan) for task in candidates)
        return Refused("ambiguous_task_id", f"task {ask.task_id!r} exists in several plans: {plans}", ask.task_id)
    return candidates[0] if candidates else None


def _obeyed(hall: Hall, worker: str, unit: Unit) -> None:
    """A worker that answers for a unit that it was told to stop need not be told again."""
    if unit.holder != worker and hall.directives.pop((worker, unit.target), None) is not None:
        hall.ring_worker(worker)


def _replay(task: Task, ask: Settle) -> TaskView | Refused | None:
    """What the worker is told that repeats an answer under the same idempotency key."""
    key, body = task.answers.get((ask.worker, ask.version), (None, None))
    if ask.key is None or key != ask.key:
        return None
    if body == ask.body:
        return task.view
    return Refused("idempotency_key_reused", "this Idempotency-Key came with another body before", ask.task_id)


def give_back(hall: Hall, ask: Return) -> bool:
    """Give back a hand-over whose answer did not arrive, if it still stands."""
    task = hall.tasks.get(ask.work) or hall.book.calls.get(ask.work)
    if task is None or not work.may_settle(task.unit, ask.worker, ask.version, any_holder=False):
        return False
    hand_over = hall.hand_overs[ask.worker, task.unit.name, task.unit.handed_version]
    if hand_over.deliveries != ask.delivery:
        return False
    hall.take_back(task.unit, ask.cause)
    return True


def reconcile(hall: Hall, ask: Reconcile) -> int:
    """Take back what the worker holds but does not name; the rest has no run limit."""
    count = 0
    for unit in hall.held_by(ask.worker):
        names = {(unit.plan, unit.name, version) for version in (unit.handed_version, unit.version)}
        if not unit.plan:
            names = {call_name(unit.name)}
        assert unit.handed_at is not None
        old = unit.handed_at <= hall.now - ask.arrived_ms_ago - hall.terms.answer_lost_after_ms
        if old and not names & ask.named:
            hall.take_back(unit, Cause.ANSWER_LOST)
            count += 1
        else:
            unit.run_until = None
    return count
