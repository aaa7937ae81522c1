"""The workers and lanes of all replicas, as the store's questions tell them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final

from hiringhall.domain.names import SERVICE_WORKER
from hiringhall.ports.calls import LazyWorkers, LazyWorkerView
from hiringhall.ports.probes import LazyWorker
from hiringhall.ports.questions import FindWorkers, ListWorkers, ReadyLanes, WorkerView

LIST_SECONDS: Final = 60.0
"""How often all workers are gone through. Those that serve a lane that is rung are asked for much sooner."""
PAGE_WORKERS: Final = 500
PAGES_MAX: Final = 20
KEYS_MAX: Final = 1_000
LANES_MAX: Final = 10_000
LAZY: Final = "lazy"


class StoredLazyWorkers:
    """Asks the store. `read` answers a question; `time` is a clock in seconds."""

    def __init__(self, read: Callable[[Any], Awaitable[Any]], time: Callable[[], float]) -> None:
        self._read = read
        self._time = time
        self._served: dict[str, None] = {}
        self._again: dict[str, None] = {}
        self._listed_at = float("-inf")

    async def ready_lanes(self, lane_keys: Sequence[str], limit: int) -> Sequence[str]:
        """The keys of lanes that have something ready: of these, and of all that a Lazy worker serves."""
        if self._time() - self._listed_at > LIST_SECONDS:
            self._served = await self._all_served()
            self._listed_at = self._time()
            self._again.clear()
        elif self._again:
            again, self._again = tuple(self._again), {}
            self._remember([lane for lanes in await self._lanes_of(again) for lane in lanes])
        keys = list(dict.fromkeys((*lane_keys, *self._served)))
        ready: list[str] = []
        for at in range(0, len(keys), KEYS_MAX):
            if len(ready) < limit:
                ready += await self._read(ReadyLanes(tuple(keys[at : at + KEYS_MAX])))
        return ready[:limit]

    def look_again(self, worker_keys: Collection[str]) -> None:
        """These workers may serve other lanes than before; beyond a page of them all are gone through."""
        self._again.update(dict.fromkeys(worker_keys))
        if len(self._again) > PAGE_WORKERS:
            self._listed_at = float("-inf")

    async def lazy_workers(self, lane_keys: Sequence[str]) -> Sequence[LazyWorker]:
        """The Lazy workers of these lanes that are alive."""
        views: list[LazyWorkerView] = await self._read(LazyWorkers(tuple(lane_keys)))
        if not views:
            return []
        found: list[WorkerView] = await self._read(FindWorkers(tuple(view.worker for view in views)))
        known = {worker.key: worker for worker in found if not worker.quiet and not worker.terminate}
        workers = [_lazy_worker(view, known[view.worker], lane_keys) for view in views if view.worker in known]
        for worker in workers:
            self._remember(worker.lanes)
        return workers

    async def _all_served(self) -> dict[str, None]:
        served: dict[str, None] = {}
        after = SERVICE_WORKER  # those of other protocols have other keys
        for _ in range(PAGES_MAX):
            page: list[WorkerView] = await self._read(ListWorkers(after, PAGE_WORKERS))
            keys = tuple(worker.key for worker in page if worker.key.startswith(SERVICE_WORKER) and not worker.offline)
            for lanes in await self._lanes_of(keys) if keys else ():
                served.update(dict.fromkeys(lanes))
            if len(page) < PAGE_WORKERS:
                break
            after = page[-1].key
        else:
            served.update(self._served)
        return dict.fromkeys(list(served)[:LANES_MAX])

    async def _lanes_of(self, worker_keys: tuple[str, ...]) -> list[tuple[str, ...]]:
        """What each of them that is Lazy serves."""
        workers: list[WorkerView] = await self._read(FindWorkers(worker_keys))
        registered = [worker.service for worker in workers if worker.service is not None]
        return [service.lanes for service in registered if service.run_mode == LAZY]

    def _remember(self, lanes: Sequence[str]) -> None:
        if len(self._served) < LANES_MAX:
            self._served.update(dict.fromkeys(lanes))


def _lazy_worker(view: LazyWorkerView, known: WorkerView, lane_keys: Sequence[str]) -> LazyWorker:
    asked = set(lane_keys)
    lanes = known.service.lanes if known.service is not None else ()
    return LazyWorker(
        view.worker, view.ip, view.port, view.source or "", view.forwarded, view.service,
        lanes=tuple(lane for lane in lanes if lane in asked), beat=known.last_beat,
    )  # fmt: skip
