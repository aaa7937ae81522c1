"""Descriptions of the plan workers' routes at the root."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hiringhall.domain.names import HOSTNAME_CHARACTERS_MAX
from hiringhall.domain.work import VERSION_MAX
from hiringhall.operations.claim import MAX_TASKS_LIMIT
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.operators.structs import Identifier, StatusAnswer, Task

Version = Annotated[int, Meta(ge=0, le=VERSION_MAX)]
TAGS: Final = ("plan workers",)
HOLDING: Final = Parameter(
    "Hall-Holding",
    {"type": "string"},
    "What the worker holds: PLAN/TASK@version, comma-separated, plan and task percent-encoded each by itself; "
    "entries of any other form are left out",
    "header",
)
KEY: Final = Parameter(
    "Idempotency-Key",
    {"type": "string"},
    "A repeat with the same key and body is answered alike; an empty one is none",
    "header",
)
NEXT: Final = Parameter(
    "Prefer",
    {"type": "string"},
    "`next`: the answer adds the next task of the plan that the body names, already claimed",
    "header",
)

INTERVAL: Final = Parameter(
    "Hall-Heartbeat",
    {"type": "number", "exclusiveMinimum": 0},
    "How far apart heartbeats may be, in seconds: min(heartbeat delay, visibility timeout / 3)",
    "header",
)


class RegisterRequest(Struct):
    """A worker introduces itself."""

    hostname: Annotated[str, Meta(min_length=1, max_length=HOSTNAME_CHARACTERS_MAX)]


class Registered(Struct):
    """The worker's id and its own token, which is told only once."""

    worker_id: str
    token: str


class HeartbeatRequest(Struct):
    """The id of the path again."""

    worker_id: Identifier


class HeartbeatAnswer(Struct):
    """`ok` is false for a worker that is not registered (any more)."""

    ok: bool


class ClaimRequest(Struct, omit_defaults=True):
    """A worker asks for the next task of a plan. `wait`: how many seconds the claim may be held, clamped to 0..55."""

    worker_id: Identifier
    plan_id: Identifier
    wait: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    max_tasks: Annotated[int, Meta(ge=1, le=MAX_TASKS_LIMIT)] | UnsetType | None = UNSET


class ClaimAnswer(Struct):
    """The next task, or with `max_tasks` up to as many."""

    task: Task | UnsetType = UNSET
    tasks: list[Task] | UnsetType = UNSET


class SettleRequest(Struct):
    """`version` is that of the hand-over."""

    worker_id: Identifier
    version: Version
    plan_id: Identifier | UnsetType | None = UNSET


class FailRequest(SettleRequest, kw_only=True):
    """A reason longer than 2048 characters is cut."""

    reason: str


class ReleaseRequest(SettleRequest, kw_only=True):
    """The task goes back."""

    reason: str | UnsetType | None = UNSET


class Settled(Struct):
    """The task as it is now; with `Prefer: next` also the next one, already claimed."""

    task: Task
    next: Task | UnsetType | None = UNSET


def _settle(verb: str, summary: str, body: Any, *more: Parameter) -> Described:
    return Described(
        "POST",
        f"/tasks/{{task_id}}/{verb}",
        summary,
        {200: Settled},
        "worker",
        parameters=(HOLDING, KEY, *more),
        body=body,
        refusals=(400, 403, 409, 413, 415, 422),
        tags=TAGS,
    )


DESCRIBED: Final[tuple[Described, ...]] = (
    Described(
        "GET", "/health", "Whether the hall and its database answer", {200: StatusAnswer}, None, tags=("everybody",)
    ),
    Described(
        "POST",
        "/workers/register",
        "Register a worker",
        {201: Registered},
        "bootstrap",
        body=RegisterRequest,
        refusals=(400, 413, 415, 422),
        tags=TAGS,
        told=(INTERVAL,),
    ),
    Described(
        "POST",
        "/workers/{worker_id}/heartbeat",
        "A sign of life",
        {200: HeartbeatAnswer},
        "worker",
        parameters=(HOLDING,),
        body=HeartbeatRequest,
        refusals=(400, 403, 413, 415, 422),
        tags=TAGS,
        told=(INTERVAL,),
    ),
    Described(
        "POST",
        "/tasks/claim",
        "Claim the next task of a plan; held until there is one",
        {200: ClaimAnswer, 204: None},
        "worker",
        parameters=(HOLDING, KEY),
        body=ClaimRequest,
        refusals=(400, 403, 413, 415, 422),
        tags=TAGS,
    ),
    _settle("complete", "The task is done", SettleRequest, NEXT),
    _settle("fail", "The task failed", FailRequest, NEXT),
    _settle("release", "Give the task back", ReleaseRequest),
)
