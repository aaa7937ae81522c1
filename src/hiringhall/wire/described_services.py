"""Descriptions of the service workers' routes."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hiringhall.domain.call import MESSAGES_MAX
from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.described_workers import INTERVAL
from hiringhall.wire.operators.structs import CONTROL, Count, Identifier
from hiringhall.wire.services.bodies import ABILITIES_MAX, METHODS_MAX, PORT_MAX
from hiringhall.wire.services.feedback_bodies import SOURCE_CHARACTERS_MAX, TYPE_CHARACTERS_MAX, TYPE_MAX

TAGS: Final = ("service workers",)
ACCESS: Final = "service_worker"
Text = Annotated[str, Meta(max_length=IDENTIFIER_CHARACTERS_MAX, pattern=f"^[^{CONTROL}]*$")]
RunMode = Annotated[str, Meta(pattern="^([Ll][Aa][Zz][Yy]|[Cc][Oo][Nn][Nn][Ee][Cc][Tt][Ee][Dd]|[Ee][Aa][Gg][Ee][Rr])$")]
HOLDING: Final = Parameter(
    "Hall-Holding",
    {"type": "string"},
    "The ids of the calls that the worker holds, comma-separated, each percent-encoded; may be empty",
    "header",
)
KEY: Final = Parameter(
    "Idempotency-Key",
    {"type": "string"},
    "A repeat with the same key and body is answered alike; an empty one is none",
    "header",
)


class RegistrationRequest(Struct, omit_defaults=True):
    """What a worker is and can do. `worker_id` and `service_id`, if given, are those of the token."""

    worker_id: str | None = None
    service_id: str | None = None
    run_mode: RunMode | None = None
    methods: Annotated[list[Identifier], Meta(max_length=METHODS_MAX)] | None = None
    ip: Text | None = None
    port: Annotated[int, Meta(ge=0, le=PORT_MAX)] | None = None
    version: Text | None = None
    tags: Annotated[dict[Text, Text | int | float | bool | None], Meta(max_length=ABILITIES_MAX)] | None = None
    supported_executors: Annotated[list[Text], Meta(max_length=ABILITIES_MAX)] | None = None
    platform: Text | None = None
    interactive_desktop: bool | None = None
    browser_runtime: bool | None = None
    trace: bool | None = None


class CallMessage(Struct):
    """A call for the worker. With `lock_required` it is offered to others too, and has to be locked first."""

    request_id: str
    method: str
    lock_required: bool
    params: Any
    traceparent: str | UnsetType = UNSET


class CallLocked(Struct):
    """The worker owns the call."""

    request_id: str


class ResponseRequest(Struct, omit_defaults=True):
    """How a method ended. `result` is for `success`, `error_text` for the others."""

    request_id: Identifier
    status: Literal["success", "failed", "error"]
    error_text: str | None = None
    result: Any = None


class ResponseAccepted(Struct):
    """The answer counts. `retrying`: the call asked for another attempt after an error."""

    request_id: str
    retrying: bool


class FeedbackItem(Struct, omit_defaults=True):
    """How a call goes: request id, source type (1: method request, 2: background process), source name, feedback type,
    persist required, content."""

    ft: Annotated[int, Meta(ge=-TYPE_MAX, le=TYPE_MAX)] | Annotated[str, Meta(max_length=TYPE_CHARACTERS_MAX)]
    rid: Text | None = None
    st: Literal[1, 2] | None = 1
    sn: Annotated[str, Meta(max_length=SOURCE_CHARACTERS_MAX)] | None = ""
    pr: bool | None = False
    fc: Any = None


class FeedbackAccepted(Struct):
    """How many items were kept; those about calls that are unknown, finished or not the worker's are dropped."""

    accepted: Count


class GoodbyeRequest(Struct, omit_defaults=True):
    """Which calls the worker was handed and has not begun."""

    unstarted: list[str] | None = None


class GoodbyeAnswer(Struct):
    """How many calls went back at once."""

    returned: Count


DESCRIBED: Final[tuple[Described, ...]] = (
    Described(
        "POST", "/worker/registration", "Register when the process starts; the answer holds the service's settings",
        {200: dict[str, str]}, ACCESS, body=RegistrationRequest,
        refusals=(400, 403, 404, 409, 413, 415, 422), tags=TAGS, told=(INTERVAL,),
    ),
    Described(
        "GET", "/worker/messages", "Drain: take the calls that are ready for this worker",
        {200: list[CallMessage]}, ACCESS,
        parameters=(
            Parameter("wait", {"type": "number", "minimum": 0},
                      "How many seconds the answer may be held until there is a call, clamped to 0..55"),
            Parameter("max", {"type": "integer", "minimum": 1},
                      f"How many calls at most; more than {MESSAGES_MAX} counts as that"),
            HOLDING,
        ),
        refusals=(400, 403, 409, 422), tags=TAGS,
    ),
    Described(
        "PUT", "/worker/lock_request/{request_id}", "Lock a call that was offered; the first one owns it",
        {200: CallLocked}, ACCESS, refusals=(403, 404, 409, 410, 422), tags=TAGS,
    ),
    Described(
        "POST", "/worker/response", "Answer a call", {200: ResponseAccepted}, ACCESS,
        parameters=(KEY,), body=ResponseRequest, refusals=(400, 403, 404, 409, 410, 413, 415, 422), tags=TAGS,
    ),
    Described(
        "POST", "/worker/feedback", "Tell how calls go", {200: FeedbackAccepted}, ACCESS,
        body=FeedbackItem | list[FeedbackItem], refusals=(400, 403, 409, 413, 415, 422), tags=TAGS,
    ),
    Described(
        "GET", "/worker/heartbeat/{worker_id}", "A sign of life: true, or false for one that is not registered",
        {200: bool}, ACCESS, parameters=(HOLDING,), refusals=(403, 409, 422), tags=TAGS, told=(INTERVAL,),
    ),
    Described(
        "PUT", "/worker/notify_worker_shutdown/{worker_id}", "Say goodbye: take nothing new",
        {200: GoodbyeAnswer}, ACCESS, body=GoodbyeRequest | None, body_required=False,
        refusals=(400, 403, 409, 413, 415, 422), tags=TAGS,
    ),
)  # fmt: skip
