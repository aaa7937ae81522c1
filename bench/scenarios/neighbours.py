"""What other calls feel of big results, and of a worker that floods a client which never reads."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager

from bench.calls import Caller, callers, eager_workers
from bench.client import connect, head_of, whole
from bench.figures import p50_ms, p99_ms
from bench.load import LoadFailed
from bench.report import Goal, Row, Table
from bench.services import Service, admit, ask, client_token, make_service
from bench.targets import Target
from bench.workshop import Workshop

BIG_RESULT = b'"' + b"k" * (900 * 1024) + b'"'
BIG_PER_SECOND = 10
FEEDBACK_PER_SECOND = 1_000
FEEDBACK_AT_ONCE = 20
TIMES = 2.0
AT_LEAST_MS = 25.0
PAUSE_SECONDS = 0.005


@asynccontextmanager
async def big_results(target: Target) -> AsyncIterator[None]:
    """Ten calls a second whose results have 900 KiB."""
    service = await make_service(target)
    async with AsyncExitStack() as stack:
        (worker,) = await stack.enter_async_context(eager_workers([target], service, 1))
        worker.result = BIG_RESULT
        clients = await stack.enter_async_context(callers(target, service, BIG_PER_SECOND))

        async def every_second(client: Caller, number: int) -> None:
            await asyncio.sleep(number / BIG_PER_SECOND)
            while True:
                begun_at = time.perf_counter()
                await client.call()
                await asyncio.sleep(max(0.0, 1.0 - (time.perf_counter() - begun_at)))

        async with in_background(*(every_second(client, number) for number, client in enumerate(clients))):
            yield


@asynccontextmanager
async def feedback_flood(target: Target) -> AsyncIterator[None]:
    """A thousand items of feedback a second on one call, with a follower who never reads."""
    service = await make_service(target)
    working = await connect(target.root)
    worker = await admit(target, service, working, "flood")
    token = await client_token(target, service)
    request_id = await started(target, service, token)
    drained = await ask(working, whole(worker.head("GET", "/worker/messages?wait=5"), b""), "drain", 200)
    assert drained, "the call was not drained"
    item = {"rid": request_id, "st": 1, "sn": "flood", "ft": 1, "pr": True, "fc": "x" * 200}
    flood = whole(worker.head("POST", "/worker/feedback"), json.dumps([item] * FEEDBACK_AT_ONCE).encode())

    async def pour() -> None:
        while True:
            begun_at = time.perf_counter()
            await ask(working, flood, "feedback", 200)
            pause = FEEDBACK_AT_ONCE / FEEDBACK_PER_SECOND - (time.perf_counter() - begun_at)
            await asyncio.sleep(max(0.0, pause))

    with unread_follower(target, token, request_id):
        async with in_background(pour()):
            yield
    await working.close()


async def started(target: Target, service: Service, token: str) -> str:
    """A call that nobody has answered yet."""
    connection = await connect(target.root)
    head = head_of(target.root, "POST", f"{target.root.prefix}/client/requests", token)
    body = json.dumps({"method": f"{service.name}/echo", "params": None}).encode()
    found = await ask(connection, whole(head, body), "POST /client/requests", 202)
    await connection.close()
    return str(found["request_id"])


def unread_follower(target: Target, token: str, request_id: str) -> socket.socket:
    """A connection that follows a call's feedback and never reads a byte of it."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect((target.root.host, target.root.port))
    path = f"{target.root.prefix}/client/requests/{request_id}/feedback"
    opened.sendall(whole(head_of(target.root, "GET", path, token), b""))
    return opened


@asynccontextmanager
async def in_background(*what: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Let coroutines run while the block does; if one fails meanwhile, LoadFailed says why."""
    tasks = [asyncio.create_task(each) for each in what]
    try:
        yield
        for task in tasks:
            if task.done() and task.exception() is not None:
                raise LoadFailed(f"the neighbour failed: {task.exception()}")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def nobody(_target: Target) -> AsyncIterator[None]:
    """No neighbour."""
    yield


NEIGHBOURS = {"none": nobody, "10 results of 900 KiB/s": big_results, "1 000 feedback items/s": feedback_flood}


async def felt(target: Target, seconds: float) -> list[float]:
    """The seconds of calls of two clients to two eager workers, not as fast as they can."""
    service = await make_service(target)
    found: list[float] = []
    async with eager_workers([target], service, 2), callers(target, service, 2) as clients:
        until = time.perf_counter() + seconds

        async def go_on(client: Caller) -> None:
            await client.call()
            while time.perf_counter() < until:
                found.append(await client.call())
                await asyncio.sleep(PAUSE_SECONDS)

        await asyncio.gather(*(go_on(client) for client in clients))
    return found


async def measure(workshop: Workshop) -> Table:
    """Each neighbour on each database."""
    table = Table("neighbours", "calls of two clients, beside others who send much")
    seconds = workshop.lengths.neighbour_seconds
    for database in workshop.databases:
        async with workshop.hall(database) as target:
            p99: dict[str, float] = {}
            for name, neighbour in NEIGHBOURS.items():
                with workshop.attempt(f"neighbours, {database}, {name}"):
                    async with neighbour(target):
                        found = await felt(target, seconds)
                    p99[name] = p99_ms(found)
                    row: Row = {"server": database, "neighbour": name, "calls": len(found), "p50 ms": p50_ms(found)}
                    table.rows.append({**row, "p99": p99[name], "highest": max(found) * 1e3})
            alone = p99.pop("none", None)
            for name, found_ms in p99.items():
                limit = None if alone is None else max(TIMES * alone, AT_LEAST_MS)
                if limit is not None:
                    table.goals.append(Goal(f"{database}: other calls' p99 beside {name}", limit, found_ms, "ms"))
    table.notes.append(f"limit: {TIMES:.0f} × the p99 without a neighbour, or {AT_LEAST_MS:.0f} ms, whichever is more")
    return table
