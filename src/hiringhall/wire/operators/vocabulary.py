"""Tasks, plans and workers as operators see them: the wire's words for what the store tells."""

from __future__ import annotations

from typing import Any

import msgspec

from hiringhall.domain.names import worker_id_of
from hiringhall.domain.plan import PRIORITY_NAMES
from hiringhall.operations.progress import progress_of
from hiringhall.ports.asks import TaskView
from hiringhall.ports.questions import HistoryLine, PlanView, TaskRow, WorkerView
from hiringhall.wire.operators.answers import encode, rfc3339
from hiringhall.wire.operators.structs import HistoryEntry, PlanSummary, Worker
from hiringhall.wire.statuses import status_of


def _spliced(head: dict[str, Any], detail: str, tail: dict[str, Any]) -> msgspec.Raw:
    """One object out of members, the stored members, and more members."""
    parts = [encode(head)[1:-1], detail.encode(), encode(tail)[1:-1]]
    return msgspec.Raw(b"{" + b",".join(part for part in parts if part) + b"}")


def _head(view: TaskView) -> dict[str, Any]:
    return {
        "id": view.task_id,
        "plan_id": view.plan,
        "status": status_of(view.state, started=view.started),
        "version": view.version,
        "priority": PRIORITY_NAMES[view.priority],
    }


def task_of_view(view: TaskView) -> msgspec.Raw:
    """A task as plan workers know it."""
    return _spliced(_head(view), view.detail, {})


def task_of_row(row: TaskRow) -> msgspec.Raw:
    """A task with what only operators see."""
    more = {
        "work": row.view.work,
        "state": row.view.state.value,
        "worker_id": None if row.holder is None else worker_id_of(row.holder),
        "handed_at": _time(row.handed_at),
        "waiting_on": row.waiting_on,
        "blocked_by": row.blocked_by,
        "attempts": row.attempts,
        "abandoned": row.abandoned,
        "retry_at": _time(row.retry_at),
    }
    return _spliced(_head(row.view), row.view.detail, more)


def plan_summary(plan: PlanView) -> PlanSummary:
    """A plan without its tasks."""
    progress = progress_of(plan)
    return PlanSummary(
        id=plan.id,
        name=plan.name,
        state=progress.state,
        paused=plan.paused,
        applied_at=rfc3339(plan.applied_at),
        counts=progress.counts,
    )


def worker_of(worker: WorkerView) -> Worker:
    """A worker."""
    return Worker(
        worker_id=worker_id_of(worker.key),
        hostname=worker.hostname,
        online=not worker.offline,
        quiet=worker.quiet,
        terminating=worker.terminate,
        own_token=worker.has_token,
        registered_at=rfc3339(worker.registered_at),
        last_seen=_time(worker.last_seen),
        last_heartbeat=_time(worker.last_beat),
        holds=worker.holds,
    )


def history_entry(line: HistoryLine) -> HistoryEntry:
    """One line of the audit log."""
    return HistoryEntry(
        at=rfc3339(line.at),
        version=line.version,
        move=line.move,
        state=line.state,
        worker_id=None if line.worker is None else worker_id_of(line.worker),
        cause=line.cause,
        reason=line.reason,
    )


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
