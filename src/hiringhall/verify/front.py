"""The hall's socket: requests are read as they come, in any portions, and answers leave as they are given."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Final, cast

from hiringhall.verify.heard import Reply

LARGEST_BYTES: Final = 16 * 1024 * 1024


class Malformed(Exception):
    """What arrives is no HTTP/1.1."""


class Arrived:
    """One request as it was read."""

    __slots__ = ("body", "headers", "method", "target")

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body


class Line(asyncio.Protocol):
    """One connection. `gone` says that the peer no longer waits for an answer."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._buffer = bytearray()
        self._changed = asyncio.Event()
        self._lost = False
        self._ended = False
        self._transport: asyncio.Transport | None = None

    @property
    def gone(self) -> bool:
        """Whether the peer has closed its side or the whole connection."""
        return self._lost or self._ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        self._transport = cast("asyncio.Transport", transport)
        self._front.lines.add(self)
        self._front.spawn(self._serve())

    def data_received(self, data: bytes) -> None:
        """Take in a portion."""
        self._buffer += data
        self._changed.set()

    def eof_received(self) -> bool:
        """The peer sends no more; what it is owed may still be sent."""
        self._ended = True
        self._changed.set()
        self._front.when_gone()
        return True

    def connection_lost(self, _exc: Exception | None) -> None:
        """The connection is over."""
        self._lost = True
        self._changed.set()
        self._front.lines.discard(self)
        self._front.when_gone()

    async def send(self, data: bytes) -> None:
        """Send, as far as there is somebody to send to."""
        if self._transport is not None and not self._lost:
            self._transport.write(data)

    def close(self) -> None:
        """End the connection in good order."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """Break the connection."""
        if self._transport is None or self._lost:
            return
        found = self._transport.get_extra_info("socket")
        if found is not None:
            with contextlib.suppress(OSError):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    async def wait_gone(self, seconds: float) -> None:
        """Wait until the peer has gone, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.gone:
                    await self._more()

    async def _serve(self) -> None:
        try:
            while (arrived := await self._request()) is not None:
                if not await self._front.answer(arrived, self):
                    break
        except Malformed as problem:
            self._front.malformed(str(problem))
        self.close()

    async def _more(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _until(self, mark: bytes) -> bytes | None:
        while (end := self._buffer.find(mark)) < 0:
            if self.gone:
                return None
            if len(self._buffer) > LARGEST_BYTES:
                raise Malformed("a line or head without an end")
            await self._more()
        found = bytes(self._buffer[: end + len(mark)])
        del self._buffer[: end + len(mark)]
        return found

    async def _exactly(self, count: int) -> bytes | None:
        while len(self._buffer) < count:
            if self.gone:
                return None
            await self._more()
        found = bytes(self._buffer[:count])
        del self._buffer[:count]
        return found

    async def _request(self) -> Arrived | None:
        head = await self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Malformed(f"{first!r} is no request line")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip():
                raise Malformed(f"{line!r} is no header")
            headers[name.lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await self._body(headers)
        return None if body is None else Arrived(words[0], words[1], headers, body)

    async def _body(self, headers: dict[str, str]) -> bytes | None:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await self._chunks()
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BYTES:
            raise Malformed(f"Content-Length: {length}")
        return await self._exactly(int(length))

    async def _chunks(self) -> bytes | None:
        whole = b""
        while (line := await self._until(b"\r\n")) is not None:
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise Malformed(f"{line!r} is no size of a chunk") from None
            chunk = await self._exactly(size + 2)
            if chunk is None:
                return None
            if size == 0:
                return whole
            whole += chunk[:-2]
        return None


class Front:
    """A listener on loopback that keeps its port over restarts."""

    def __init__(
        self,
        answer: Callable[[Arrived, Line], Awaitable[bool]],
        malformed: Callable[[str], None],
        when_gone: Callable[[], None],
    ) -> None:
        self.answer = answer
        self.malformed = malformed
        self.when_gone = when_gone
        self.lines: set[Line] = set()
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Line(self), "127.0.0.1", self.port, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """Stop listening and break every connection, as a killed process does."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for line in list(self.lines):
            line.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def spawn(self, work: Awaitable[None]) -> None:
        """Run something until it ends, or the front is killed."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.malformed(f"this program has a bug: {error!r}")


def render(reply: Reply, framing: str = "") -> bytes:
    """An answer as bytes; its end is told by its length, by `chunked`, or (`until_close`) by that of the connection."""
    names = {name.lower() for name, _ in reply.headers}
    lines = [f"HTTP/1.1 {reply.status} -", *(f"{name}: {value}" for name, value in reply.headers)]
    body = reply.body
    if framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
        body = b"".join(b"%x;part=%d\r\n%c\r\n" % (1, at, body[at]) for at in range(len(body))) + b"0\r\n\r\n"
    elif framing == "until_close":
        lines.append("Connection: close")
    elif reply.status != 204 and "content-length" not in names:
        lines.append(f"Content-Length: {len(body)}")
    if body and "content-type" not in names:
        lines.append("Content-Type: application/json")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
