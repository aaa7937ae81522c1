"""Tasks, plans and workers as operators see them: the wire's words for what the store tells."""

from __future__ import annotations

from typing import Any

import msgspec

from hiringhall.domain.names import service_of, worker_id_of
from hiringhall.domain.plan import PRIORITY_NAMES
from hiringhall.operations.progress import progress_of
from hiringhall.ports.asks import TaskView
from hiringhall.ports.calls import ServiceWorkerView
from hiringhall.ports.probes import ProbeState
from hiringhall.ports.questions import HistoryLine, PlanView, TaskRow, WorkerView
from hiringhall.wire.operators.answers import encode, rfc3339
from hiringhall.wire.operators.structs import HistoryEntry, PlanSummary, ProbeShown, Registration, Worker
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
    return _spliced(_head(row.view), row.view.detail, _more(row))


def unit_of_row(row: TaskRow) -> msgspec.Raw:
    """The same, told apart from calls."""
    return _spliced({"kind": "task", **_head(row.view)}, row.view.detail, _more(row))


def _more(row: TaskRow) -> dict[str, Any]:
    return {
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


def worker_of(worker: WorkerView, registered: ServiceWorkerView | None, probe: ProbeState | None) -> Worker:
    """A worker, with what it registered if it is a service worker."""
    leaving = registered is not None and registered.leaving
    return Worker(
        worker_id=worker_id_of(worker.key),
        service=service_of(worker.key),
        live=not (worker.offline or worker.quiet or worker.terminate or leaving),
        hostname=worker.hostname,
        online=not worker.offline,
        quiet=worker.quiet,
        terminating=worker.terminate,
        own_token=worker.has_token,
        registered_at=rfc3339(worker.registered_at),
        last_seen=_time(worker.last_seen),
        last_heartbeat=_time(worker.last_beat),
        holds=worker.holds,
        registration=None if registered is None else _registration(registered, probe),
    )


def _registration(view: ServiceWorkerView, probe: ProbeState | None) -> Registration:
    able = view.capabilities
    return Registration(
        run_mode=view.run_mode,  # type: ignore[arg-type]
        methods=list(able.methods),
        platform=able.platform,
        executors=list(able.executors),
        interactive_desktop=able.interactive_desktop,
        browser_runtime=able.browser_runtime,
        tags=dict(able.tags),
        version=view.version,
        incarnation=view.incarnation,
        leaving=view.leaving,
        ip=view.ip,
        port=view.port,
        probe=None
        if probe is None
        else ProbeShown(
            last=probe.last,
            refused=probe.refused,
            failures=probe.failures,
            seconds_ago=probe.seconds_ago,
            next_in_seconds=probe.next_in_seconds,
        ),
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
