"""A proxy in front of a hall that cuts, resets, delays and repeats at chosen points of a request or its answer."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Coroutine
from enum import Enum
from typing import Any

import httpx

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
LONGEST_DELAY_SECONDS = 0.3
START_SECONDS = 10.0


class Fault(Enum):
    """What happens to one request."""

    NONE = "nothing"
    CUT_BEFORE = "the client's connection is closed before the request reaches the server"
    RESET_BEFORE = "the client's connection is reset before the request reaches the server"
    HALF_REQUEST = "half of the request reaches the server, and both connections are closed"
    UNREAD_ANSWER = "the server's connection is reset with the answer unread"
    CUT_ANSWER = "the whole answer is read from the server, and the client's connection is closed instead"
    HALF_ANSWER = "half of the answer reaches the client"
    DELAY = "the answer comes late"
    DUPLICATE = "the request reaches the server twice, and the first answer the client"


class FaultProxy:
    """Listens on a port of its own and passes requests on to a server, each with a fault by the dice or with none."""

    def __init__(self, url: str, *, share: float, seed: int) -> None:
        target = httpx.URL(url)
        self._target = (target.host, target.port or 80)
        self._dice = random.Random(seed)
        self._faults = [fault for fault in Fault if fault is not Fault.NONE]
        self.share = share
        self.happened: Counter[Fault] = Counter()
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._ends: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        assert self._started.wait(START_SECONDS), "the proxy does not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join(START_SECONDS)
        self._loop.close()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._ends = asyncio.Event()
        clients: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._client(reader, writer))
            clients.add(task)
            task.add_done_callback(clients.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._ends.wait()
        server.close()
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    def _next_fault(self) -> Fault:
        fault = self._dice.choice(self._faults) if self._dice.random() < self.share else Fault.NONE
        self.happened[fault] += 1
        return fault

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client, with a connection to the server of its own."""
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while (request := await _message(reader)) is not None:
                fault = self._next_fault()
                if fault in (Fault.CUT_BEFORE, Fault.RESET_BEFORE):
                    _end(writer, reset=fault is Fault.RESET_BEFORE)
                    return
                if upstream is None:
                    upstream = await asyncio.open_connection(*self._target)
                if not await self._exchange(request, fault, reader, writer, *upstream):
                    return
        except OSError:
            pass
        finally:
            for each in (writer, upstream[1] if upstream else None):
                if each is not None:
                    await _close(each)

    async def _exchange(
        self,
        request: bytes,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> bool:
        """Pass one request on and its answer back; False once the connections are of no more use."""
        server.write(request[: len(request) // 2] if fault is Fault.HALF_REQUEST else request)
        await server.drain()
        if fault is Fault.HALF_REQUEST:
            return False
        if fault is Fault.UNREAD_ANSWER:
            server.transport.pause_reading()  # type: ignore[attr-defined]
            await asyncio.sleep(self._delay())
            _end(server, reset=True)
            return False
        answer = await _unless_left(reader, _message(answers))
        if answer is None or fault is Fault.CUT_ANSWER:
            return False
        if fault is Fault.DELAY:
            await asyncio.sleep(self._delay())
        if fault is Fault.DUPLICATE:
            server.write(request)
            if await _unless_left(reader, _message(answers)) is None:
                return False
        writer.write(answer[: len(answer) // 2] if fault is Fault.HALF_ANSWER else answer)
        await writer.drain()
        return fault is not Fault.HALF_ANSWER

    def _delay(self) -> float:
        return LONGEST_DELAY_SECONDS * self._dice.random()


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """A whole request or answer; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        found = CONTENT_LENGTH.search(head)
        return head + await reader.readexactly(int(found[1]) if found else 0)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def _unless_left(client: asyncio.StreamReader, answer: Coroutine[Any, Any, bytes | None]) -> bytes | None:
    """The answer; None if the client leaves before it comes."""
    coming = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(client.read(1))
    await asyncio.wait((coming, leaving), return_when=asyncio.FIRST_COMPLETED)
    for each in (coming, leaving):
        if not each.done():
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each
    return coming.result() if not coming.cancelled() else None


def _end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if reset:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
