"""Questions about what is stored."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Final

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import SERVICE_WORKER
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
    ReadHistory,
    ReadyLanes,
    TaskRow,
    WorkerView,
)
from hiringhall.storage.procedure import Context, Fetch, Procedure, Row, Step
from hiringhall.storage.procedures.requests import service_views
from hiringhall.storage.procedures.units import unit_from, view_of

LATELY_MS: Final = 60_000
"""For so long a lane counts as new, so that whoever has not heard of it hears of it by asking."""


def alive(_: Context, __: Alive) -> Procedure:
    """Whether the database answers."""
    yield Fetch("find_heard_since")
    return True


def find_workers(_: Context, query: FindWorkers) -> Procedure:
    """Workers by key or token hash."""
    rows = []
    if query.keys:
        rows += yield Fetch("find_workers_by_key", {"workers": list(query.keys)})
    if query.token_hashes:
        rows += yield Fetch("find_workers_by_token", {"hashes": [value.hex() for value in query.token_hashes]})
    return (yield from _with_cancels(rows, told_services=True))


def list_workers(_: Context, query: ListWorkers) -> Procedure:
    """A page of workers and how many units each holds."""
    rows = yield Fetch("list_workers", {"after": query.after, "limit": query.limit})
    return (yield from _with_cancels(rows))


def _with_cancels(rows: list[Row], *, told_services: bool = False) -> Generator[Step, list[Row], list[WorkerView]]:
    told = (yield Fetch("find_directives", {"workers": sorted({row[0] for row in rows})})) if rows else []
    cancels: dict[str, list[str]] = {}
    for worker, target in told:
        cancels.setdefault(worker, []).append(target)
    of_services = sorted({row[0] for row in rows if told_services and row[0].startswith(SERVICE_WORKER)})
    services = yield from service_views(of_services)
    return [
        WorkerView(
            row[0], json.loads(row[1]), bool(row[2]), bool(row[3]), bool(row[4]), row[5], row[6], row[7], bool(row[8]),
            tuple(cancels.get(row[0], ())), row[9], bytes(row[10]) if row[10] is not None else None,
            services.get(row[0]),
        )
        for row in rows
    ]  # fmt: skip


def ready_lanes(context: Context, query: ReadyLanes) -> Procedure:
    """Which lanes have something to be taken."""
    rows = yield Fetch("find_ready_lanes", {"keys": list(query.keys), "now": context.now or None, "within": LATELY_MS})
    return [row[0] for row in rows]


def find_plan(_: Context, query: FindPlan) -> Procedure:
    """One plan with its counts."""
    rows = yield Fetch("find_plan", {"plan": query.plan})
    return (yield from _with_counts(rows))[0] if rows else None


def list_plans(_: Context, query: ListPlans) -> Procedure:
    """A page of plans with their counts."""
    rows = yield Fetch("list_plans", {"after": query.after, "limit": query.limit})
    return (yield from _with_counts(rows))


def _with_counts(rows: list[Row]) -> Generator[Step, list[Row], list[PlanView]]:
    sums = yield Fetch("count_lanes", {"lanes": sorted(row[4] for row in rows)})
    counts: dict[int, dict[str, int]] = {}
    for lane, state, n in sums:
        if n:
            counts.setdefault(lane, {})[state] = int(n)
    return [
        PlanView(id_, json.loads(name), bool(paused), applied_at, counts.get(lane, {}))
        for id_, name, paused, applied_at, lane in rows
    ]


def list_tasks(_: Context, query: ListTasks) -> Procedure:
    """A page of the tasks of a plan, in plan order."""
    states = list(query.states or State)
    seq, after_work = query.after
    page = {"plan": query.plan, "seq": seq, "after": after_work, "states": states, "limit": query.limit}
    rows = yield Fetch("list_tasks", page)
    return (yield from _task_rows(rows))


def find_tasks(_: Context, query: FindTasks) -> Procedure:
    """Tasks by id."""
    rows = yield Fetch("find_tasks", {"task_id": query.task_id, "plan": query.plan})
    return (yield from _task_rows(rows))


def known_tasks(_: Context, query: KnownTasks) -> Procedure:
    """Which of these tasks a plan has."""
    rows = yield Fetch("find_named_tasks", {"plan": query.plan, "names": list(query.task_ids)})
    return {row[0] for row in rows}


def _task_rows(rows: list[Row]) -> Generator[Step, list[Row], list[TaskRow]]:
    culprits = yield from _culprits(rows)
    found = []
    for row in rows:
        unit = unit_from(row)
        found.append(
            TaskRow(
                view_of(unit, row[20]),
                unit.seq,
                unit.waiting_on,
                unit.holder,
                unit.retry_at,
                unit.attempts,
                unit.abandoned,
                unit.handed_at,
                culprits.get(unit.id),
                unit.last_holder,
                row[21],
            )
        )
    return found


def _culprits(rows: list[Row]) -> Generator[Step, list[Row], dict[int, str]]:
    """For each waiting unit the failed task for which it waits, by name the first if there are several.

    Every open edge above the units is looked at once, and none at all in a plan in which nothing failed.
    """
    waiting = [(row[0], row[1]) for row in rows if row[4] == State.WAITING.value]
    sums = (yield Fetch("count_lanes", {"lanes": sorted({lane for _, lane in waiting})})) if waiting else []
    lanes = {lane for lane, state, n in sums if state == State.FAILED.value and n}
    ids = sorted(id_ for id_, lane in waiting if lane in lanes)
    edges = (yield Fetch("find_edges_above", {"ids": ids})) if ids else []
    below: dict[int, list[int]] = {}
    failed: set[tuple[str, int]] = set()
    for dependency, dependent, name in edges:
        below.setdefault(dependency, []).append(dependent)
        if name is not None:
            failed.add((name, dependency))
    found: dict[int, str] = {}
    for name, culprit in sorted(failed):
        reached = [culprit]
        for each in reached:  # grows while it is walked
            fresh = [dependent for dependent in below.get(each, ()) if dependent not in found]
            found.update((dependent, name) for dependent in fresh)
            reached += fresh
    return {id_: found[id_] for id_ in ids if id_ in found}


def read_history(_: Context, query: ReadHistory) -> Procedure:
    """The audit log of one unit, oldest first: its making, its hand-overs and all other moves."""
    made = yield Fetch("find_making", {"work": query.work})
    lines = [HistoryLine(row[0], 1, "submit", State(row[1])) for row in made]
    handed = yield Fetch("find_hand_overs", {"work": query.work})
    lines += [HistoryLine(at, version, Move.HOLD, State.HELD, worker, cause) for at, version, worker, cause in handed]
    events = yield Fetch("find_events", {"work": query.work})
    for at, version, move, state, worker, cause, reason in events:
        lines.append(
            HistoryLine(at, version, move, state, worker, cause, None if reason is None else json.loads(reason))
        )
    return sorted(lines, key=lambda line: line.version)
