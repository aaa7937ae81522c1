"""Peers that leave before the answer, and answers that do not arrive."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from hiringhall.wire.exchange import Reply
from tests.wire.front.stage import Client, Stage, eventually, post


def by_end(client: Client) -> None:
    client.close()


def by_half_end(client: Client) -> None:
    client.writer.write_eof()


def by_reset(client: Client) -> None:
    client.reset()


LEAVINGS = [by_end, by_half_end, by_reset]


@pytest.mark.parametrize("leave", LEAVINGS)
async def test_peer_that_leaves_while_parked(stage: Stage, leave: object) -> None:
    """An exchange whose peer ends, half ends or resets the connection is gone, once; a later answer is lost."""
    client = await stage.connect()
    await client.send(post("/park"))
    [exchange] = await stage.parked()
    assert not exchange.gone
    leave(client)  # type: ignore[operator]
    await eventually(lambda: stage.handlers.gone, "the peer to be noticed gone")
    assert exchange.gone
    lost = asyncio.Event()
    exchange.answer(Reply(200, b"1"), lost.set)
    assert not lost.is_set(), "it is called later, not from within the answer"
    async with asyncio.timeout(5):
        await lost.wait()
    assert stage.handlers.gone == [exchange]


async def test_peer_that_leaves_with_requests_behind(stage: Stage) -> None:
    """Requests behind a parked one whose peer leaves are never begun."""
    client = await stage.connect()
    await client.send(post("/park"), post("/echo"), post("/echo"), post("/asgi", b"x" * 20_000))
    await stage.parked()
    client.close()
    await eventually(lambda: stage.handlers.gone, "the peer to be noticed gone")
    assert not stage.handlers.seen


async def park_and_answer(stage: Stage, body: bytes = b"1") -> tuple[Client, asyncio.Event]:
    client = await stage.connect()
    count = len(stage.handlers.parked)
    await client.send(post("/park"))
    exchange = (await stage.parked(count + 1))[-1]
    lost = asyncio.Event()
    exchange.answer(Reply(200, body), lost.set)
    return client, lost


async def test_reset_after_the_answer_is_a_loss(stage: Stage) -> None:
    """A connection reset before the next request on it lost its answer."""
    client, lost = await park_and_answer(stage)
    client.reset()
    async with asyncio.timeout(5):
        await lost.wait()
    assert not stage.handlers.gone


async def test_end_after_the_answer_is_no_loss(stage: Stage) -> None:
    """A client that has its answer and ends the connection lost nothing."""
    client, lost = await park_and_answer(stage)
    assert (await client.answer()).body == b"1"
    connection = client.writer.get_extra_info("socket").dup()
    client.close()
    with connection:
        connection.shutdown(socket.SHUT_WR)
        await eventually(lambda: ended(connection), "the front to close")
    assert not lost.is_set()


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False


async def test_many_answers_lost_together(stage: Stage) -> None:
    """However many pipelined requests were answered before a reset, each hears that its answer was lost."""
    client = await stage.connect()
    count = sys.getrecursionlimit() * 3 // 5
    await client.send(post("/park") * count)
    heard: list[int] = []
    for place in range(count):
        exchange = (await stage.parked(place + 1))[-1]
        exchange.answer(Reply(200, b"1"), partial(heard.append, place))
    client.reset()
    await eventually(lambda: len(heard) == count, "every loss to be told")
    assert heard == list(range(count))


async def test_next_request_proves_the_answer(stage: Stage) -> None:
    """Once the next request has come, the answer before it is known to have arrived, whatever follows."""
    client, lost = await park_and_answer(stage)
    await client.answer()
    await client.send(post("/park"))
    await stage.parked(2)
    client.reset()
    await eventually(lambda: stage.handlers.gone, "the reset to be noticed")
    assert not lost.is_set()


async def test_answer_to_a_closed_socket_is_a_loss(stage: Stage) -> None:
    """A client that left just before the answer, unnoticed yet, lost it."""
    client = await stage.connect()
    await client.send(post("/park"))
    [exchange] = await stage.parked()
    lost = asyncio.Event()
    connection = client.writer.get_extra_info("socket").dup()
    client.pause_reading()
    client.close()
    await eventually(lambda: client.writer.transport.get_extra_info("socket").fileno() == -1, "the client to close")
    connection.close()  # the end of the connection leaves now; the front has had no turn to read it
    exchange.answer(Reply(200, b"1"), lost.set)
    async with asyncio.timeout(5):
        await lost.wait()


async def test_reader_that_never_reads(stage: Stage) -> None:
    """An answer that its reader takes only in part before it leaves is lost."""
    for leave in LEAVINGS:
        client = await stage.connect()
        client.pause_reading()
        stage.handlers.lost.clear()
        await client.send(post("/big"))
        await client.send(post("/echo"))
        leave(client)
        await eventually(lambda: "big" in stage.handlers.lost, f"the loss {leave.__name__}")
        assert stage.handlers.lost.count("big") == 1
        client.writer.transport.abort()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has TCP_USER_TIMEOUT")
async def test_reader_that_stays_and_takes_nothing(stages: Callable[..., Awaitable[Stage]]) -> None:
    """An answer of which nothing more is taken for the user timeout is lost, though the peer is still there."""
    stage = await stages(user_timeout_seconds=0.5)
    client = await stage.connect()
    client.pause_reading()
    await client.send(post("/big"))
    await eventually(lambda: stage.handlers.lost == ["big"], "the loss")
    client.writer.transport.abort()


async def test_reader_that_does_not_read_is_not_served_more(stage: Stage) -> None:
    """While an answer is stuck, requests behind it are not begun, so that answers cannot pile up."""
    client = await stage.connect()
    client.pause_reading()
    await client.send(post("/big"))
    for _ in range(20):
        await client.send(post("/echo", b"1"))
    other = await stage.connect()
    assert (await other.ask(post("/echo"))).status == 200
    assert len(stage.handlers.seen) == 1
    client.resume_reading()
    assert len((await client.answer()).body) == 50_000_000
    for _ in range(20):
        assert (await client.answer()).body == b"1"


async def test_application_sees_a_disconnect(stage: Stage) -> None:
    """The application hears of a peer that leaves while it streams."""
    client = await stage.connect()
    await client.send(post("/forever"))
    assert b"200 OK" in await client.reader.readuntil(b"begun")
    client.close()
    tasks = {task for task in asyncio.all_tasks() if "run_asgi" in repr(task)}
    assert tasks
    done, pending = await asyncio.wait(tasks, timeout=5)
    assert done
    assert not pending
