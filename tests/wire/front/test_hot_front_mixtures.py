"""Random mixtures of requests on one connection, in random pieces, answered sooner or later."""

from __future__ import annotations

import asyncio
import gc
import random

import pytest

from hiringhall.asgi.hot_front import HotFront
from hiringhall.wire.exchange import Exchange, Reply
from tests.wire.front.stage import Client, Stage, eventually, post

ROUNDS = 25


def chunked(path: str, body: bytes, dice: random.Random) -> bytes:
    data = f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    while body:
        size = min(len(body), dice.choice((1, 10, 5000)))
        data += b"%x\r\n%b\r\n" % (size, body[:size])
        body = body[size:]
    return data + b"0\r\n\r\n"


def mixture(dice: random.Random) -> tuple[list[bytes], bytes]:
    """What must be answered, and the bytes that ask for it."""
    expected, asked = [], b""
    for number in range(dice.randrange(1, 12)):
        body = b"%d:" % number + b"x" * dice.choice((0, 5, 4090, 9000, 70_000))
        path = dice.choice(("/echo", "/park", "/asgi"))
        if dice.random() < 0.1:
            body = b"y" * 100_001
            expected.append(b"asgi:" + body if path == "/asgi" else b"too large")
        else:
            expected.append(b"asgi:" + body if path == "/asgi" else body)
        wishes = ("Connection: Upgrade", "Upgrade: h2c") if dice.random() < 0.1 else ()
        asked += chunked(path, body, dice) if dice.random() < 0.3 else post(path, body, *wishes)
    return expected, asked


async def next_turn() -> None:
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    await turn


async def talk(client: Client, expected: list[bytes], asked: bytes, dice: random.Random) -> None:
    async def send() -> None:
        rest = asked
        while rest:
            size = dice.choice((1, 17, 300, 4096, 60_000, 1_000_000))
            await client.send(rest[:size])
            rest = rest[size:]
            if dice.random() < 0.5:
                await next_turn()

    sending = asyncio.create_task(send())
    for body in expected:
        answer = await client.answer()
        assert answer.body == body or (body == b"too large" and answer.status == 413)
    await sending


@pytest.mark.parametrize("seed", range(4))
async def test_mixtures_are_answered_in_order(stage: Stage, seed: int) -> None:
    """Whatever is mixed, however it is cut, every request gets its own answer, in order."""
    dice = random.Random(seed)
    loop = asyncio.get_running_loop()

    def park(exchange: Exchange) -> None:
        delay = dice.choice((0, 0, 0.001, 0.01))
        loop.call_later(delay, exchange.answer, Reply(200, exchange.request.body))

    stage.handlers.park = park  # type: ignore[method-assign]
    client = await stage.connect()
    for _ in range(ROUNDS):
        expected, asked = mixture(dice)
        await talk(client, expected, asked, dice)


def fronts() -> list[HotFront]:
    return [thing for thing in gc.get_objects() if isinstance(thing, HotFront)]


STATES = {
    "fresh": b"",
    "idle": post("/echo"),
    "idle after ASGI": post("/asgi"),
    "parked": post("/park"),
    "parked with more behind": post("/park") + post("/echo") + post("/asgi") + post("/echo", b"x" * 50_000),
    "half a head": b"POST /ec",
    "half a body": post("/echo", b"abc")[:-1],
    "half an ASGI body": post("/asgi", b"abc")[:-1],
    "refused": b"garbage\r\n\r\n",
}


@pytest.mark.parametrize("before", STATES.values(), ids=STATES.keys())
async def test_ended_connections_leave_no_garbage(stage: Stage, before: bytes) -> None:
    """A connection that ended is freed at once, in whatever state it was, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        client = await stage.connect()
        await client.send(before)
        other = await stage.connect()
        assert (await other.ask(post("/echo"))).status == 200
        assert len(fronts()) == 2
        other.close()
        client.close()
        stage.handlers.seen.clear()
        stage.handlers.parked.clear()

        def freed() -> bool:
            stage.handlers.gone.clear()
            return not fronts()

        await eventually(freed, "the connections to be freed")
    finally:
        gc.enable()
