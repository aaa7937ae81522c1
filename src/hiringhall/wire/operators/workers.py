"""Operators' routes about workers: list, quiet, resume, terminate, remove.

A service worker is named by its id and `?service=`; without it a plan worker is meant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.names import PLAN_WORKER, SERVICE_WORKER, plan_worker, service_of, service_worker, worker_id_of
from hiringhall.operations.dismiss import dismiss
from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import DirectWorker
from hiringhall.ports.questions import FindWorkers, ListWorkers, WorkerView
from hiringhall.wire.operators.answers import Stop, agreed, json_answer
from hiringhall.wire.operators.parameters import Query, path_id
from hiringhall.wire.operators.structs import Worker, WorkerAnswer, WorkerRemoved, WorkersAnswer
from hiringhall.wire.operators.vocabulary import worker_of

KEYS: Final = (PLAN_WORKER, SERVICE_WORKER)


async def list_workers(hall: Hall, request: Request) -> Response:
    """All workers, or those of a service, and how many units each holds."""
    query = Query(request, ("limit", "after", "service"))
    limit = query.limit()
    assert limit is not None
    service, after = query.identifier("service"), query.text("after") or ""
    if service is None:
        query.identifier("after")
        found = await _page(hall, _key_of_cursor(after), limit + 1)
        cursor: Callable[[str], str] = _cursor_of
    else:
        of_service = service_worker(service, "")
        page = await _page(hall, of_service + service_worker("", after).partition("/")[2], limit + 1)
        found = [worker for worker in page if worker.key.startswith(of_service)]
        cursor = worker_id_of
    shown = found[:limit]
    answer = WorkersAnswer(await _shown(hall, shown), cursor(shown[-1].key) if len(found) > limit else None)
    return json_answer(answer)


async def _page(hall: Hall, after: str, limit: int) -> list[WorkerView]:
    workers: list[WorkerView] = await hall.store.read(ListWorkers(after, limit))
    return workers


def _cursor_of(key: str) -> str:
    """Where a list of all workers is read on. The id of a plan worker says it, unless it looks like a key."""
    plain = worker_id_of(key)
    return plain if key.startswith(PLAN_WORKER) and not plain.startswith(KEYS) else key


def _key_of_cursor(cursor: str) -> str:
    return cursor if not cursor or cursor.startswith(KEYS) else plan_worker(cursor)


async def _shown(hall: Hall, workers: list[WorkerView]) -> list[Worker]:
    """Workers with what those of services registered, which lists do not tell."""
    keys = tuple(worker.key for worker in workers if service_of(worker.key) is not None)
    found: list[WorkerView] = await hall.store.read(FindWorkers(keys)) if keys else []
    registered = {worker.key: worker.service for worker in found}
    return [worker_of(worker, registered.get(worker.key), hall.probes.state_of(worker.key)) for worker in workers]


def direct_worker(quiet: bool | None, terminate: bool | None) -> Callable[[Hall, Request], Awaitable[Response]]:
    """The route that tells a worker to be quiet, to go on, or to end."""

    async def endpoint(hall: Hall, request: Request) -> Response:
        worker_id, service, key = _named(request)
        found = agreed(await hall.coalescer.one(DirectWorker(key, quiet=quiet, terminate=terminate)))
        workers: list[WorkerView] = await hall.store.read(FindWorkers((key,))) if found else []
        if not workers:
            raise _no_worker(worker_id, service)
        (worker,) = await _shown(hall, workers)
        return json_answer(WorkerAnswer(worker))

    return endpoint


async def remove_worker(hall: Hall, request: Request) -> Response:
    """Forget a worker: what it holds returns, and its token ends."""
    worker_id, service, key = _named(request)
    removed: Any = agreed(await dismiss(hall, key))
    if not removed:
        raise _no_worker(worker_id, service)
    return json_answer(WorkerRemoved(worker_id, service=UNSET if service is None else service))


def _named(request: Request) -> tuple[str, str | None, str]:
    """The worker's id, its service if it is a service worker, and its key."""
    worker_id = path_id(request, "worker_id")
    service = Query(request, ("service",)).identifier("service")
    return worker_id, service, plan_worker(worker_id) if service is None else service_worker(service, worker_id)


def _no_worker(worker_id: str, service: str | None) -> Stop:
    whose = "" if service is None else f" of service {service!r}"
    return Stop("not_found", f"there is no worker {worker_id!r}{whose}; GET /admin/workers lists those that there are")
