"""Whom to probe, and when: a state machine that is told the time and what happens, and says what to do.

One unit that becomes ready has one worker probed, the one of its lane that was probed longest ago. A worker that does
not answer, or acknowledges and does not drain in time, counts as failed, and the next one is probed in its place; it
rests for a while and is tried again at the next heartbeat after that. Each drain of a probed worker that leaves
something behind leads to the next probe.

A look at the store is what corrects all that this process cannot know: which workers there are, what is still ready,
and whether a worker drained at another replica.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hiringhall.domain.call import worker_lane
from hiringhall.domain.retry import Backoff
from hiringhall.domain.topics import topic_of, topic_of_service
from hiringhall.ports.probes import LazyWorker, ProbeState
from hiringhall.probe.prober import Kind, Result
from hiringhall.probe.records import LANES_OF_A_WORKER_MAX, LaneRecord, Phase, Records, WorkerRecord

DRAIN_SECONDS: Final = 2.0
"""How long a worker that acknowledged has to drain."""
VIEW_SECONDS: Final = 5.0
"""How old what is known of the workers of a lane may be when one is probed, and how often the store is asked anyway."""
IN_FLIGHT_MAX: Final = 64
"""Probes at once. Each is a socket for at most two seconds, so that dead workers cost few file descriptors."""
READY_LANES_MAX: Final = 1_000
VIEWED_LANES_MAX: Final = 256
SERVICES_MAX: Final = 10_000
BACKOFF: Final = Backoff(base_seconds=2.0, factor=2.0, max_seconds=60.0)
"""1 to 60 s: jitter takes up to half away."""
NOT_DRAINED: Final = "it acknowledged, but did not drain within 2 s"


class Probe(NamedTuple):
    """A probe to be made now."""

    worker: LazyWorker
    lane: str
    request_id: str | None


class Policy:
    """All Lazy workers that one process knows. `judge` says why a worker is never probed, None if it may be."""

    def __init__(
        self,
        judge: Callable[[LazyWorker], str | None],
        jitter: Callable[[], float],
        *,
        records: Records | None = None,
        in_flight_max: int = IN_FLIGHT_MAX,
    ) -> None:
        self._judge = judge
        self._jitter = jitter
        self._records = records or Records()
        self._in_flight_max = in_flight_max
        self._in_flight: dict[str, WorkerRecord] = {}
        self._draining: OrderedDict[str, float] = OrderedDict()  # who has to drain, by when
        self._starved: OrderedDict[str, None] = OrderedDict()  # lanes for which too many probes were in flight
        self._to_view: OrderedDict[str, None] = OrderedDict()  # lanes whose workers are to be asked for
        self._services: dict[str, str] = {}  # topic to the service of a worker that was known
        self._look_soon = False
        self._probes: list[Probe] = []

    # What happens.

    def registered(self, worker: LazyWorker, lanes: Iterable[str], now: float) -> str | None:
        """A worker registered here, serving the lanes of these keys. Returns why it is never probed."""
        record = self._known(worker, now)
        keys = [worker_lane(worker.key), *lanes][:LANES_OF_A_WORKER_MAX]
        topics = [self._records.lane(key)[0] for key in keys]
        for topic in topics:
            self._records.serve(record, topic)
        self._pump(topics, now)
        return record.refused

    def heartbeat(self, key: str, now: float) -> None:
        """Whoever rested long enough may be probed again."""
        record = self._records.workers.get(key)
        if record is not None and record.phase is Phase.RESTING and now >= record.retry_at:
            record.phase = Phase.FREE
            self._pump(list(record.lanes), now)

    def drained(self, key: str, more_ready: bool, taken: bool, now: float) -> None:
        """A worker drained, and was given something or not; on its lanes something is left, or nothing."""
        record = self._records.workers.get(key)
        if record is None:
            return
        probed_for = record.lane
        if record.phase is Phase.PROBED:
            record.drained = True
        elif record.phase in (Phase.ACKNOWLEDGED, Phase.IN_QUESTION):
            self._succeeded(record, now)
        for topic in record.lanes:
            lane = self._records.lanes[topic]
            if not more_ready:
                # Probes still wanted are for rings that this drain may or may not have seen.
                lane.doubtful = lane.wanted > 0
                lane.ready = lane.doubtful
                self._look_soon |= lane.doubtful
            elif taken and (lane.ready or topic == probed_for) and not lane.wanted:
                lane.want()
        # Something is left that no ring told of: a look finds out where.
        self._look_soon |= more_ready and taken and not any(self._records.lanes[each].ready for each in record.lanes)
        self._pump(list(record.lanes), now)

    def gone(self, key: str, now: float) -> None:
        """A worker is gone; if it was probed, the next one is."""
        record = self._records.remove(key)
        if record is not None:
            self._pump([self._given_up(record)], now)

    def knows(self, topic: str) -> bool:
        """Whether a topic is that of a known lane."""
        return topic in self._records.lanes

    def service_changed(self, topic: str) -> list[str]:
        """Something about a service changed, perhaps its lanes. Returns the known workers of it; a topic that is of no
        such service is passed over."""
        service = self._services.get(topic)
        if service is None:
            return []
        self._look_soon = True
        return [key for key, record in self._records.workers.items() if record.worker.service == service]

    def announced(self, lane_key: str, request_id: str) -> None:
        """A request is about to become ready on a lane."""
        self._records.lane(lane_key)[1].requests.append(request_id)

    def work_ready(self, topic: str, request_id: str | None, count: int, now: float) -> None:
        """Units became ready; a topic that is no known lane is passed over."""
        lane = self._records.lanes.get(topic)
        if lane is not None:
            if request_id is not None:
                lane.requests.append(request_id)
            lane.rung_at = now
            lane.want(count)
            self._pump([topic], now)

    def finished(self, probe: Probe, result: Result, now: float) -> None:
        """A probe ended."""
        record = self._in_flight.pop(probe.worker.key)
        if self._records.workers.get(probe.worker.key) is not record:  # gone, or registered again
            self._pump([probe.lane, *self._starved], now)
            return
        if result.kind is Kind.ACKNOWLEDGED and record.drained:
            self._succeeded(record, now)
        elif result.kind is Kind.ACKNOWLEDGED:
            record.phase = Phase.ACKNOWLEDGED
            record.say("acknowledged", now)
            self._draining[probe.worker.key] = now + DRAIN_SECONDS
        elif result.kind is Kind.REFUSED:
            record.refused = result.reason
            record.phase = Phase.FREE
            record.last_at = now
            self._given_up(record)
        else:
            self._failed(record, result.reason, now)
        self._pump([probe.lane, *self._starved], now)

    def tick(self, now: float) -> None:
        """Time has passed: whoever has not drained by now is looked after."""
        while self._draining and (first := next(iter(self._draining.items())))[1] <= now:
            del self._draining[first[0]]
            record = self._records.workers.get(first[0])
            if record is not None:
                record.phase = Phase.IN_QUESTION
                self._look_soon = True

    def judge_again(self, now: float) -> None:
        """The rules have changed."""
        for record in list(self._records.workers.values()):
            record.refused = self._judge(record.worker)
            if record.refused is None:
                self._pump(list(record.lanes), now)

    # A look at the store.

    @property
    def look_wanted(self) -> bool:
        """Whether to look at the store soon, and not only from time to time."""
        return self._look_soon or bool(self._to_view)

    def look_soon(self) -> None:
        """Rings may have been lost."""
        self._look_soon = True

    def look_begins(self) -> None:
        """Whatever happens from now on is not seen by this look."""
        self._look_soon = False

    def lanes_in_use(self) -> list[str]:
        """The keys of the lanes of which it matters whether something is ready."""
        return [lane.key for lane in self._records.lanes.values() if lane.ready or lane.under_way]

    def looked_at_ready(self, ready: Sequence[str], began: float, now: float) -> list[str]:
        """These lanes have something ready, as of `began`. Returns the keys of lanes whose workers to ask for."""
        found = {self._records.lane(key)[0] for key in ready}
        complete = len(ready) < READY_LANES_MAX
        for topic, lane in self._records.lanes.items():
            if topic in found:
                lane.ready, lane.doubtful = True, False
                if not lane.wanted and not lane.under_way:
                    lane.want()
            elif complete and lane.rung_at < began:
                lane.forget()
            else:
                lane.doubtful = False
            # Lanes in use are viewed together, before each of them needs a look of its own.
            if (lane.ready or now - lane.rung_at < VIEW_SECONDS) and now - lane.viewed_at > VIEW_SECONDS / 2:
                self._to_view[topic] = None
        for record in [each for each in self._records.workers.values() if each.phase is Phase.IN_QUESTION]:
            lane_in_question = self._records.lanes.get(record.lane)
            if lane_in_question is not None and lane_in_question.ready:
                self._to_view[record.lane] = None
                self._to_view.move_to_end(record.lane, last=False)
            else:
                # Whoever acknowledged did what it could, here or at another replica.
                self._succeeded(record, now, "acknowledged, and the work was taken")
        self._pump(found, now)
        asked = list(self._to_view)[:VIEWED_LANES_MAX]
        for topic in asked:
            del self._to_view[topic]
        return [self._records.lanes[topic].key for topic in asked if topic in self._records.lanes]

    def viewed(self, lane_keys: Collection[str], workers: Sequence[LazyWorker], began: float, now: float) -> None:
        """These are the workers of these lanes, as of `began`."""
        serving: dict[str, list[WorkerRecord]] = {topic_of(key): [] for key in lane_keys}
        for worker in workers:
            record = self._told(worker, now)
            for key in worker.lanes:
                serving.setdefault(topic_of(key), []).append(record)
        for topic, records in serving.items():
            lane = self._records.lanes.get(topic)
            if lane is None:
                continue
            lane.viewed_at = now
            if not records and lane.rung_at < began:
                lane.requests.clear()
            for record in records:
                self._records.serve(record, topic)
            known = {record.worker.key for record in records}
            for key in [key for key in lane.workers if key not in known]:
                missing = self._records.workers[key]
                if missing.registered_at < began:
                    self._left(missing, topic)
            for record in records:
                if record.phase is Phase.IN_QUESTION and record.lane == topic:
                    self._failed(record, NOT_DRAINED, now)
        self._pump(list(serving), now)

    def look_failed(self, lane_keys: Iterable[str]) -> None:
        """The store did not answer: nobody could drain either, so that nobody is blamed."""
        self._to_view.update(dict.fromkeys(map(topic_of, lane_keys)))
        for record in self._records.workers.values():
            if record.phase is Phase.IN_QUESTION:
                record.phase = Phase.FREE
                self._given_up(record)

    # What to do.

    def probes(self) -> list[Probe]:
        """The probes to be made now; each is told once, and has to be `finished`."""
        probes, self._probes = self._probes, []
        return probes

    def next_at(self) -> float | None:
        """When to `tick`; None: not as things are."""
        return next(iter(self._draining.values()), None)

    def state_of(self, key: str, now: float) -> ProbeState | None:
        """What operators see of a worker."""
        record = self._records.workers.get(key)
        if record is None:
            return None
        resting = record.phase is Phase.RESTING
        return ProbeState(
            last=record.last if record.refused is None else f"refused: {record.refused}",
            refused=record.refused,
            failures=record.failures,
            seconds_ago=None if record.last_at is None else max(0.0, now - record.last_at),
            next_in_seconds=max(0.0, record.retry_at - now) if resting else None,
        )

    # How it is decided.

    def _pump(self, topics: Iterable[str], now: float) -> None:
        for topic in list(topics):
            self._starved.pop(topic, None)
            lane = self._records.lanes.get(topic)
            while lane is not None and lane.wanted and not lane.doubtful:
                if now - lane.viewed_at > VIEW_SECONDS:
                    self._to_view[topic] = None
                    break
                record = self._next(lane)
                if record is None:
                    break
                if len(self._in_flight) >= self._in_flight_max:
                    self._starved[topic] = None
                    break
                self._probe(record, lane, topic)

    def _next(self, lane: LaneRecord) -> WorkerRecord | None:
        for key in lane.workers:
            record = self._records.workers[key]
            if record.phase is Phase.FREE and record.refused is None and key not in self._in_flight:
                return record
        return None

    def _probe(self, record: WorkerRecord, lane: LaneRecord, topic: str) -> None:
        key = record.worker.key
        for served in record.lanes:
            self._records.lanes[served].workers.move_to_end(key)
        lane.wanted -= 1
        lane.under_way += 1
        record.phase, record.lane, record.drained = Phase.PROBED, topic, False
        # The newest is the one that is still ready, if others took some meanwhile.
        record.request_id = lane.requests.pop() if lane.requests else None
        self._in_flight[key] = record
        self._probes.append(Probe(record.worker, topic, record.request_id))

    def _succeeded(self, record: WorkerRecord, now: float, words: str = "acknowledged, and drained") -> None:
        self._over(record)
        record.phase, record.failures = Phase.FREE, 0
        record.say(words, now)

    def _failed(self, record: WorkerRecord, reason: str, now: float) -> None:
        self._given_up(record)
        record.failures += 1
        record.phase = Phase.RESTING
        record.retry_at = now + BACKOFF.delay_ms(record.failures, self._jitter()) / 1000
        record.say(f"failed: {reason}", now)

    def _given_up(self, record: WorkerRecord) -> str:
        """Whatever it was probed for still needs somebody. Returns the topic of the lane, if it was probed at all."""
        topic, request_id = record.lane, record.request_id
        lane = self._over(record)
        if lane is not None:
            if not lane.ready:  # others may have taken it meanwhile
                lane.doubtful = self._look_soon = True
            lane.want()
            if request_id is not None:
                lane.requests.append(request_id)
        return topic

    def _over(self, record: WorkerRecord) -> LaneRecord | None:
        self._draining.pop(record.worker.key, None)
        topic, record.lane, record.request_id = record.lane, "", None
        lane = self._records.lanes.get(topic)
        if lane is not None and lane.under_way:
            lane.under_way -= 1
        return lane

    def _told(self, worker: LazyWorker, now: float) -> WorkerRecord:
        """A worker as the store tells of it."""
        record = self._records.workers.get(worker.key)
        if record is None or _place(record.worker) != _place(worker):
            record = self._known(worker, float("-inf"))
        if record.phase is Phase.RESTING and now >= record.retry_at and _changed(record.beat, worker.beat):
            record.phase = Phase.FREE
        if record.phase is Phase.IN_QUESTION and _changed(record.handed, worker.handed):
            self._succeeded(record, now)
        record.beat, record.handed = worker.beat, worker.handed
        return record

    def _known(self, worker: LazyWorker, registered_at: float) -> WorkerRecord:
        """A new record of a worker, in place of what was known of it."""
        kept = replace(worker, lanes=())
        if len(self._services) >= SERVICES_MAX:
            self._services.clear()  # those that go on are told of by the next look
        self._services[topic_of_service(worker.service)] = worker.service
        record = WorkerRecord(kept, registered_at, self._judge(kept))
        forgotten = self._records.add(record)
        if forgotten is not None:
            self._given_up(forgotten)
        return record

    def _left(self, record: WorkerRecord, topic: str) -> None:
        if record.lane == topic and not record.rests:
            self._given_up(record)
            record.phase = Phase.FREE
        self._records.leave(record, topic)


def _place(worker: LazyWorker) -> tuple[object, ...]:
    return worker.ip, worker.port, worker.source, worker.forwarded


def _changed(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and before != after
