"""What the probe remembers of each worker and each lane, within bounds."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from hiringhall.domain.topics import topic_of
from hiringhall.ports.probes import LazyWorker

WORKERS_MAX: Final = 10_000
LANES_MAX: Final = 10_000
LANES_OF_A_WORKER_MAX: Final = 1_000
WANTED_MAX: Final = 64
"""Probes that a lane may ask for at once; more are of no use, since each drain takes a share of all that is ready."""

REQUESTS_MAX: Final = 16
"""Ids of requests that a lane remembers for its next probes. A probe without one serves as well."""


class Phase(Enum):
    """Where a worker is between two probes."""

    FREE = auto()
    PROBED = auto()
    ACKNOWLEDGED = auto()  # it has two seconds to drain
    IN_QUESTION = auto()  # it did not drain here; another replica may know better
    RESTING = auto()  # after a failure


@dataclass(slots=True, eq=False)
class WorkerRecord:
    """A Lazy worker. Times are seconds of the loop's clock."""

    worker: LazyWorker
    registered_at: float
    refused: str | None
    lanes: set[str] = field(default_factory=set)  # topics
    phase: Phase = Phase.FREE
    lane: str = ""  # the topic for which it was probed, until the probe is over
    request_id: str | None = None  # what it was told
    failures: int = 0
    retry_at: float = 0.0
    drained: bool = False  # since it was probed
    beat: int | None = None  # as last told by the store
    handed: int | None = None
    last: str = "not probed yet"
    last_at: float | None = None

    def say(self, words: str, now: float) -> None:
        """Note the last result."""
        self.last, self.last_at = words, now

    @property
    def rests(self) -> bool:
        """Whether it is in no probe."""
        return self.phase in (Phase.FREE, Phase.RESTING)


@dataclass(slots=True, eq=False)
class LaneRecord:
    """A lane and who serves it, the one probed longest ago first."""

    key: str
    workers: OrderedDict[str, None] = field(default_factory=OrderedDict)
    wanted: int = 0  # probes still to be made
    under_way: int = 0  # workers that were probed for it and have not drained yet
    ready: bool = False  # something is believed to be ready
    doubtful: bool = False  # whether something is ready has to be asked before the next probe
    rung_at: float = float("-inf")
    viewed_at: float = float("-inf")  # when its workers were asked for
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=REQUESTS_MAX))

    def want(self, count: int = 1) -> None:
        """Ask for more probes."""
        self.ready = True
        self.wanted = min(self.wanted + count, WANTED_MAX)

    def forget(self) -> None:
        """Nothing is ready."""
        self.ready = self.doubtful = False
        self.wanted = 0
        self.requests.clear()


class Records:
    """All workers by key, and all lanes by topic; those used longest ago are forgotten first."""

    def __init__(self, *, workers_max: int = WORKERS_MAX, lanes_max: int = LANES_MAX) -> None:
        self.workers: OrderedDict[str, WorkerRecord] = OrderedDict()
        self.lanes: OrderedDict[str, LaneRecord] = OrderedDict()
        self._workers_max = workers_max
        self._lanes_max = lanes_max

    def lane(self, key: str) -> tuple[str, LaneRecord]:
        """The lane of that key and its topic."""
        topic = topic_of(key)
        lane = self.lanes.get(topic)
        if lane is None:
            if len(self.lanes) >= self._lanes_max:
                self._forget_lane()
            lane = self.lanes[topic] = LaneRecord(key)
        else:
            self.lanes.move_to_end(topic)
        return topic, lane

    def add(self, record: WorkerRecord) -> WorkerRecord | None:
        """Remember a worker, in place of what was known of it. Returns who had to be forgotten for it."""
        forgotten = self.remove(record.worker.key)
        if len(self.workers) >= self._workers_max:
            oldest = next((key for key, known in self.workers.items() if known.rests), next(iter(self.workers)))
            forgotten = self.remove(oldest)
        self.workers[record.worker.key] = record
        return forgotten

    def serve(self, record: WorkerRecord, topic: str) -> None:
        """Note that a worker serves a lane."""
        lane = self.lanes.get(topic)
        forgotten = lane is None or self.workers.get(record.worker.key) is not record
        if not forgotten and (len(record.lanes) < LANES_OF_A_WORKER_MAX or topic in record.lanes):
            record.lanes.add(topic)
            self.lanes[topic].workers.setdefault(record.worker.key)

    def leave(self, record: WorkerRecord, topic: str) -> None:
        """Note that a worker serves a lane no longer; who serves none and is in no probe is forgotten."""
        record.lanes.discard(topic)
        self.lanes[topic].workers.pop(record.worker.key, None)
        if not record.lanes and record.rests:
            self.workers.pop(record.worker.key, None)

    def remove(self, key: str) -> WorkerRecord | None:
        """Forget a worker."""
        record = self.workers.pop(key, None)
        if record is not None:
            for topic in record.lanes:
                self.lanes[topic].workers.pop(key, None)
        return record

    def _forget_lane(self) -> None:
        topic = next((topic for topic, lane in self.lanes.items() if not lane.wanted), next(iter(self.lanes)))
        for key in self.lanes[topic].workers:
            self.workers[key].lanes.discard(topic)
        del self.lanes[topic]
