"""What a client feels of a call to an idle worker: eager, lazy, and behind another replica."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bench.calls import SMALL_RESULT, Caller, callers, decode_messages, eager_workers
from bench.client import Connection, connect, whole
from bench.figures import p50_ms, p99_ms
from bench.load import LoadFailed
from bench.report import Goal, Row, Table
from bench.services import Worker, admit, make_service
from bench.targets import Target
from bench.workshop import Workshop

PAUSE_SECONDS = 0.02
GOALS = {("sqlite", "eager"): (5.0, 25.0), ("sqlite", "lazy"): (15.0, None)}

Clients = Callable[[], AbstractAsyncContextManager[list[Caller]]]


@dataclass(frozen=True)
class Way:
    """A server, what kind of worker waits there, and the client."""

    server: str
    worker: str
    clients: Clients


@asynccontextmanager
async def by_eager(worker_at: Target, client_at: Target) -> AsyncIterator[list[Caller]]:
    """One client, one idle eager worker, perhaps each at a replica of its own."""
    service = await make_service(client_at)
    async with eager_workers([worker_at], service, 1), callers(client_at, service, 1) as found:
        yield found


class LazyWorker:
    """Listens for the probe, acknowledges it, drains without waiting until nothing is left, and answers."""

    def __init__(self, draining: Connection) -> None:
        self.draining = draining
        self.worker: Worker | None = None
        self.listener: asyncio.Server | None = None
        self.problem: str | None = None

    async def listen(self) -> int:
        """Begin to listen; the port."""
        self.listener = await asyncio.start_server(self.probed, "127.0.0.1", 0)
        port: int = self.listener.sockets[0].getsockname()[1]
        return port

    async def probed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One probe: the packet, the acknowledgement, and what it is about."""
        packet = json.loads(await reader.readuntil(b"}}"))
        writer.write(f"ACK:{packet['PacketId']}".encode())
        await writer.drain()
        writer.close()
        try:
            await self.work_off()
        except (LoadFailed, ConnectionError) as problem:
            self.problem = str(problem)

    async def work_off(self) -> None:
        """Drain and answer until the drain is empty."""
        assert self.worker is not None
        drain = whole(self.worker.head("GET", "/worker/messages"), b"")
        head = self.worker.head("POST", "/worker/response")
        while True:
            answer = await self.draining.call(drain)
            if answer.status != 200:
                raise LoadFailed(f"drain: {answer.status} {answer.body[:200]!r}")
            messages = decode_messages(answer.body)
            if not messages:
                return
            for message in messages:
                body = b'{"request_id":"%b","status":"success","error_text":null,"result":%b}' % (
                    message.request_id.encode(), SMALL_RESULT,
                )  # fmt: skip
                told = await self.draining.call(whole(head, body))
                if told.status != 200:
                    raise LoadFailed(f"response: {told.status} {told.body[:200]!r}")


@asynccontextmanager
async def by_lazy(target: Target) -> AsyncIterator[list[Caller]]:
    """One client, one idle lazy worker."""
    service = await make_service(target)
    lazy = LazyWorker(await connect(target.root))
    port = await lazy.listen()
    lazy.worker = await admit(
        target, service, lazy.draining, "lazy", run_mode="Lazy", ip="127.0.0.1", port=port
    )  # fmt: skip
    assert lazy.listener is not None
    async with lazy.listener, callers(target, service, 1) as found:
        yield found
    await lazy.draining.close()
    if lazy.problem is not None:
        raise LoadFailed(f"the lazy worker: {lazy.problem}")


async def felt(clients: Clients, rounds: int) -> list[float]:
    """The seconds of one call after another, with pauses in which the worker is idle again."""
    async with clients() as (client,):
        await client.call()
        found = []
        for _ in range(rounds):
            await asyncio.sleep(PAUSE_SECONDS * (1 + random.random()))
            found.append(await client.call())
        return found


async def measure(workshop: Workshop) -> Table:
    """Each kind of worker on each database, and across two replicas."""
    table = Table("call_latency", "from a client's call to its answer, with one idle worker")
    async with AsyncExitStack() as stack:
        ways = []
        for database in workshop.databases:
            target = await stack.enter_async_context(workshop.hall(database))
            ways.append(Way(database, "eager", lambda target=target: by_eager(target, target)))  # type: ignore[misc]
            ways.append(Way(database, "lazy", lambda target=target: by_lazy(target)))  # type: ignore[misc]
        if "postgres" in workshop.databases:
            one, other = await stack.enter_async_context(workshop.halls("postgres", 2))
            ways.append(Way("2 × postgres", "eager, at the other", lambda: by_eager(one, other)))
        for way in ways:
            with workshop.attempt(f"call_latency, {way.server}, {way.worker}"):
                seconds = await felt(way.clients, workshop.lengths.wake_rounds)
                row: Row = {
                    "server": way.server,
                    "worker": way.worker,
                    "calls": len(seconds),
                    "p50 ms": p50_ms(seconds),
                    "p99": p99_ms(seconds),
                    "highest": max(seconds) * 1e3,
                }
                table.rows.append(row)
                p50, p99 = GOALS.get((way.server, way.worker), (None, None))
                if p50 is not None:
                    table.goals.append(Goal(f"{way.server}, {way.worker}: p50", p50, p50_ms(seconds), "ms"))
                if p99 is not None:
                    table.goals.append(Goal(f"{way.server}, {way.worker}: p99", p99, p99_ms(seconds), "ms"))
    table.notes.append("each call starts 20 to 40 ms after the last one's answer; the lazy worker's probe is included")
    return table
