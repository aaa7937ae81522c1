"""What operators' routes answer about calls, as structs."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from hiringhall.domain.lifecycle import State
from hiringhall.wire.operators.structs import Count, HistoryEntry, Task, TaskInDetail, Time

CallStatus = Literal[
    "queued", "offered", "held", "cancelling", "success", "failed", "error", "cancelled", "expired"
]  # fmt: skip


class TaskOfWork(TaskInDetail, kw_only=True, tag_field="kind", tag="task"):
    """A unit of work that is a task."""


class CallInDetail(Struct, kw_only=True, tag_field="kind", tag="call"):
    """A unit of work that is a call. `result` is there only if it was asked for: it may hold secrets."""

    work: int
    request_id: str
    client: str
    service: str
    method: str
    dispatch: Literal["exclusive", "race", "broadcast"]
    status: CallStatus
    state: State
    version: int
    priority: int
    worker_id: str | None
    last_worker_id: str | None
    attempts: Count
    abandoned: Count
    retry_at: Time | None
    feedback_count: Count
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    deadline_at: Time
    error_text: str | None
    result_bytes: Count | None
    result: Any = UNSET


class WorkAnswer(Struct):
    """A unit of work, its audit log, and the same in plain words."""

    work: TaskOfWork | CallInDetail
    history: list[HistoryEntry]
    story: list[str]


class SteeredAnswer(Struct):
    """The task or the call as it is now."""

    task: Task | UnsetType = UNSET
    call: CallInDetail | UnsetType = UNSET
