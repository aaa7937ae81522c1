"""Handing out the next ready units of some lanes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hiringhall.domain import work
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.topics import plan_lane
from hiringhall.ports.asks import Take, Taken, TaskView
from hiringhall.ports.questions import HistoryLine
from hiringhall.storage.model.hall import Hall, HandOver, Plan, Task


def take_all(hall: Hall, asks: Sequence[Take]) -> list[Taken]:
    """Serve asks in their order; whether lanes are drained is judged when all are served."""
    served = [_serve(hall, ask) for ask in asks]
    return [
        Taken(views, fresh and not _ready(hall, ask.lanes)) for ask, (views, fresh) in zip(asks, served, strict=True)
    ]


def _serve(hall: Hall, ask: Take) -> tuple[tuple[TaskView, ...], bool]:
    """What one ask gets, and whether it looked for work that is ready."""
    worker = hall.workers.get(ask.worker)
    replayed = _replay(hall, ask)
    if replayed or worker is None or worker.quiet or worker.terminate:
        return replayed, False
    given = _ready(hall, ask.lanes)[: ask.limit]
    for task in given:
        unit = task.unit
        floor = max((v for w, t, v in hall.hand_overs if (w, t) == (ask.worker, unit.name)), default=0)
        cause = work.hold(unit, ask.worker, version_floor=floor, now=hall.now, terms=hall.terms, limited=ask.limited)
        name = (ask.worker, unit.name, unit.version)
        assert name not in hall.hand_overs, f"{name} is handed over twice"
        hall.hand_overs[name] = HandOver(unit.id, unit.lane_key, cause, hall.now, ask.key)
        line = HistoryLine(hall.now, unit.version, Move.HOLD.value, unit.state.value, ask.worker, cause.value)
        task.history.append(line)
        hall.directives.pop((ask.worker, unit.target), None)
    return tuple(_told(hall, task) for task in given), True


def _told(hall: Hall, task: Task) -> TaskView:
    return replace(task.view, traceparent=hall.plans[task.unit.plan].traceparent)


def _ready(hall: Hall, lanes: tuple[str, ...]) -> list[Task]:
    """What can be taken from some lanes: by priority, then plan order."""
    tasks = (task for plan in open_lanes(hall, lanes) for task in plan.tasks.values())
    return sorted((task for task in tasks if task.unit.state is State.READY), key=lambda task: work.place(task.unit))


def open_lanes(hall: Hall, keys: tuple[str, ...]) -> list[Plan]:
    """The plans whose lanes are meant and not paused."""
    return [plan for plan in hall.plans.values() if plan_lane(plan.id) in keys and not plan.paused]


def _replay(hall: Hall, ask: Take) -> tuple[TaskView, ...]:
    """What the worker was handed under the same idempotency key and still holds so."""
    if ask.key is None:
        return ()
    found = []
    for (worker, _, version), hand_over in hall.hand_overs.items():
        task = hall.tasks.get(hand_over.work)
        if worker != ask.worker or hand_over.key != ask.key or task is None:
            continue
        if task.unit.holder == worker and task.unit.handed_version == version:
            hand_over.deliveries += 1
            found.append((task, hand_over.deliveries))
    found.sort(key=lambda each: work.place(each[0].unit))
    return tuple(replace(_told(hall, task), delivery=delivery) for task, delivery in found)
