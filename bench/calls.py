"""Eager workers that answer at once, and clients that call and wait: round trips, and what was measured of them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from bench.client import Connection, connect, head_of, whole
from bench.load import LoadFailed
from bench.processes import CpuWatch, Spent
from bench.services import METHOD, Service, admit, client_token
from bench.targets import Target

DRAIN_WAIT_SECONDS = 55
ANSWERS_AT_ONCE = 8
PARAMS = b'{"name":"kiwi","number":3544790567247868102}'
SMALL_RESULT = b'{"greeting":"hello, kiwi","number":3544790567247868102}'


class Message(msgspec.Struct):
    """The members of a drained message that the answer needs."""

    request_id: str


decode_messages = msgspec.json.Decoder(list[Message]).decode


class EagerWorker:
    """Drains over one connection and answers over several, each message as soon as one is free."""

    def __init__(self, draining: Connection, answering: Sequence[Connection], drain: bytes, answer: bytes) -> None:
        self.draining = draining
        self.free = list(answering)
        self.all = [draining, *answering]
        self.drain = drain
        self.answer_head = answer
        self.result = SMALL_RESULT
        self.waiting: deque[str] = deque()
        self.problem: str | None = None
        self.stopping = False
        for each in self.all:
            each.on_loss = self.lost

    def start(self) -> None:
        """Park the first drain."""
        self.draining.send(self.drain, self.drained)

    def lost(self, why: str) -> None:
        """A connection broke."""
        if not self.stopping:
            self.problem = why

    def drained(self, status: int, body: bytes) -> None:
        """Answer what came, and park again."""
        if status != 200:
            self.problem = f"drain: {status} {body[:200]!r}"
            return
        self.waiting.extend(message.request_id for message in decode_messages(body))
        if not self.stopping:
            self.draining.send(self.drain, self.drained)
        while self.free and self.waiting:
            self.answer_next(self.free.pop())

    def answer_next(self, connection: Connection) -> None:
        """Answer the oldest message over a free connection."""
        request_id = self.waiting.popleft()
        body = b'{"request_id":"%b","status":"success","error_text":null,"result":%b}' % (
            request_id.encode(), self.result,
        )  # fmt: skip

        def answered(status: int, told: bytes) -> None:
            if status != 200:
                self.problem = f"response: {status} {told[:200]!r}"
            if self.waiting:
                self.answer_next(connection)
            else:
                self.free.append(connection)

        connection.send(whole(self.answer_head, body), answered)

    async def close(self) -> None:
        """Let go of all connections."""
        self.stopping = True
        await asyncio.gather(*(each.close() for each in self.all))


@asynccontextmanager
async def eager_workers(targets: Sequence[Target], service: Service, count: int) -> AsyncIterator[list[EagerWorker]]:
    """`count` eager workers, dealt out over the targets, parked while the block runs."""
    workers = []
    for number in range(count):
        target = targets[number % len(targets)]
        draining = await connect(target.root)
        answering = [await connect(target.root) for _ in range(ANSWERS_AT_ONCE)]
        admitted = await admit(target, service, draining, f"bench-{number}")
        drain = whole(admitted.head("GET", f"/worker/messages?wait={DRAIN_WAIT_SECONDS}"), b"")
        worker = EagerWorker(draining, answering, drain, admitted.head("POST", "/worker/response"))
        worker.start()
        workers.append(worker)
    try:
        yield workers
    finally:
        for worker in workers:
            await worker.close()
    problems = [worker.problem for worker in workers if worker.problem is not None]
    if problems:
        raise LoadFailed(f"a worker of {service.name}: {problems[0]}")


class Caller:
    """One client: calls, waits for the outcome, calls again."""

    def __init__(self, connection: Connection, target: Target, token: str, service: str, method: str = METHOD) -> None:
        self.connection = connection
        head = head_of(target.root, "POST", f"{target.root.prefix}/client/requests", token)
        body = b'{"method":"%b/%b","params":%b,"wait":55}' % (service.encode(), method.encode(), PARAMS)
        self.request = whole(head, body)

    async def call(self) -> float:
        """The seconds from asking to the outcome; LoadFailed if it is not a success."""
        asked_at = time.perf_counter()
        answer = await self.connection.call(self.request)
        if answer.status != 200 or b'"success"' not in answer.body:
            raise LoadFailed(f"call: {answer.status} {answer.body[:300]!r}")
        return time.perf_counter() - asked_at


@asynccontextmanager
async def callers(target: Target, service: Service, count: int) -> AsyncIterator[list[Caller]]:
    """`count` clients with a connection each while the block runs."""
    token = await client_token(target, service)
    connections = [await connect(target.root) for _ in range(count)]
    try:
        yield [Caller(each, target, token, service.name) for each in connections]
    finally:
        await asyncio.gather(*(each.close() for each in connections))


@dataclass
class Measured:
    """One round of calls."""

    spent: Spent
    seconds: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Finished calls per second."""
        return len(self.seconds) / self.spent.elapsed_seconds

    @property
    def server_us(self) -> float:
        """The server's CPU per call, in microseconds."""
        return 1e6 * self.spent.server_seconds / len(self.seconds)

    @property
    def database_us(self) -> float:
        """The database's CPU per call, in microseconds."""
        return 1e6 * self.spent.database_seconds / len(self.seconds)


async def run_calls(targets: Sequence[Target], clients: Sequence[Caller], seconds: float, warm_up: float) -> Measured:
    """Let every client call as fast as it is answered; the warm-up is not counted."""
    found: list[float] = []
    until = time.perf_counter() + warm_up
    measuring_until = until + seconds

    async def go_on(client: Caller) -> None:
        while time.perf_counter() < until:
            await client.call()
        await begun.wait()
        while time.perf_counter() < measuring_until:
            found.append(await client.call())

    begun = asyncio.Event()
    running = [asyncio.create_task(go_on(client)) for client in clients]
    try:
        await asyncio.sleep(max(0.0, until - time.perf_counter()))
        watch = CpuWatch(tuple(pid for each in targets for pid in each.server_pids), targets[0].database_pid)
        begun.set()
        await asyncio.gather(*running)
        return Measured(watch.spent(), found)
    finally:
        for each in running:
            each.cancel()
