"""A probe without sockets, store or time: the test says what is there, how probes end, and what time it is."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from hiringhall.domain.topics import topic_of
from hiringhall.ports.probes import LazyWorker, ProbeState
from hiringhall.probe.addresses import Rules
from hiringhall.probe.prober import ACKNOWLEDGED, Kind, Result
from hiringhall.probe.records import Records
from hiringhall.probe.scheduler import ProbeScheduler

SOURCE = "192.0.2.7"
LANE = "call:hello"


class Call:
    """A call to come."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._calls: list[tuple[float, int, Call]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None]) -> Call:
        call = Call(callback)
        heapq.heappush(self._calls, (self.now + delay, next(self._numbers), call))
        return call

    async def passes(self, seconds: float) -> None:
        """Let time pass, and whatever is due happen at its moment."""
        end = self.now + seconds
        await settled()
        while self._calls and self._calls[0][0] <= end:
            at, _, call = heapq.heappop(self._calls)
            self.now = max(self.now, at)
            if call.callback is not None:
                call.callback()
                await settled()
        self.now = end


async def settled() -> None:
    """Let everything happen that can happen by itself."""
    for _ in range(20):
        await asyncio.sleep(0)


class Store:
    """Answers the probe's questions from what the test put there."""

    def __init__(self) -> None:
        self.ready: list[str] = []
        self.workers: dict[str, LazyWorker] = {}
        self.looks = 0
        self.again: set[str] = set()
        self.viewed: list[Sequence[str]] = []
        self.failure: Exception | None = None

    async def ready_lanes(self, lane_keys: Sequence[str], limit: int) -> Sequence[str]:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        return self.ready[:limit]

    def look_again(self, worker_keys: Collection[str]) -> None:
        self.again.update(worker_keys)

    async def lazy_workers(self, lane_keys: Sequence[str]) -> Sequence[LazyWorker]:
        self.viewed.append(lane_keys)
        return [worker for worker in self.workers.values() if set(worker.lanes) & set(lane_keys)]


class Prober:
    """Probes of which the test says how they end."""

    def __init__(self) -> None:
        self.rules = Rules()
        self.made: list[tuple[str, str | None]] = []
        self.under_way: dict[str, asyncio.Future[Result]] = {}
        self.most_at_once = 0

    async def probe(self, worker: LazyWorker, request_id: str | None) -> Result:
        assert worker.key not in self.under_way, "two probes of one worker at once"
        self.made.append((worker.key, request_id))
        ended = self.under_way[worker.key] = asyncio.get_running_loop().create_future()
        self.most_at_once = max(self.most_at_once, len(self.under_way))
        try:
            result: Result = await ended
            return result
        finally:
            del self.under_way[worker.key]


class Stage:
    """A scheduler that runs, with everything around it."""

    def __init__(self, *, rules: Rules | None = None, records: Records | None = None) -> None:
        self.clock = Clock()
        self.store = Store()
        self.prober = Prober()
        self.luck = 0.0
        self._rules = rules or Rules()
        self.probes = ProbeScheduler(
            self.prober, self.store, jitter=lambda: self.luck, timers=self.clock, records=records
        )
        self.probes.start(self._find_rules)

    async def _find_rules(self) -> Rules:
        return self._rules

    async def registers(self, *keys: str, lanes: Collection[str] = (LANE,), **about: Any) -> None:
        """Workers register at this replica."""
        for key in keys:
            where: dict[str, Any] = {"ip": SOURCE, "port": 55_222, "source": SOURCE, "forwarded": False}
            worker = LazyWorker(key, **where | about, lanes=(*lanes, f"worker:{key}"))
            self.store.workers[key] = worker
            self.probes.registered(key, "s", worker.ip, worker.port, worker.source, worker.forwarded, lanes)
        await settled()

    async def leaves(self, key: str) -> None:
        """A worker says goodbye."""
        self.store.workers.pop(key, None)
        self.probes.gone(key)
        await settled()

    async def commits(self, *, lane: str = LANE, request_id: str | None = None, count: int = 1) -> None:
        """Units become ready on a lane by a commit of this replica."""
        self.store.ready.append(lane)
        if request_id is not None:
            self.probes.announced(lane, request_id)
        self.probes.rings_committed({topic_of(lane): count})
        await self.clock.passes(0.3)  # long enough for a look

    async def drains(self, key: str, *, more: bool = False, taken: bool = True, lane: str = LANE) -> None:
        """A worker drains at this replica."""
        if not more:
            self.store.ready = [ready for ready in self.store.ready if ready != lane]
        self.probes.drained(key, more, taken)
        await settled()

    async def beats(self, *keys: str) -> None:
        """Heartbeats arrive at this replica."""
        for key in keys:
            self.probes.heartbeat(key)
        await settled()

    async def ends(self, key: str, result: Result = ACKNOWLEDGED) -> None:
        """The probe of a worker ends."""
        self.prober.under_way[key].set_result(result)
        await settled()

    async def fails(self, key: str) -> None:
        """The probe of a worker fails."""
        await self.ends(key, Result(Kind.FAILED, "nothing listens there"))

    @property
    def probed(self) -> list[str]:
        """Who has been probed so far, in order."""
        return [key for key, _ in self.prober.made]

    def state(self, key: str) -> ProbeState:
        """What operators see."""
        state = self.probes.state_of(key)
        assert state is not None
        return state
