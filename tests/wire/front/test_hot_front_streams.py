"""Streams of the application: what a reader does not read waits in the application, and not for ever."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from hiringhall.asgi.front_settings import FrontSettings
from tests.wire.front.stage import Client, eventually, staged

PIECE = b"x" * 60_000


class Flood:
    """An application whose answer never ends, and which counts what it got rid of."""

    def __init__(self) -> None:
        self.sent = 0
        self.ended = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for name in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{name}.complete"})
            return
        gone = asyncio.ensure_future(_until_gone(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not gone.done():
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            self.sent += len(PIECE)
            await asyncio.sleep(0)
        self.ended += 1


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ask(client: Client) -> None:
    await client.send(b"GET /flood HTTP/1.1\r\nHost: hall\r\n\r\n")


async def _full(flood: Flood) -> int:
    """Wait until the flood has come to a standstill; returns how far it got."""
    loop = asyncio.get_running_loop()
    seen, since = -1, loop.time()

    def stands_still() -> bool:
        nonlocal seen, since
        if flood.sent != seen:
            seen, since = flood.sent, loop.time()
        return flood.sent > 0 and loop.time() - since > 0.2

    await eventually(stands_still, "the flood to come to a standstill")
    return flood.sent


async def _pass(seconds: float) -> None:
    """Let time pass."""
    loop = asyncio.get_running_loop()
    over = loop.time() + seconds
    await eventually(lambda: loop.time() >= over, f"{seconds:g} s to pass")


async def test_a_reader_that_never_reads_is_cut_off() -> None:
    """A stream that nobody reads stops, and its connection is cut off after the time for that; the application hears
    of it, and others are served meanwhile."""
    flood = Flood()
    async with staged(FrontSettings(full_timeout_seconds=1.0), flood) as stage:
        client = await stage.connect()
        client.pause_reading()
        await _ask(client)
        assert await _full(flood) < 16_000_000
        other = await stage.connect()
        assert (await other.ask(b"POST /echo HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")).status == 200
        await eventually(lambda: flood.ended == 1, "the application to hear of it")


async def test_a_slow_reader_is_not_cut_off() -> None:
    """A reader that takes a little from time to time goes on being served."""
    flood = Flood()
    async with staged(FrontSettings(full_timeout_seconds=1.0), flood) as stage:
        client = await stage.connect()
        await _ask(client)
        await _full(flood)
        loop = asyncio.get_running_loop()
        until = loop.time() + 3.0
        while loop.time() < until:
            await client.reader.readexactly(100_000)
            await _pass(0.2)
        assert flood.ended == 0


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux limits how long a peer may be silent")
async def test_the_kernel_leaves_a_full_stream_alone() -> None:
    """A stream whose reader does not read for longer than the kernel waits for a dead peer lives on."""
    flood = Flood()
    settings = FrontSettings(full_timeout_seconds=30.0, user_timeout_seconds=1.0)
    async with staged(settings, flood) as stage:
        client = await stage.connect()
        await _ask(client)
        sent = await _full(flood)
        await _pass(3.0)
        while flood.sent == sent:
            async with asyncio.timeout(10):
                await client.reader.readexactly(100_000)
        assert flood.ended == 0
