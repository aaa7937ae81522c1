"""What may be asked of the store about service calls, and the outcome of each ask.

`worker` is a worker's key, `session` the login under which it acts: one that is bound to an earlier incarnation of the
worker gets `Refused("worker_superseded")` from every ask that names it, judged by the statement that changes the row.
A payload is raw JSON text in UTF-8. Times are milliseconds by the database's clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec

from hiringhall.domain.call import NOTHING_REQUIRED, PASSING_FEEDBACK_MS, Answer, Capabilities, Dispatch, Requires
from hiringhall.domain.lifecycle import State

# --- submitting ------------------------------------------------------------------------------------------------------


class Submit(msgspec.Struct, frozen=True):
    """A client's call. Outcome: Submitted | Refused.

    Refused: `unknown_service`, `unknown_method` (the nearest names in `extra["nearest"]`; never while no worker ever
    registered with the service), `no_worker` (a broadcast, or `fail_without_worker`, and nobody eligible is live),
    `queue_full`, `idempotency_key_reused`.
    """

    request_id: str
    client: str
    service: str
    method: str
    params: bytes
    deadline_ms: int  # from now
    dispatch: Dispatch | None = None  # None: as the method or else the service says
    priority: int = 0  # higher first
    retries: int = 0
    requires: Requires = NOTHING_REQUIRED
    fail_without_worker: bool = False
    run_limit_ms: int | None = None
    traceparent: str | None = None
    key: bytes | None = None  # SHA-256 of client, method and Idempotency-Key
    body: bytes | None = None  # SHA-256 of the body, with a key
    queue_limit: int = 10_000

    @property
    def unit(self) -> object:
        """A call and its repetition may not be in one batch."""
        return None if self.key is None else ("submit", self.key)


class Submitted(msgspec.Struct, frozen=True):
    """The call is durable. `repeated`: an earlier one with the same key is meant, whose id this is."""

    request_id: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The client (None: an operator) no longer wants the call. Outcome: State.CANCELLED if nobody held it, State.HELD
    if its holder was told to stop (then what it answers is the outcome, or cancelled if its lease ends first) |
    Refused: `not_found`, `already_finished`."""

    request_id: str
    client: str | None = None


# --- the worker's side -----------------------------------------------------------------------------------------------


class Message(msgspec.Struct, frozen=True):
    """A call as it is handed or offered to a worker."""

    work: int
    request_id: str
    method: str
    lock_required: bool  # offered, not held
    params: bytes
    version: int
    traceparent: str | None = None


class Drain(msgspec.Struct, frozen=True):
    """Hand or offer the worker its share of what is ready in the lanes that it fits, and in its own lane.
    Outcome: Drained | Refused."""

    worker: str
    session: str
    limit: int = 100
    limited: bool = True  # the run limit applies

    @property
    def unit(self) -> object:
        """Several drains of one worker may be in one batch: they are served one after the other."""
        return None


class Drained(msgspec.Struct, frozen=True):
    """What was handed over, perhaps nothing. `drained`: nothing more is ready for this worker now."""

    messages: tuple[Message, ...] = ()
    drained: bool = False


class Lock(msgspec.Struct, frozen=True):
    """The worker wants to own a call that it was offered. Outcome: Locked | Refused: `not_found`, `already_locked`
    (another worker's), `gone` (finished, cancelled or expired), `not_eligible`."""

    worker: str
    session: str
    service: str
    request_id: str
    limited: bool = True

    @property
    def unit(self) -> object:
        """Locks of one call are decided in turn, also within a batch."""
        return None


class Locked(msgspec.Struct, frozen=True):
    """It is the worker's. `again`: it was before."""

    work: int
    version: int
    again: bool = False


class Respond(msgspec.Struct, frozen=True):
    """The worker's answer. Outcome: Responded | Refused: `not_found`, `not_held` (409), `gone` (410: its
    deadline passed, or it was cancelled), `idempotency_key_reused`.

    "First accepted wins; the same worker repeating the same body: 200; a worker without the lease: 409, except the last
    holder while the work has not been handed to another."
    """

    worker: str
    session: str
    service: str
    request_id: str
    answer: Answer  # SUCCESS, FAILED or ERROR
    result: bytes | None = None
    error_text: str | None = None
    jitter: float = 0.0
    key: bytes | None = None
    body: bytes | None = None  # SHA-256 of the answer's body, always given

    @property
    def unit(self) -> object:
        """At most one answer to a call may be in a batch."""
        return ("call", self.request_id)


class Responded(msgspec.Struct, frozen=True):
    """It is accepted. `again`: it was before. `state`: FAILED with a retry due is told by `retrying`."""

    work: int
    state: State
    again: bool = False
    retrying: bool = False


class Feedback(msgspec.Struct, frozen=True):
    """One item of feedback, with the document's short keys. `ft` and `fc` are raw JSON text."""

    rid: str
    st: int
    sn: str
    ft: bytes
    pr: bool
    fc: bytes


class AddFeedback(msgspec.Struct, frozen=True):
    """Items of feedback from one worker. Outcome: how many were accepted: "Unknown or finished `rid`, or a worker
    that was never handed the request: accepted and dropped" | Refused (superseded)."""

    worker: str
    session: str
    service: str
    items: tuple[Feedback, ...]


