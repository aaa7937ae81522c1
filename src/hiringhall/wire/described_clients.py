"""Descriptions of the clients' routes."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hiringhall.domain.call import DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN, PRIORITY_MAX, RETRIES_MAX, Dispatch
from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.domain.plan_members import RUN_LIMIT_SECONDS_LIMIT
from hiringhall.wire.clients.bodies import REQUIRED_MAX
from hiringhall.wire.clients.methods import LIMIT_MAX
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.operators.structs import CONTROL, Count, Time

TAGS: Final = ("clients",)
Text = Annotated[str, Meta(min_length=1, max_length=IDENTIFIER_CHARACTERS_MAX, pattern=f"^[^{CONTROL}]+$")]
TagText = Annotated[str, Meta(max_length=IDENTIFIER_CHARACTERS_MAX, pattern=f"^[^{CONTROL}]*$")]
PART: Final = f"(?:[^./{CONTROL}][^/{CONTROL}]{{0,99}})"
Method = Annotated[str, Meta(pattern=f"^{PART}/{PART}$", description="`service/method`")]
Pending = Literal["queued", "offered", "held", "cancelling"]
WAIT: Final = Parameter(
    "wait", {"type": "number", "minimum": 0}, "How many seconds the answer may be held, clamped to 0..55"
)
KEY: Final = Parameter(
    "Idempotency-Key",
    {"type": "string"},
    "A repeat within 24 h with the same key, method and body is answered with how the first call stands",
    "header",
)
LAST: Final = Parameter(
    "Last-Event-ID", {"type": "string", "pattern": "^[0-9]{1,15}$"}, "Go on after this event", "header"
)


class RequiredAbilities(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What a worker has to be able to do beyond the method."""

    platform: Text | None = None
    executors: Annotated[list[Text], Meta(max_length=REQUIRED_MAX)] | None = None
    interactive_desktop: bool | None = None
    browser_runtime: bool | None = None
    tags: Annotated[dict[Text, TagText | int | float | bool], Meta(max_length=REQUIRED_MAX)] | None = None


class CallRequest(Struct, omit_defaults=True):
    """A call. `params` may be any JSON value, also null."""

    method: Method
    params: Any
    wait: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    deadline_seconds: Annotated[float, Meta(ge=DEADLINE_SECONDS_MIN, le=DEADLINE_SECONDS_MAX)] | None = None
    dispatch: Dispatch | None = None
    priority: Annotated[int, Meta(ge=-PRIORITY_MAX, le=PRIORITY_MAX)] | None = None
    retries: Annotated[int, Meta(ge=0, le=RETRIES_MAX)] | None = None
    requires: RequiredAbilities | None = None
    if_no_worker: Literal["queue", "fail"] | None = None
    run_limit_seconds: Annotated[float, Meta(ge=0, le=RUN_LIMIT_SECONDS_LIMIT)] | None = None


class AnswerOfWorker(Struct, kw_only=True):
    """What one worker answered to a broadcast."""

    worker_id: str
    status: Literal["success", "failed", "error", "cancelled", "expired"]
    result: Any
    error_text: str | None


class Outcome(Struct, kw_only=True):
    """How a call ended. `answers`: of a broadcast, which has no `result` of its own."""

    request_id: str
    status: Literal["success", "failed", "error", "cancelled", "expired"]
    result: Any
    error_text: str | None
    answers: list[AnswerOfWorker] | UnsetType = UNSET
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    deadline_at: Time


class StillPending(Struct):
    """The call has no outcome yet."""

    request_id: str
    status: Pending


class MethodOnOffer(Struct):
    """A method, how many workers registered it, and how many of those are there."""

    method: str
    service: str
    name: str
    dispatch: Dispatch
    workers: Count
    live_workers: Count


class MethodsAnswer(Struct):
    """Methods in the order of their names. `next`: give it as `after` to read on."""

    methods: list[MethodOnOffer]
    next: str | None


DESCRIBED: Final[tuple[Described, ...]] = (
    Described(
        "POST",
        "/client/requests",
        "Call a method; with `wait`, the outcome if it comes in time",
        {200: Outcome, 202: StillPending},
        "client",
        parameters=(KEY,),
        body=CallRequest,
        refusals=(400, 403, 404, 413, 415, 422, 429),
        tags=TAGS,
    ),
    Described(
        "GET",
        "/client/requests/{request_id}",
        "The outcome of a call, or how it stands",
        {200: Outcome, 202: StillPending},
        "client",
        parameters=(WAIT,),
        refusals=(400, 403, 404, 422),
        tags=TAGS,
    ),
    Described(
        "DELETE",
        "/client/requests/{request_id}",
        "Take a call back; a worker that is at it is told to stop",
        {200: Outcome, 202: StillPending},
        "client",
        refusals=(403, 404, 409, 422),
        tags=TAGS,
    ),
    Described(
        "GET",
        "/client/requests/{request_id}/feedback",
        "Follow a call: Server-Sent Events",
        {200: "text/event-stream"},
        "client",
        parameters=(LAST,),
        refusals=(403, 404, 422),
        tags=TAGS,
    ),
    Described(
        "GET",
        "/client/methods",
        "What this client may call",
        {200: MethodsAnswer},
        "client",
        parameters=(
            Parameter("limit", {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX}, "How many entries at most"),
            Parameter("after", {"type": "string", "pattern": "/"}, "The `next` of the page before"),
            Parameter("service", {"type": "string"}, "Only methods of this service"),
        ),
        refusals=(403, 422),
        tags=TAGS,
    ),
)
