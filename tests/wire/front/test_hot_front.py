"""Requests and answers on the hot front, alone and mixed with ASGI requests on one connection."""

from __future__ import annotations

import asyncio

import pytest

from hiringhall.wire.exchange import Reply
from tests.wire.front.stage import Stage, post


async def test_answer_has_its_headers(stage: Stage) -> None:
    """Every answer has a length, a date, a type, a request id, and must not be stored."""
    client = await stage.connect()
    answer = await client.ask(post("/echo?x=1", b'{"a": 1}', "X-Request-Id: r-1", "Authorization: Bearer t"))
    assert (answer.status, answer.body) == (200, b'{"a": 1}')
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-request-id"] == "r-1"
    assert answer.headers["date"].endswith("GMT")
    assert "connection" not in answer.headers
    request = stage.handlers.seen[0].request
    assert (request.method, request.path, request.query) == (b"POST", b"/echo", b"x=1")
    assert request.header(b"authorization") == b"Bearer t"
    assert request.header(b"cookie") is None


async def test_no_content_has_no_length(stage: Stage) -> None:
    """204 has neither a body nor its length nor its type."""
    client = await stage.connect()
    answer = await client.ask(post("/empty"))
    assert answer.status == 204
    assert not {"content-length", "content-type"} & set(answer.headers)
    assert (await client.ask(post("/echo"))).body == b"{}"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é"])
async def test_strange_request_id_is_replaced(stage: Stage, given: str) -> None:
    """A request id that is not 1 to 128 visible characters is replaced by a made one, a different one each time."""
    client = await stage.connect()
    first = (await client.ask(post("/echo", b"", f"X-Request-Id: {given}"))).headers["x-request-id"]
    second = (await client.ask(post("/echo", b"", f"X-Request-Id: {given}"))).headers["x-request-id"]
    assert first not in {given, second}
    assert len(first) > 8


async def test_pipelined_requests_are_answered_in_order(stage: Stage) -> None:
    """Hot and ASGI requests pipelined in any order on one connection are answered in theirs."""
    client = await stage.connect()
    paths = ["/echo", "/asgi", "/asgi", "/echo", "/echo", "/asgi", "/echo"] * 20
    await client.send(*(post(path, b"%d" % number) for number, path in enumerate(paths)))
    for number, path in enumerate(paths):
        expected = b"%d" % number if path == "/echo" else b"asgi:%d" % number
        assert (await client.answer()).body == expected


async def test_requests_behind_a_parked_one_wait(stage: Stage) -> None:
    """What is pipelined behind a parked request, hot or ASGI, small or large, is answered after it."""
    client = await stage.connect()
    large = b"x" * 90_000
    await client.send(
        post("/park"), post("/echo", b"1"), post("/asgi", b"2"), post("/echo", large), post("/asgi", large)
    )
    [exchange] = await stage.parked()
    assert not stage.handlers.seen
    exchange.answer(Reply(200, b'"parked"'))
    assert (await client.answer()).body == b'"parked"'
    assert (await client.answer()).body == b"1"
    assert (await client.answer()).body == b"asgi:2"
    assert (await client.answer()).body == large
    assert (await client.answer()).body == b"asgi:" + large


async def test_request_in_single_bytes(stage: Stage) -> None:
    """A request may come in any pieces, also behind another one."""
    client = await stage.connect()
    for path in ("/echo", "/asgi"):
        for byte in post(path, b"abc", "X-Request-Id: r"):
            await client.send(bytes([byte]))
        assert (await client.answer()).body.endswith(b"abc")
    client.writer.write(post("/park"))
    client.writer.write(post("/asgi", b"half of it")[:-4])
    [exchange] = await stage.parked()
    exchange.answer(Reply(204))
    assert (await client.answer()).status == 204
    await client.send(b"f it")
    assert (await client.answer()).body == b"asgi:half of it"


async def test_chunked_bodies(stage: Stage) -> None:
    """Chunked bodies are put together; trailers are ignored."""
    client = await stage.connect()
    chunks = b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Request-Id: trailer\r\n\r\n"
    for path, expected in (("/echo", b"abcde"), ("/asgi", b"asgi:abcde")):
        head = f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Request-Id: head\r\n\r\n".encode()
        answer = await client.ask(head, chunks)
        assert answer.body == expected
        assert answer.headers.get("x-request-id", "head") == "head"