# --- workers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterServiceWorker:
    """A service worker's process has started: a new incarnation, to which the session is bound. What the incarnation
    before held returns at once (cause `worker_restarted`). Outcome: Registered | Refused: `unknown_service`,
    `worker_superseded`."""

    worker: str
    session: str
    service: str
    worker_id: str
    run_mode: str  # "lazy", "connected" or "eager"
    capabilities: Capabilities
    ip: str | None = None
    port: int | None = None
    source: str | None = None  # the address that the registration came from
    forwarded: bool = False  # whether a proxy forwarded it
    version: str = ""
    trace: bool = False


@dataclass(frozen=True, slots=True)
class Registered:
    """The worker is registered."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The worker takes nothing new: what it was offered and has not locked returns at once, and so do the calls that it
    names as unstarted. Outcome: how many returned | Refused."""

    worker: str
    session: str
    unstarted: frozenset[str] = frozenset()


# --- sweeps ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepDeadlines:
    """End calls whose deadline passed. Outcome: Swept."""

    limit: int = 500


@dataclass(frozen=True, slots=True)
class ForgetCalls:
    """Delete finished calls that were kept long enough, with all that belongs to them; feedback that need not persist;
    stale offers; lanes made an hour ago in which no call is; idempotency records of 24 hours. Outcome: Swept."""

    keep_calls_ms: int = 86_400_000
    keep_keys_ms: int = 86_400_000
    keep_passing_feedback_ms: int = PASSING_FEEDBACK_MS
    limit: int = 500


# --- questions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestView:
    """A call as its client and operators see it."""

    work: int
    request_id: str
    client: str
    service: str
    method: str
    state: State
    cancelling: bool
    offered: bool  # ready, and offered to somebody
    version: int
    made_at: int
    deadline_at: int
    first_handed_at: int | None
    finished_at: int | None
    answer: Answer | None  # None while it is pending
    result: bytes | None  # raw JSON; None unless it succeeded
    error_text: str | None
    holder: str | None = None
    last_holder: str | None = None
    attempts: int = 0
    abandoned: int = 0
    retry_at: int | None = None
    feedback_count: int = 0
    dispatch: Dispatch = Dispatch.EXCLUSIVE
    priority: int = 0
    lane_paused: bool = False


@dataclass(frozen=True, slots=True)
class FindRequests:
    """Calls by id, many at once. Result: list[RequestView], in no order."""

    request_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindNews:
    """Which of these calls have ended or are gone, and how much feedback the others have: for many that are waited for,
    of which most have neither. Result: list[News], those left out that go on without feedback."""

    request_ids: tuple[str, ...]


class News(NamedTuple):
    """What there is to tell of a call. `ended`: it has an outcome, or it is kept no longer."""

    request_id: str
    feedback_count: int
    ended: bool


@dataclass(frozen=True, slots=True)
class FeedbackRow:
    """One stored item. `number` counts from 1 within its call; `at` in milliseconds."""

    number: int
    item: Feedback
    at: int
    worker: str


@dataclass(frozen=True, slots=True)
class ReadFeedback:
    """Stored feedback of a call after a number, oldest first. Result: list[FeedbackRow]."""

    work: int
    after: int = 0
    limit: int = 200


@dataclass(frozen=True, slots=True)
class MethodView:
    """A method on offer."""

    service: str
    method: str
    dispatch: Dispatch
    workers: int  # registered, whether or not they are live
    live: int


@dataclass(frozen=True, slots=True)
class ListMethods:
    """Methods by service and name. Result: list[MethodView]."""

    after: tuple[str, str] = ("", "")
    limit: int = 1_000
    service: str | None = None


@dataclass(frozen=True, slots=True)
class CountCalls:
    """How many calls of each service are in which state, the parts of broadcasts left out.

    Result: dict[str, dict[str, int]], by service and by state, `retrying` among the states.
    """


@dataclass(frozen=True, slots=True)
class LazyWorkers:
    """Live lazy workers that fit any of some lanes. Result: list[LazyWorkerView]."""

    lanes: tuple[str, ...]  # keys


@dataclass(frozen=True, slots=True)
class LazyWorkerView:
    """Where a lazy worker can be woken."""

    worker: str
    service: str
    ip: str
    port: int
    source: str | None
    forwarded: bool


@dataclass(frozen=True, slots=True)
class ServiceWorkerView:
    """What is known of a service worker beyond a WorkerView."""

    service: str
    worker_id: str
    run_mode: str
    capabilities: Capabilities
    incarnation: int
    leaving: bool
    ip: str | None = None
    port: int | None = None
    version: str = ""
    trace: bool = False
    lanes: tuple[str, ...] = field(default_factory=tuple)  # keys, its own included


CallAsk: TypeAlias = (
    Submit | Withdraw | Drain | Lock | Respond | AddFeedback | RegisterServiceWorker | Goodbye
    | SweepDeadlines | ForgetCalls
)  # fmt: skip
CallQuery: TypeAlias = FindRequests | FindNews | ReadFeedback | ListMethods | CountCalls | LazyWorkers
