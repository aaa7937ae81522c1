"""What the oracle remembers of service calls: calls, offers, service workers and the lanes that they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hiringhall.domain.call import Answer, Capabilities, Dispatch, Requires, is_eligible, worker_lane
from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import Unit
from hiringhall.ports.calls import FeedbackRow
from hiringhall.ports.questions import HistoryLine


@dataclass(slots=True)
class ServiceWorker:
    """What a worker said of itself when its present incarnation registered."""

    service: str
    worker_id: str
    run_mode: str
    capabilities: Capabilities
    incarnation: int
    ip: str | None
    port: int | None
    source: str | None
    forwarded: bool
    version: str
    trace: bool
    leaving: bool = False


@dataclass(slots=True)
class Lane:
    """A lane of calls (with what a worker needs for it), or a worker's own (`owner`)."""

    key: str
    number: int
    service: str
    made_at: int
    paused: bool = False
    method: str = ""
    dispatch: Dispatch = Dispatch.EXCLUSIVE
    requires: Requires = field(default_factory=Requires)
    owner: str | None = None


@dataclass(slots=True)
class Outcome:
    """The last answer that was accepted, or how the call ended without one."""

    answer: Answer
    at: int
    result: bytes | None = None
    error_text: str | None = None
    worker: str | None = None
    body: bytes | None = None
    key: bytes | None = None


@dataclass(slots=True)
class Call:
    """A call: its unit of work, its contents, and what came of it."""

    unit: Unit
    client: str
    service: str
    method: str
    dispatch: Dispatch
    params: bytes
    made_at: int
    traceparent: str | None = None
    child_of: str | None = None  # the worker for which it is, of a broadcast
    first_handed_at: int | None = None
    avoid_until: int | None = None
    outcome: Outcome | None = None
    feedback_count: int = 0
    feedback: list[FeedbackRow] = field(default_factory=list)
    history: list[HistoryLine] = field(default_factory=list)


@dataclass(slots=True)
class Submission:
    """Which call an idempotency key stands for."""

    body: bytes | None
    request_id: str
    at: int


@dataclass(slots=True)
class CallBook:
    """Everything about service calls."""

    calls: dict[int, Call] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # request id -> work
    lanes: dict[str, Lane] = field(default_factory=dict)  # by key
    workers: dict[str, ServiceWorker] = field(default_factory=dict)
    methods: set[tuple[str, str]] = field(default_factory=set)  # (service, method) ever registered
    offers: dict[tuple[str, int], int] = field(default_factory=dict)  # (worker, work) -> since when
    submissions: dict[bytes, Submission] = field(default_factory=dict)
    expired_until: int = 0

    def find(self, request_id: str) -> Call | None:
        """A call by its id."""
        return self.calls.get(self.numbers.get(request_id, 0))

    def fits(self, worker: str, lane: Lane) -> bool:
        """Whether a worker may be given the calls of a lane: its own, or those for which it is eligible."""
        known = self.workers.get(worker)
        if known is None:
            return False
        if lane.owner is not None:
            return lane.owner == worker
        return known.service == lane.service and is_eligible(known.capabilities, lane.method, lane.requires)

    def lanes_of(self, worker: str) -> list[Lane]:
        """The lanes that a worker fits."""
        return [lane for lane in self.lanes.values() if self.fits(worker, lane)]

    def children(self, parent: int) -> Iterator[Call]:
        """The children of a broadcast, in the order of their numbers."""
        return (self.calls[id_] for id_ in sorted(self.calls) if self.calls[id_].unit.parent == parent)

    def own_calls(self, worker: str) -> list[Call]:
        """What waits, or waited, in a worker's own lane."""
        key = worker_lane(worker)
        return [self.calls[id_] for id_ in sorted(self.calls) if self.calls[id_].unit.lane_key == key]

    def waits_for(self, worker: str) -> bool:
        """Whether something in the worker's own lane is ready."""
        return any(call.unit.state is State.READY for call in self.own_calls(worker))

    def drop_offers(self, *, worker: str | None = None, work: int | None = None) -> list[tuple[int, int]]:
        """Forget the offers to a worker, or of a unit; return (work, offered at) of each."""
        names = [name for name in sorted(self.offers) if worker in (None, name[0]) and work in (None, name[1])]
        return [(name[1], self.offers.pop(name)) for name in names]