async def test_expect_continue(stage: Stage) -> None:
    """A client that expects 100 is invited to send its body, and refused before it sends one that is too large."""
    for path in ("/echo", "/asgi"):
        client = await stage.connect()
        await client.send(post(path, b"abc", "Expect: 100-continue")[:-3])
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"abc")
        assert (await client.answer()).body.endswith(b"abc")
    await client.send(post("/echo", b"x" * 100_001, "Expect: 100-continue")[:-100_001])
    refused = await client.answer()
    assert (refused.status, refused.headers["connection"]) == (413, "close")


async def test_wish_for_http2_is_ignored(stage: Stage) -> None:
    """A client that offers to change to HTTP/2 in clear is served in HTTP/1.1, body and all."""
    client = await stage.connect()
    wish = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
    for path in ("/echo", "/asgi"):
        await client.send(post(path, b"abc", *wish), post("/echo", b"next"))
        assert (await client.answer()).body.endswith(b"abc")
        assert (await client.answer()).body == b"next"


@pytest.mark.parametrize("path", ["/echo", "/asgi"])
async def test_close_is_said_and_done(stage: Stage, path: str) -> None:
    """A client that asks for it, or speaks HTTP/1.0, is told that the connection closes, and it does."""
    for request in (post(path, b"a", "Connection: close"), post(path, b"a", version="1.0")):
        client = await stage.connect()
        answer = await client.ask(request)
        assert answer.headers["connection"] == "close"
        assert await client.closed() == b""


@pytest.mark.parametrize("wish", [(), ("Connection: keep-alive",)])
async def test_a_stream_in_the_old_version_ends_with_the_connection(stage: Stage, wish: tuple[str, ...]) -> None:
    """To a client of HTTP/1.0 a body of unknown length is sent as it is, without chunks, and the connection closes."""
    client = await stage.connect()
    answer = await client.ask(post("/stream", b"", *wish, version="1.0"))
    assert answer.headers["connection"] == "close"
    assert "transfer-encoding" not in answer.headers
    assert await client.closed() == b"012"


async def test_handlers_see_every_method(stage: Stage) -> None:
    """A handler decides about HEAD and OPTIONS; an answer to HEAD has the length of a body, and no body."""
    client = await stage.connect()
    await client.send(b"HEAD /echo HTTP/1.1\r\n\r\n")
    assert (await client.answer(head_only=True)).headers["content-length"] == "2"
    answer = await client.ask(b"OPTIONS /echo HTTP/1.1\r\n\r\n")
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", "POST")


async def test_bug_is_answered_and_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """A bug is answered 500 with the id under which the log tells the rest; the connection goes on."""
    client = await stage.connect()
    for path in ("/bug", "/forged"):
        answer = await client.ask(post(path, b"", "X-Request-Id: r-7"))
        assert (answer.status, answer.code) == (500, "internal_error")
        assert b"r-7" in answer.body
        assert b"secret" not in answer.body
    assert "the secret of the stack trace" in caplog.text
    assert "r-7" in caplog.text
    assert (await client.ask(post("/late_bug"))).body == b'"answered"'
    assert (await client.ask(post("/echo", b"1"))).body == b"1"


async def test_second_answer_is_dropped(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """The first answer stands; a second one is reported as lost."""
    client = await stage.connect()
    await client.send(post("/park"))
    [exchange] = await stage.parked()
    lost = asyncio.Event()
    exchange.answer(Reply(200, b"1"))
    exchange.answer(Reply(200, b"2"), lost.set)
    assert (await client.answer()).body == b"1"
    async with asyncio.timeout(5):
        await lost.wait()
    assert "second answer" in caplog.text


async def test_streams_and_early_answers_of_the_application(stage: Stage) -> None:
    """The application may stream, and may answer before it has read the body."""
    client = await stage.connect()
    assert (await client.ask(post("/stream"))).body == b"012"
    assert (await client.ask(post("/early", b"x" * 90_000))).body == b"early"
    assert (await client.ask(post("/echo", b"next"))).body == b"next"


async def test_websocket(stage: Stage) -> None:
    """A WebSocket works on a connection that served other requests before."""
    client = await stage.connect()
    assert (await client.ask(post("/echo", b"1"))).status == 200
    await client.send(
        b"GET /socket HTTP/1.1\r\nHost: hall\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert (await client.answer()).status == 101
    await client.send(b"\x81\x82\0\0\0\0hi")
    async with asyncio.timeout(10):
        assert await client.reader.readexactly(4) == b"\x81\x02hi"
