"""Answers to questions about what is stored."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hiringhall.domain.lifecycle import State
from hiringhall.domain.topics import plan_lane
from hiringhall.ports.calls import CountCalls, FindNews, FindRequests, LazyWorkers, ListMethods, ReadFeedback
from hiringhall.ports.questions import (
    Alive,
    FindPlan,
    FindTasks,
    FindWorkers,
    HistoryLine,
    KnownTasks,
    ListPlans,
    ListTasks,
    ListWorkers,
    PlanView,
    Query,
    ReadHistory,
    ReadyLanes,
    TaskRow,
    WorkerView,
)
from hiringhall.storage.model import call_queries, identity
from hiringhall.storage.model.hall import Hall, Plan, Task
from hiringhall.storage.model.taking import open_lanes


def answer(hall: Hall, query: Query) -> Any:
    """Answer any question of the port."""
    match query:
        case FindWorkers():
            return _find_workers(hall, query)
        case ListWorkers():
            keys = [key for key in sorted(hall.workers) if key > query.after][: query.limit]
            return [_worker_view(hall, key, holds=len(hall.held_by(key))) for key in keys]
        case ReadyLanes():
            return _ready_lanes(hall, query)
        case FindPlan():
            return None if query.plan not in hall.plans else _plan_view(hall.plans[query.plan])
        case ListPlans():
            ids = [id_ for id_ in sorted(hall.plans) if id_ > query.after][: query.limit]
            return [_plan_view(hall.plans[id_]) for id_ in ids]
        case ListTasks():
            return _list_tasks(hall, query)
        case FindTasks():
            return _find_tasks(hall, query)
        case KnownTasks():
            plan = hall.plans.get(query.plan)
            return set() if plan is None else plan.tasks.keys() & set(query.task_ids)
        case ReadHistory():
            return _history(hall, query.work)
        case Alive():
            return True
        case FindRequests() | FindNews() | ReadFeedback() | ListMethods() | CountCalls() | LazyWorkers():
            return call_queries.ANSWERS[type(query)](hall, query)
        case _:
            return identity.answer(hall, query)


def _history(hall: Hall, work: int) -> list[HistoryLine]:
    known = work in hall.tasks or work in hall.book.calls
    return list(hall.entry(work).history) if known else []


def _find_workers(hall: Hall, query: FindWorkers) -> list[WorkerView]:
    return [
        _worker_view(hall, key)
        for key, worker in hall.workers.items()
        if key in query.keys or (worker.token_hash is not None and worker.token_hash in query.token_hashes)
    ]


def _worker_view(hall: Hall, key: str, holds: int | None = None) -> WorkerView:
    worker = hall.workers[key]
    told = sorted((at, target) for (whom, target), at in hall.directives.items() if whom == key)
    return WorkerView(
        key,
        worker.hostname,
        worker.token_hash is not None,
        worker.quiet,
        worker.terminate,
        worker.registered_at,
        worker.pulse.last_seen,
        worker.pulse.last_beat,
        worker.offline,
        tuple(target for _, target in told),
        holds,
        worker.token_hash if holds is None else None,
        call_queries.service_worker(hall, key) if holds is None else None,
    )


def _ready_lanes(hall: Hall, query: ReadyLanes) -> list[str]:
    plans = [
        plan_lane(plan.id)
        for plan in open_lanes(hall, query.keys)
        if any(task.unit.state is State.READY for task in plan.tasks.values())
    ]
    return plans + call_queries.ready_lanes(hall, query.keys)


def _plan_view(plan: Plan) -> PlanView:
    counts = Counter(task.unit.counted_as for task in plan.tasks.values())
    return PlanView(plan.id, plan.name, plan.paused, plan.applied_at, dict(counts))


def _list_tasks(hall: Hall, query: ListTasks) -> list[TaskRow]:
    plan = hall.plans.get(query.plan)
    tasks = [] if plan is None else sorted(plan.tasks.values(), key=lambda task: (task.unit.seq, task.unit.id))
    meant = [task for task in tasks if (task.unit.seq, task.unit.id) > query.after]
    if query.states:
        meant = [task for task in meant if task.unit.state in query.states]
    return [_row(hall, task) for task in meant[: query.limit]]


def _find_tasks(hall: Hall, query: FindTasks) -> list[TaskRow]:
    found = (hall.tasks[id_] for id_ in sorted(hall.tasks))
    return [
        _row(hall, task) for task in found if task.unit.name == query.task_id and query.plan in (None, task.unit.plan)
    ]


def _row(hall: Hall, task: Task) -> TaskRow:
    unit = task.unit
    return TaskRow(
        task.view,
        unit.seq,
        unit.waiting_on,
        unit.holder,
        unit.retry_at,
        unit.attempts,
        unit.abandoned,
        unit.handed_at,
        _blocked_by(hall, task),
        unit.last_holder,
        task.made_at,
    )


def _blocked_by(hall: Hall, task: Task) -> str | None:
    """The failed task that it waits for, by name the first if there are several."""
    if task.unit.state is not State.WAITING:
        return None
    failed = (one.unit.name for one in _ancestors(hall, task) if one.unit.failed_for_good)
    return min(failed, default=None)


def _ancestors(hall: Hall, task: Task) -> list[Task]:
    found: set[int] = set()
    fresh = {task.unit.id}
    while fresh:
        fresh = {dependency for dependency, dependent in hall.unmet if dependent in fresh} - found
        found |= fresh
    return [hall.tasks[id_] for id_ in sorted(found)]
