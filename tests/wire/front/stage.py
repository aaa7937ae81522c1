"""A front with a few handlers and a small ASGI application behind it, and clients that speak raw HTTP to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any, NamedTuple, cast

from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.server import Address, Listener, serve
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Reply, Route
from tests.waiting import until_async

LIMIT_BYTES = 100_000
EMPTY = Reply(204)


class Answer(NamedTuple):
    """An answer as a client reads it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["error_code"])


class Handlers:
    """The router of the tests, and what its handlers saw."""

    def __init__(self) -> None:
        self.parked: list[Exchange] = []
        self.gone: list[Exchange] = []
        self.lost: list[str] = []
        self.seen: list[Exchange] = []
        self.answers_late = True
        """Parked exchanges are answered at the end."""

    def match(self, method: bytes, path: bytes) -> Route | None:
        name = path[1:].decode("ascii")
        if name not in {"echo", "park", "bug", "empty", "big", "late_bug", "forged"}:
            return None
        handler = self.wrong_method if method in {b"OPTIONS", b"DELETE"} else getattr(self, name)
        return Route(handler, LIMIT_BYTES)

    def wrong_method(self, exchange: Exchange) -> None:
        exchange.answer(refusal("method_not_allowed", "Use POST.", headers=((b"allow", b"POST"),)))

    def echo(self, exchange: Exchange) -> None:
        self.seen.append(exchange)
        exchange.answer(Reply(200, exchange.request.body or b"{}"), lambda: self.lost.append("echo"))

    def park(self, exchange: Exchange) -> None:
        exchange.when_gone = lambda: self.gone.append(exchange)
        self.parked.append(exchange)

    def empty(self, exchange: Exchange) -> None:
        exchange.answer(EMPTY)

    def big(self, exchange: Exchange) -> None:
        exchange.answer(Reply(200, b"1" * 50_000_000), lambda: self.lost.append("big"))

    def bug(self, exchange: Exchange) -> None:
        raise RuntimeError("the secret of the stack trace")

    def late_bug(self, exchange: Exchange) -> None:
        exchange.answer(Reply(200, b'"answered"'))
        raise RuntimeError("after the answer")

    def forged(self, exchange: Exchange) -> None:
        exchange.answer(Reply(200, b"{}", ((b"x-text", b"a\r\nset-cookie: b"),)))


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Echoes bodies, streams, waits for the end of a connection, talks over a WebSocket."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
    elif scope["path"] == "/early":
        await _answer(send, b"early")
    elif scope["path"] == "/stream":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    elif scope["path"] == "/forever":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    else:
        await _echo(receive, send)


async def _echo(receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        more = message["more_body"]
    await _answer(send, b"asgi:" + body)


async def _answer(send: Any, body: bytes) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))
        await self.writer.drain()

    async def answer(self, *, head_only: bool = False) -> Answer:
        """The next answer on the connection."""
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            assert len(headers) == len(lines), f"a header came twice: {head}"
            body = b""
            if "content-length" in headers and not head_only:
                body = await self.reader.readexactly(int(headers["content-length"]))
            elif headers.get("transfer-encoding") == "chunked":
                while size := int((await self.reader.readline()), 16):
                    body += await self.reader.readexactly(size)
                    await self.reader.readline()
                await self.reader.readline()
            return Answer(int(first.split()[1]), headers, body)

    async def ask(self, *data: bytes) -> Answer:
        await self.send(*data)
        return await self.answer()

    async def closed(self, *, within_seconds: float = 10.0) -> bytes:
        """Wait for the server to close; returns what came before."""
        async with asyncio.timeout(within_seconds):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def pause_reading(self) -> None:
        """Take nothing more from the socket."""
        cast("asyncio.Transport", self.writer.transport).pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        cast("asyncio.Transport", self.writer.transport).resume_reading()

    def reset(self) -> None:
        """End the connection with a reset."""
        connection = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()


class Stage:
    """A running front."""

    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers
        self.stop = asyncio.Event()
        self.address = Address("", 0)
        self.events: list[str] = []
        self.clients: list[Client] = []
        self.ready = asyncio.Event()
        self.running: asyncio.Task[None] | None = None

    async def ended(self, *, within_seconds: float = 5.0) -> None:
        """Wait for the server to end."""
        assert self.running is not None
        async with asyncio.timeout(within_seconds):
            await self.running

    async def connect(self) -> Client:
        client = Client(*await asyncio.open_connection(self.address.host, self.address.port))
        self.clients.append(client)
        return client

    async def parked(self, count: int = 1) -> list[Exchange]:
        """Wait until so many exchanges are parked."""

        async def there() -> bool:
            return len(self.handlers.parked) >= count

        await until_async(there, waiting_for=f"{count} parked exchanges")
        return self.handlers.parked

    def on_ready(self, addresses: Any) -> None:
        self.address = addresses[0]
        self.ready.set()

    def on_drain(self) -> None:
        self.events.append("drain")
        for exchange in self.handlers.parked:
            if self.handlers.answers_late and not exchange.gone:
                exchange.answer(EMPTY)


@contextlib.asynccontextmanager
async def staged(
    settings: FrontSettings, app: Any = application, *, router: Any = None, **serving: Any
) -> AsyncIterator[Stage]:
    """A front on a free port, stopped at the end."""
    handlers = Handlers()
    stage = Stage(handlers)

    async def run() -> None:
        await serve(
            [Listener(app, router or handlers, "127.0.0.1", 0)],
            settings=settings,
            on_ready=stage.on_ready,
            on_drain_start=lambda: stage.events.append("drain start"),
            on_drain=stage.on_drain,
            stop=stage.stop,
            **serving,
        )
        stage.events.append("ended")

    stage.running = asyncio.create_task(run())
    await eventually(lambda: stage.ready.is_set() or stage.running.done(), "the front to be ready")
    try:
        yield stage
    finally:
        for client in stage.clients:
            client.close()
        stage.stop.set()
        await stage.running


async def eventually(condition: Any, waiting_for: str) -> None:
    """Wait until a plain condition holds."""

    async def holds() -> bool:
        return bool(condition())

    await until_async(holds, waiting_for=waiting_for)


def post(path: str, body: bytes = b"", *headers: str, version: str = "1.1") -> bytes:
    """The bytes of a request."""
    lines = [f"POST {path} HTTP/{version}", "Host: hall", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
