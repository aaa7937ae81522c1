"""What the probe asks the store, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hiringhall.domain.call import Capabilities
from hiringhall.ports.calls import LazyWorkers, LazyWorkerView, ServiceWorkerView
from hiringhall.ports.questions import FindWorkers, ListWorkers, ReadyLanes, WorkerView
from hiringhall.probe.stored import LIST_SECONDS, PAGE_WORKERS, StoredLazyWorkers

IP = "192.0.2.7"


class Database:
    """Answers as a store does."""

    def __init__(self) -> None:
        self.now = 0.0
        self.workers: dict[str, WorkerView] = {}
        self.ready: set[str] = set()
        self.asked: list[Any] = []
        self.stored = StoredLazyWorkers(self.read, lambda: self.now)

    def has(self, key: str, *lanes: str, mode: str = "lazy", **about: Any) -> None:
        """A worker is there."""
        service = ServiceWorkerView("s", key, mode, Capabilities(), 1, False, IP, 55_222, lanes=lanes)
        worker = WorkerView(key, "", False, False, False, 0, None, None, False, service=service)
        self.workers[key] = replace(worker, **about)

    async def read(self, question: Any) -> Any:
        self.asked.append(question)
        match question:
            case ListWorkers(after, limit):
                keys = sorted(key for key in self.workers if key > after)[:limit]
                return [replace(self.workers[key], service=None, holds=0) for key in keys]
            case FindWorkers(keys):
                return [self.workers[key] for key in keys if key in self.workers]
            case ReadyLanes(keys):
                return [key for key in keys if key in self.ready]
            case LazyWorkers(lanes):
                return [self._view(worker) for worker in self.workers.values() if self._fits(worker, lanes)]
        raise AssertionError(question)

    def _fits(self, worker: WorkerView, lanes: Sequence[str]) -> bool:
        service = worker.service
        return service is not None and service.run_mode == "lazy" and bool(set(service.lanes) & set(lanes))

    def _view(self, worker: WorkerView) -> LazyWorkerView:
        return LazyWorkerView(worker.key, "s", IP, 55_222, IP, False)


async def test_the_workers_of_lanes_are_told_with_their_lanes() -> None:
    """Each worker is told with those of the asked lanes that it serves, and when it last beat."""
    database = Database()
    database.has("service:s/a", "x", "y", last_beat=7)
    database.has("service:s/b", "y", "z")
    database.has("service:s/c", "x", mode="eager")
    database.has("service:s/d", "x", quiet=True)
    found = {worker.key: worker for worker in await database.stored.lazy_workers(["x", "y"])}
    assert {key: worker.lanes for key, worker in found.items()} == {"service:s/a": ("x", "y"), "service:s/b": ("y",)}
    assert found["service:s/a"].beat == 7
    assert await database.stored.lazy_workers(["nobody's"]) == []


async def test_lanes_that_lazy_workers_serve_are_known_without_being_named() -> None:
    """What is ready is told of the lanes that are asked for, and of those that Lazy workers serve, and of no others."""
    database = Database()
    database.has("plan:p", "plan")
    database.has("service:s/a", "x", "y")
    database.has("service:s/c", "eager's", mode="eager")
    database.ready = {"plan", "x", "eager's", "named", "z"}
    assert set(await database.stored.ready_lanes(["named", "idle"], 100)) == {"x", "named"}
    assert len(await database.stored.ready_lanes(["named", "idle"], 1)) == 1


async def test_workers_are_gone_through_once_a_minute() -> None:
    """Between two rounds no question is about all workers, and none is asked if no lane matters."""
    database = Database()
    database.has("service:s/c", "x", mode="eager")
    for _ in range(10):
        await database.stored.ready_lanes([], 100)
    assert [type(question) for question in database.asked] == [ListWorkers, FindWorkers]
    database.now = LIST_SECONDS + 1
    await database.stored.ready_lanes([], 100)
    assert len(database.asked) == 4


async def test_many_workers_are_gone_through_in_pages() -> None:
    """More workers than a page has are all found."""
    database = Database()
    for number in range(2 * PAGE_WORKERS + 1):
        database.has(f"service:s/{number:05}", f"lane {number % 3_000}")
    database.ready = {f"lane {2 * PAGE_WORKERS}"}
    assert await database.stored.ready_lanes([], 100) == [f"lane {2 * PAGE_WORKERS}"]
    assert sum(isinstance(question, ListWorkers) for question in database.asked) == 3
    assert all(len(question.keys) <= 1_000 for question in database.asked if isinstance(question, ReadyLanes))


async def test_lanes_made_for_known_workers_are_found_at_once() -> None:
    """A worker that is to be looked at again is asked about alone, and what it serves since is known."""
    database = Database()
    database.has("service:s/a", "x")
    await database.stored.ready_lanes([], 100)
    database.has("service:s/a", "x", "made since")
    database.ready = {"made since"}
    assert await database.stored.ready_lanes([], 100) == []
    database.asked.clear()
    database.stored.look_again(["service:s/a"])
    assert await database.stored.ready_lanes([], 100) == ["made since"]
    assert [type(question) for question in database.asked] == [FindWorkers, ReadyLanes]
