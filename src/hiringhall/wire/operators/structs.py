"""What operators' routes take and answer, as structs: they are encoded from these and described by these."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.domain.plan_file import TASKS_MAX
from hiringhall.domain.plan_members import BACKOFF_FACTOR_LIMIT, RUN_LIMIT_SECONDS_LIMIT
from hiringhall.domain.refusals import CODES
from hiringhall.domain.retry import BACKOFF_SECONDS_LIMIT, MAX_ATTEMPTS_LIMIT

CONTROL = "\\x00-\\x1f\\x7f-\\x9f"
IDENTIFIER_PATTERN = f"^(?:[^.{CONTROL}][^{CONTROL}]*|\\.[^.{CONTROL}][^{CONTROL}]*|\\.\\.[^{CONTROL}]+)$"
"""Any text without control characters, except `.` and `..`."""
Identifier = Annotated[str, Meta(min_length=1, max_length=IDENTIFIER_CHARACTERS_MAX, pattern=IDENTIFIER_PATTERN)]
Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(description="RFC 3339, UTC, milliseconds", extra_json_schema={"format": "date-time"})]
Priority = Literal["critical", "high", "medium", "low"]
Status = Literal["PENDING", "CLAIMED", "IN_PROGRESS", "DONE", "FAILED", "SKIPPED"]


class Backoff(Struct):
    """How long to wait before another attempt: `base_seconds * factor ** (attempt - 1)`, at most `max_seconds`."""

    base_seconds: Annotated[float, Meta(ge=0, le=BACKOFF_SECONDS_LIMIT)] | None = 1.0
    factor: Annotated[float, Meta(ge=1, le=BACKOFF_FACTOR_LIMIT)] | None = 2.0
    max_seconds: Annotated[float, Meta(ge=0, le=BACKOFF_SECONDS_LIMIT)] | None = 60.0


class TaskOfFile(Struct):
    """A task of a plan file."""

    id: Identifier
    status: str | None = "pending"
    priority: Priority | None = "medium"
    description: str | None = ""
    dependencies: list[Identifier] | None = []
    key_files: list[str] | None = []
    acceptance_criteria: list[str] | None = []
    test_steps: list[str] | None = []
    prd_requirement: str | None = ""
    on_failure: Literal["block", "skip"] | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS_LIMIT)] | None = None
    retry_backoff: Backoff | None = None
    max_abandoned: Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS_LIMIT)] | None = None
    run_limit_seconds: Annotated[float, Meta(ge=0, le=RUN_LIMIT_SECONDS_LIMIT)] | None = None


class PlanOfFile(Struct):
    """A plan file."""

    tasks: Annotated[list[TaskOfFile], Meta(max_length=TASKS_MAX)]
    plan_id: Identifier | None = None
    id: Identifier | None = None
    name: str | None = None
    project: str | None = None
    on_failure: Literal["block", "skip"] | None = "block"
    max_attempts: Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS_LIMIT)] | None = 1
    retry_backoff: Backoff | None = None
    max_abandoned: Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS_LIMIT)] | None = 5
    run_limit_seconds: Annotated[float, Meta(ge=0, le=RUN_LIMIT_SECONDS_LIMIT)] | None = None


class PriorityBody(Struct):
    """The new priority of a task."""

    priority: Priority


class AppliedAnswer(Struct):
    """What applying a plan file changed."""

    plan_id: str
    added: Count
    changed: Count
    unchanged: Count
    pruned: Count
    warnings: list[str]


class PlanSummary(Struct, kw_only=True):
    """A plan and how far it is. `counts`: tasks by state, `retrying` (failed, to be tried again) and `total`."""

    id: str
    name: str
    state: Literal["active", "paused", "finished", "blocked"]
    paused: bool
    applied_at: Time
    counts: dict[str, Count]


class Task(Struct, kw_only=True):
    """A task as plan workers know it."""

    id: str
    plan_id: str
    status: Status
    version: Annotated[int, Meta(ge=1)]
    priority: Priority
    description: str
    dependencies: list[str]
    key_files: list[str]
    acceptance_criteria: list[str]
    test_steps: list[str]
    prd_requirement: str


class TaskInDetail(Task, kw_only=True):
    """A task with what only operators see."""

    work: int
    state: Literal["waiting", "ready", "held", "done", "failed", "skipped", "cancelled", "expired"]
    worker_id: str | None
    handed_at: Time | None
    waiting_on: Count
    blocked_by: str | None
    attempts: Count
    abandoned: Count
    retry_at: Time | None


class PlanWithTasks(PlanSummary, kw_only=True):
    """A plan with its tasks; absent if only the summary was asked for. `next`: give it as `after` to read on."""

    tasks: list[TaskInDetail] | UnsetType = UNSET
    next: str | UnsetType | None = UNSET


class PlanAnswer(Struct):
    """One plan."""

    plan: PlanWithTasks


class PlanSummaryAnswer(Struct):
    """One plan without its tasks."""

    plan: PlanSummary


class PlansAnswer(Struct):
    """Plans in the order of their ids. `next`: give it as `after` to read on."""

    plans: list[PlanSummary]
    next: str | None


class PlanDeleted(Struct):
    """The plan is gone."""

    plan_id: str
    deleted: bool = True


class PlanRetried(Struct):
    """How many failed tasks are tried again."""

    plan_id: str
    retried: Count


class TaskAnswer(Struct):
    """One task."""

    task: Task


class HistoryEntry(Struct, kw_only=True):
    """One line of the audit log of a unit."""

    at: Time
    version: int
    move: str
    state: str
    worker_id: str | None
    cause: str | None
    reason: str | None


class ProbeShown(Struct, kw_only=True):
    """What became of the last probe of a lazy worker. `refused`: why it is not probed at all."""

    last: str
    refused: str | None
    failures: Count
    seconds_ago: float | None
    next_in_seconds: float | None


class Registration(Struct, kw_only=True):
    """What a service worker registered. `leaving`: it has said goodbye."""

    run_mode: Literal["lazy", "connected", "eager"]
    methods: list[str]
    platform: str | None
    executors: list[str]
    interactive_desktop: bool
    browser_runtime: bool
    tags: dict[str, str]
    version: str
    incarnation: Count
    leaving: bool
    ip: str | None
    port: int | None
    probe: ProbeShown | None


class Worker(Struct, kw_only=True):
    """A worker. `service` and `registration` are null for a plan worker. `live`: it may be given work."""

    worker_id: str
    service: str | None
    live: bool
    hostname: str
    online: bool
    quiet: bool
    terminating: bool
    own_token: bool
    registered_at: Time
    last_seen: Time | None
    last_heartbeat: Time | None
    holds: Count | None
    registration: Registration | None


class WorkersAnswer(Struct):
    """Plan workers in the order of their ids, then service workers. `next`: give it as `after` to read on."""

    workers: list[Worker]
    next: str | None


class WorkerAnswer(Struct):
    """One worker."""

    worker: Worker


class WorkerRemoved(Struct):
    """The worker is forgotten."""

    worker_id: str
    removed: bool = True
    service: str | UnsetType = UNSET


class StatusAnswer(Struct):
    """All is well."""

    status: str


class Problem(Struct):
    """One thing that is wrong with a plan file."""

    field: str
    reason: str


class Envelope(Struct, kw_only=True):
    """Every refusal. Some codes bring more: `problems` and `warnings` of a plan file, the versions of a conflict."""

    error_code: Annotated[str, Meta(extra_json_schema={"enum": sorted(CODES)})]
    detail: str
    task_id: str | None
    problems: list[Problem] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
