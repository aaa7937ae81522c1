"""Operators' routes about workers: list, quiet, resume, terminate, remove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.names import plan_worker
from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import DirectWorker, RemoveWorker
from hiringhall.ports.questions import FindWorkers, ListWorkers, WorkerView
from hiringhall.wire.operators.answers import Stop, agreed, json_answer
from hiringhall.wire.operators.parameters import Query, path_id
from hiringhall.wire.operators.structs import WorkerAnswer, WorkerRemoved, WorkersAnswer
from hiringhall.wire.operators.vocabulary import worker_of


async def list_workers(hall: Hall, request: Request) -> Response:
    """All workers in the order of their ids, and how many units each holds."""
    query = Query(request, ("limit", "after"))
    limit = query.limit()
    assert limit is not None
    after = query.identifier("after")
    key = "" if after is None else plan_worker(after)
    workers: list[WorkerView] = await hall.store.read(ListWorkers(key, limit + 1))
    shown = [worker_of(worker) for worker in workers[:limit]]
    following = shown[-1].worker_id if len(workers) > limit else None
    return json_answer(WorkersAnswer(shown, following))


def direct_worker(quiet: bool | None, terminate: bool | None) -> Callable[[Hall, Request], Awaitable[Response]]:
    """The route that tells a worker to be quiet, to go on, or to end."""

    async def endpoint(hall: Hall, request: Request) -> Response:
        worker_id = path_id(request, "worker_id")
        Query(request, ())
        key = plan_worker(worker_id)
        found = agreed(await hall.coalescer.one(DirectWorker(key, quiet=quiet, terminate=terminate)))
        workers: list[WorkerView] = await hall.store.read(FindWorkers((key,))) if found else []
        if not workers:
            raise _no_worker(worker_id)
        return json_answer(WorkerAnswer(worker_of(workers[0])))

    return endpoint


async def remove_worker(hall: Hall, request: Request) -> Response:
    """Forget a worker: what it holds returns, and its token ends."""
    worker_id = path_id(request, "worker_id")
    Query(request, ())
    removed: Any = agreed(await hall.coalescer.one(RemoveWorker(plan_worker(worker_id))))
    if not removed:
        raise _no_worker(worker_id)
    return json_answer(WorkerRemoved(worker_id))


def _no_worker(worker_id: str) -> Stop:
    return Stop("not_found", f"there is no worker {worker_id!r}; GET /admin/workers lists those that there are")
