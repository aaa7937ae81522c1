"""What the probe asks about lazy workers, answered from the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hiringhall.ports.calls import LazyLanes, LazyWorkers, LazyWorkerView
from hiringhall.ports.probes import LazyWorker
from hiringhall.ports.questions import FindWorkers, ReadyLanes, WorkerView
from hiringhall.ports.store import Store

LANES_SECONDS: Final = 60.0
"""How old may be what is known of the lanes that lazy workers serve."""


class StoredLazyWorkers:
    """Lazy workers by what is stored of them. `time` is the event loop's clock."""

    def __init__(self, store: Store, time: Callable[[], float]) -> None:
        self._store = store
        self._time = time
        self._lanes: tuple[str, ...] = ()
        self._read_at = float("-inf")

    async def ready_lanes(self, lane_keys: Sequence[str], limit: int) -> Sequence[str]:
        """The keys of up to `limit` lanes that have something ready: of these, and of all that a Lazy worker serves."""
        now = self._time()
        if now - self._read_at > LANES_SECONDS:
            self._lanes = tuple(await self._store.read(LazyLanes()))
            self._read_at = now
        keys = tuple(dict.fromkeys((*lane_keys, *self._lanes)))
        if not keys:
            return ()
        ready: list[str] = await self._store.read(ReadyLanes(keys))
        return ready[:limit]

    async def lazy_workers(self, lane_keys: Sequence[str]) -> Sequence[LazyWorker]:
        """The Lazy workers of these lanes, without those that are offline, quiet, or have said goodbye."""
        views: list[LazyWorkerView] = await self._store.read(LazyWorkers(tuple(lane_keys)))
        if not views:
            return ()
        known: list[WorkerView] = await self._store.read(FindWorkers(tuple(view.worker for view in views)))
        by_key = {worker.key: worker for worker in known}
        asked = frozenset(lane_keys)
        return [_lazy_worker(view, by_key[view.worker], asked) for view in views if view.worker in by_key]


def _lazy_worker(view: LazyWorkerView, worker: WorkerView, asked: frozenset[str]) -> LazyWorker:
    lanes = () if worker.service is None else tuple(key for key in worker.service.lanes if key in asked)
    return LazyWorker(
        view.worker, view.ip, view.port, view.source or "", view.forwarded, view.service, lanes, worker.last_beat
    )
