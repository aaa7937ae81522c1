"""The same handlers behind a plain ASGI server, and the limit on bodies of ASGI applications."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.limits import BodyLimit
from hiringhall.asgi.plain import PlainFront
from hiringhall.wire.exchange import Reply
from tests.wire.front.stage import LIMIT_BYTES, Handlers, Stage, application, eventually, post, staged

MEBIBYTE = 1024 * 1024


class Nothing:
    """A router that leaves everything to the application."""

    def match(self, method: bytes, path: bytes) -> None:
        return None


@pytest.fixture
async def plain() -> AsyncIterator[Stage]:
    """The handlers behind the plain front."""
    handlers = Handlers()
    async with staged(FrontSettings(), PlainFront(handlers, application), router=Nothing()) as stage:
        stage.handlers = handlers
        yield stage


async def test_answers_are_the_hot_fronts(plain: Stage) -> None:
    """Handlers get the same request and send the same answer, other paths go to the application."""
    client = await plain.connect()
    answer = await client.ask(post("/echo?x=1", b"[1]", "X-Request-Id: r-1"))
    assert (answer.status, answer.body) == (200, b"[1]")
    assert answer.headers["x-request-id"] == "r-1"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    request = plain.handlers.seen[0].request
    assert (request.method, request.path, request.query) == (b"POST", b"/echo", b"x=1")
    assert (await client.ask(post("/empty"))).status == 204
    assert (await client.ask(post("/asgi", b"1"))).body == b"asgi:1"
    assert (await client.ask(post("/bug"))).code == "internal_error"
    await client.send(b"HEAD /echo HTTP/1.1\r\n\r\n")
    assert (await client.answer(head_only=True)).headers["content-length"] == "2"


async def test_parked_exchange_is_answered_or_gone(plain: Stage) -> None:
    """A parked exchange is answered when its time comes, and gone when its peer leaves before."""
    client, leaver = await plain.connect(), await plain.connect()
    await client.send(post("/park"))
    await plain.parked()
    await leaver.send(post("/park"))
    await plain.parked(2)
    leaver.close()
    await eventually(lambda: plain.handlers.gone, "the peer to be noticed gone")
    assert plain.handlers.gone == [plain.handlers.parked[1]]
    lost = asyncio.Event()
    plain.handlers.parked[1].answer(Reply(204), lost.set)
    plain.handlers.parked[0].answer(Reply(200, b"1"))
    assert (await client.answer()).body == b"1"
    async with asyncio.timeout(5):
        await lost.wait()


async def test_too_large_body(plain: Stage) -> None:
    """A handler never sees a body over its limit."""
    client = await plain.connect()
    assert (await client.ask(post("/echo", b"x" * (LIMIT_BYTES + 1)))).code == "payload_too_large"
    assert (await client.ask(post("/echo", b"x" * LIMIT_BYTES))).status == 200
    assert len(plain.handlers.seen) == 1


def chunked(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


async def keeping(scope: Any, receive: Any, send: Any) -> None:
    """An application that keeps whatever it gets, and answers also when its client is gone."""
    if scope["type"] == "lifespan":
        await application(scope, receive, send)
        return
    message = await receive()
    while message["type"] == "http.request":
        scope["state"].setdefault("kept", []).append(message["body"])
        if not message["more_body"]:
            break
        message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def failing(scope: Any, receive: Any, send: Any) -> None:
    """An application that fails when its client is gone."""
    if scope["type"] == "lifespan":
        await application(scope, receive, send)
        return
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RuntimeError("the client is gone")
        if not message["more_body"]:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})
            return


Request = Callable[[str, bytes], bytes]


@pytest.mark.parametrize("app", [keeping, failing])
@pytest.mark.parametrize("request_of", [post, chunked])
async def test_limit_of_an_application(app: Callable[..., Awaitable[None]], request_of: Request) -> None:
    """A body over the limit of its path is 413, whatever the application makes of it; the connection stays usable."""
    limited = BodyLimit(app, lambda path: 1000 if path == "/small" else 2 * MEBIBYTE)
    async with staged(FrontSettings(), limited) as stage:
        client = await stage.connect()
        for size in (1001, 100_000, 8 * MEBIBYTE - 100):
            answer = await client.ask(request_of("/small", b"x" * size))
            assert (answer.status, answer.code) == (413, "payload_too_large")
        assert (await client.ask(request_of("/small", b"x" * 1000))).body == b"ok"
        assert (await client.ask(request_of("/large", b"x" * MEBIBYTE))).body == b"ok"
        client.writer.write(request_of("/small", b"x" * (20 * MEBIBYTE)))
        answer = await client.answer()
        assert (answer.status, answer.code, answer.headers["connection"]) == (413, "payload_too_large", "close")
        assert await client.closed() == b""


async def test_expected_body_is_refused_before_it_is_sent() -> None:
    """A client that asks before it sends a body that is too large is refused at once."""
    async with staged(FrontSettings(), BodyLimit(keeping, lambda path: 1000)) as stage:
        client = await stage.connect()
        await client.send(post("/small", b"x" * 1001, "Expect: 100-continue")[:-1001])
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert await client.closed() == b""
