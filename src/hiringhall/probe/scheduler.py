"""Makes the probes that the policy wants, looks at the store when it has to, and gives it the time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Final, Protocol

from hiringhall.domain.topics import EVERYTHING
from hiringhall.ports.probes import LazyWorker, LazyWorkers, ProbeState
from hiringhall.ports.store import StoreUnavailable
from hiringhall.probe.addresses import Refusal, Rules
from hiringhall.probe.policy import READY_LANES_MAX, VIEW_SECONDS, Policy, Probe
from hiringhall.probe.prober import Kind, Result
from hiringhall.probe.records import Records

LOOK_GAP_SECONDS: Final = 0.2
"""How soon a look may follow another, however many rings there are."""
RULES_SECONDS: Final = 60.0
"""How often the names of the hall's own places are looked up again."""


class Timers(Protocol):
    """A clock, and calls to come; an event loop is one."""

    def time(self) -> float:
        """Seconds since some moment."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None]) -> Handle:
        """Call back once so many seconds have passed."""
        ...


class Handle(Protocol):
    """A call to come."""

    def cancel(self) -> None:
        """Do not call."""
        ...


class AnyProber(Protocol):
    """What makes one probe by the present rules."""

    rules: Rules

    async def probe(self, worker: LazyWorker, request_id: str | None) -> Result:
        """Have the worker drain; never fails."""
        ...


class ProbeScheduler:
    """The probes of one process, from `start` until `stop`. Belongs to the event loop's thread."""

    def __init__(
        self,
        prober: AnyProber,
        store: LazyWorkers,
        *,
        jitter: Callable[[], float],
        timers: Timers | None = None,
        records: Records | None = None,
    ) -> None:
        self._prober = prober
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._timers: Timers = timers or self._loop
        self._jitter = jitter
        self._policy = Policy(self._judge, jitter, records=records)
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking = False
        self._look_at = self._timers.time()
        self._look_from = self._look_at
        self._find_rules: Callable[[], Awaitable[Rules]] | None = None
        self._rules_at = float("-inf")
        self._timer: Handle | None = None
        self._timer_at = float("inf")
        self._runs = False

    def start(self, find_rules: Callable[[], Awaitable[Rules]]) -> None:
        """Begin; nobody is probed before the rules are found, which happens again from time to time."""
        self._find_rules = find_rules
        self._runs = True
        self._turn()

    async def stop(self) -> None:
        """Make no more probes; those in flight are cut off."""
        self._runs = False
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def registered(
        self, worker_key: str, service: str, ip: object, port: object, source: str, forwarded: bool,
        lanes: Collection[str],
    ) -> str | None:  # fmt: skip
        """A Lazy worker registered here. `lanes`: the keys of those that it serves. Returns why it is never probed."""
        worker = LazyWorker(worker_key, ip, port, source, forwarded, service)
        self._tell(lambda now: self._policy.registered(worker, lanes, now))
        state = self.state_of(worker_key)
        return state.refused if state is not None else None

    def heartbeat(self, worker_key: str) -> None:
        """A heartbeat of any worker arrived."""
        self._tell(lambda now: self._policy.heartbeat(worker_key, now))

    def drained(self, worker_key: str, more_ready: bool, taken: bool = True) -> None:
        """Any worker drained."""
        self._tell(lambda now: self._policy.drained(worker_key, more_ready, taken, now))

    def gone(self, worker_key: str) -> None:
        """A worker said goodbye, was removed, or registered in another mode."""
        self._tell(lambda now: self._policy.gone(worker_key, now))

    def announced(self, lane_key: str, request_id: str) -> None:
        """A request is about to be committed to a lane."""
        self._tell(lambda _: self._policy.announced(lane_key, request_id))

    def work_ready(self, lane_topic: str, request_id: str | None = None, count: int = 1) -> None:
        """So many units became ready on a lane by a commit of this process."""
        self._tell(lambda now: self._policy.work_ready(lane_topic, request_id, count, now))

    def rings_committed(self, rings: Mapping[str, int]) -> None:
        """The same for all rings of a commit; topics that are neither lanes nor services are passed over."""
        for topic, count in rings.items():
            if topic == EVERYTHING:
                self._tell(lambda _: self._policy.look_soon())
            elif self._policy.knows(topic):
                self.work_ready(topic, None, count)
            elif changed := self._policy.service_changed(topic):
                self._store.look_again(changed)
                self._tell(lambda _: None)

    def state_of(self, worker_key: str) -> ProbeState | None:
        """What this process knows of a worker's probes; None: it is no Lazy worker known here."""
        return self._policy.state_of(worker_key, self._timers.time())

    def _tell(self, what: Callable[[float], object]) -> None:
        # Whoever tells serves a request, which must not fail for the sake of a hint.
        try:
            what(self._timers.time())
            self._turn()
        except Exception as bug:  # noqa: BLE001
            self._complain(bug)

    def _judge(self, worker: LazyWorker) -> str | None:
        judged = self._prober.rules.judge(worker)
        return judged.reason if isinstance(judged, Refusal) else None

    def _turn(self) -> None:
        """Do what is to be done now, and come back when something is due."""
        if not self._runs:
            return
        now = self._timers.time()
        for probe in self._policy.probes():
            self._spawn(self._probe(probe))
        due_at = self._look_from if self._policy.look_wanted else self._look_at
        if not self._looking and due_at <= now:
            self._looking = True
            self._spawn(self._look())
        drain_at = self._policy.next_at()
        wake_at = min(float("inf") if self._looking else due_at, float("inf") if drain_at is None else drain_at)
        if wake_at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = wake_at
            self._timer = self._timers.call_later(max(0.0, wake_at - now), self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_at = None, float("inf")
        self._tell(self._policy.tick)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _probe(self, probe: Probe) -> None:
        try:
            result = await self._prober.probe(probe.worker, probe.request_id)
        except Exception as bug:  # noqa: BLE001 - a worker whose probe never ends would never be probed again
            self._complain(bug)
            result = Result(Kind.FAILED, "a bug in the hall; the server's log explains it")
        self._tell(lambda now: self._policy.finished(probe, result, now))

    async def _look(self) -> None:
        began = self._timers.time()
        keys: list[str] = []
        try:
            await self._refresh_rules(began)
            self._policy.look_begins()
            ready = await self._store.ready_lanes(self._policy.lanes_in_use(), READY_LANES_MAX)
            keys = self._policy.looked_at_ready(ready, began, self._timers.time())
            workers = await self._store.lazy_workers(keys) if keys else []
            self._policy.viewed(keys, workers, began, self._timers.time())
        except StoreUnavailable:
            self._failed_to_look(keys)
        except Exception as bug:  # noqa: BLE001 - the next look may succeed
            self._complain(bug)
            self._failed_to_look(keys)
        else:
            self._look_from = began + LOOK_GAP_SECONDS
            self._look_at = began + VIEW_SECONDS * (0.9 + 0.1 * self._jitter())
        self._looking = False
        self._tell(self._policy.tick)

    def _failed_to_look(self, keys: list[str]) -> None:
        self._policy.look_failed(keys)
        self._look_from = self._look_at = self._timers.time() + VIEW_SECONDS * (0.5 + 0.5 * self._jitter())

    async def _refresh_rules(self, now: float) -> None:
        if self._find_rules is None or now - self._rules_at < RULES_SECONDS:
            return
        rules = await self._find_rules()
        self._rules_at = now
        if rules != self._prober.rules:
            self._prober.rules = rules
            self._policy.judge_again(now)

    def _complain(self, bug: Exception) -> None:
        self._loop.call_exception_handler({"message": "the probing of Lazy workers failed", "exception": bug})
