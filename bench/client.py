"""A cheap HTTP/1.1 client: one keep-alive connection, one request in flight, answers by callback."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import NamedTuple, cast
from urllib.parse import urlsplit

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)

OnAnswer = Callable[[int, bytes], None]


class Address(NamedTuple):
    """Where a server listens, and the prefix in front of its worker routes (empty, or `/whilly`)."""

    host: str
    port: int
    prefix: str

    @classmethod
    def of(cls, url: str) -> Address:
        """The address in `url`; ValueError names what is wrong with it."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"{url!r} is no address to load: give http://HOST:PORT, and its path prefix")
        return cls(parts.hostname, parts.port or 80, parts.path.rstrip("/"))

    def at(self, prefix: str) -> Address:
        """The same server under another prefix."""
        return self._replace(prefix=prefix)


class Answer(NamedTuple):
    """A status and a whole body."""

    status: int
    body: bytes


class Malformed(Exception):
    """The server sent something that is not an HTTP/1.1 answer."""


def head_of(address: Address, method: str, path: str, token: str | None) -> bytes:
    """A request's head up to and with `Content-Length: `; `whole` adds the number, a blank line and the body."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address.host}:{address.port}"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    lines += ["Content-Type: application/json", "Content-Length: "]
    return "\r\n".join(lines).encode()


def whole(head: bytes, body: bytes) -> bytes:
    """The bytes of one request."""
    return b"%b%d\r\n\r\n%b" % (head, len(body), body)


def parse(data: bytes) -> tuple[Answer, bytes] | None:
    """The first answer in `data` and what follows it; None while it is incomplete."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    if not data.startswith(b"HTTP/1.1 "):
        raise Malformed(f"not an HTTP/1.1 answer: {data[:60]!r}")
    status = int(data[9:12])
    start = end + 4
    if status == 204 or status == 304:
        return Answer(status, b""), data[start:]
    found = CONTENT_LENGTH.search(data, 0, end)
    if found is None:
        if CHUNKED.search(data, 0, end):
            return parse_chunks(status, data, start)
        raise Malformed("the answer has neither Content-Length nor chunks")
    stop = start + int(found[1])
    if len(data) < stop:
        return None
    return Answer(status, data[start:stop]), data[stop:]


def parse_chunks(status: int, data: bytes, start: int) -> tuple[Answer, bytes] | None:
    """A chunked body, joined (operators' answers may be streamed)."""
    parts: list[bytes] = []
    while True:
        line = data.find(b"\r\n", start)
        if line < 0:
            return None
        size = int(data[start:line].split(b";")[0], 16)
        stop = line + 2 + size
        if len(data) < stop + 2:
            return None
        if size == 0:
            return Answer(status, b"".join(parts)), data[stop + 2 :]
        parts.append(data[line + 2 : stop])
        start = stop + 2


class Connection(asyncio.Protocol):
    """One connection. `send` gives the answer to a callback, `call` to a coroutine."""

    __slots__ = ("buffer", "lost", "on_answer", "on_close", "on_loss", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.buffer = b""
        self.lost = False
        self.on_answer: OnAnswer | None = None
        self.on_loss: Callable[[str], None] | None = None
        self.on_close: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The event loop hands over the socket."""
        # uvloop's transport is one in all but its base class.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived: deliver the answer as soon as it is whole."""
        if self.buffer:
            data = self.buffer + data
        try:
            parsed = parse(data)
        except (Malformed, ValueError) as error:
            self.fail(str(error))
            self.transport.abort()
            return
        if parsed is None:
            self.buffer = data
            return
        answer, self.buffer = parsed
        on_answer, self.on_answer = self.on_answer, None
        if on_answer is not None:
            on_answer(answer.status, answer.body)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone: whoever waits for an answer hears it."""
        self.lost = True
        if self.on_close is not None and not self.on_close.done():
            self.on_close.set_result(None)
        self.fail(f"connection lost: {error}" if error else "the server closed the connection")

    def fail(self, why: str) -> None:
        """Tell the waiting side, once."""
        if self.on_answer is not None and self.on_loss is not None:
            self.on_answer = None
            self.on_loss(why)

    def send(self, request: bytes, on_answer: OnAnswer) -> None:
        """Send one request; `on_loss` is called instead of `on_answer` if no answer can come."""
        self.on_answer = on_answer
        if self.lost:
            self.fail("the connection is gone")
        else:
            self.transport.write(request)

    async def call(self, request: bytes) -> Answer:
        """Send one request and wait for its answer; ConnectionError if none comes."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answered(status: int, body: bytes) -> None:
            if not future.done():
                future.set_result(Answer(status, body))

        def lost(why: str) -> None:
            if not future.done():
                future.set_exception(ConnectionError(why))

        self.on_loss = lost
        self.send(request, answered)
        return await future

    async def close(self) -> None:
        """Close, and return when the socket is closed; nobody else is told."""
        self.on_answer = None
        if not self.lost:
            self.on_close = asyncio.get_running_loop().create_future()
            self.transport.close()
            await self.on_close


async def connect(address: Address, source_host: str | None = None) -> Connection:
    """Open a connection, from `source_host` if the ports of one source address would run short."""
    local = (source_host, 0) if source_host else None
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, address.host, address.port, local_addr=local)
    return connection
