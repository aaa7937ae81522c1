"""What the front refuses: bodies that are too large, bytes that are no request, peers that dawdle, too many of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hiringhall.wire.exchange import Reply
from tests.waiting import until_async
from tests.wire.front.stage import LIMIT_BYTES, Stage, post

Stages = Callable[..., Awaitable[Stage]]
MEBIBYTE = 1024 * 1024


def chunked(path: str, body: bytes) -> bytes:
    """The bytes of a request that does not say how large it is."""
    head = f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize("request_of", [post, chunked])
async def test_too_large_body_is_dropped(stage: Stage, request_of: Callable[[str, bytes], bytes]) -> None:
    """A body over its route's limit is read, dropped and refused, and the connection stays usable."""
    client = await stage.connect()
    for size in (LIMIT_BYTES + 1, 8 * MEBIBYTE - 100):
        answer = await client.ask(request_of("/echo", b"x" * size))
        assert (answer.status, answer.code) == (413, "payload_too_large")
        assert "connection" not in answer.headers
    assert (await client.ask(request_of("/echo", b"x" * LIMIT_BYTES))).status == 200
    assert len(stage.handlers.seen) == 1


@pytest.mark.parametrize("request_of", [post, chunked])
async def test_huge_body_ends_the_connection(stage: Stage, request_of: Callable[[str, bytes], bytes]) -> None:
    """A body that is not worth reading to its end is refused, and the refusal arrives before the connection closes."""
    client = await stage.connect()
    client.writer.write(request_of("/echo", b"x" * (20 * MEBIBYTE)))
    answer = await client.answer()
    assert (answer.status, answer.code, answer.headers["connection"]) == (413, "payload_too_large", "close")
    await client.closed()


async def test_too_large_body_behind_a_parked_request(stage: Stage) -> None:
    """A refusal keeps its place in the order of answers."""
    client = await stage.connect()
    client.writer.write(post("/park") + post("/echo", b"x" * (LIMIT_BYTES + 1)) + post("/echo", b"1"))
    [exchange] = await stage.parked()
    exchange.answer(Reply(204))
    assert [(await client.answer()).status for _ in range(3)] == [204, 413, 200]


async def test_large_bodies_have_only_so_much_room(stages: Stages) -> None:
    """Beyond what large bodies may take together one more is 503 with `Retry-After`; small ones are served."""
    stage = await stages(bodies_limit_bytes=150_000)
    half = b"POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"x" * 90_000
    clients = [await stage.connect() for _ in range(2)]
    for client in clients:
        await client.send(half)
    answers = {asyncio.ensure_future(client.answer()): client for client in clients}
    [done], [other] = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
    answer = await done
    assert (answer.status, answer.code, answer.headers["connection"]) == (503, "unavailable", "close")
    assert answer.headers["retry-after"]
    third = await stage.connect()
    assert (await third.ask(post("/echo", b"x" * 60_000))).status == 200
    await answers[other].send(b"x" * 10_000)
    assert (await other).status == 200
    assert (await third.ask(post("/echo", b"x" * LIMIT_BYTES))).status == 200


@pytest.mark.parametrize(
    ("path", "size", "status"), [("/echo", LIMIT_BYTES, 200), ("/echo", LIMIT_BYTES + 1, 413), ("/asgi", 120_000, 200)]
)
async def test_a_body_that_is_handed_on_leaves_its_room(stages: Stages, path: str, size: int, status: int) -> None:
    """The room of a body is free once it has been received, refused, or passed on to the application."""
    stage = await stages(bodies_limit_bytes=150_000)
    client = await stage.connect()
    for _ in range(3):
        assert (await client.ask(post(path, b"x" * size))).status == status
        client.writer.write(post("/park") + post(path, b"x" * size))
        (await stage.parked()).pop().answer(Reply(204))
        assert [(await client.answer()).status for _ in range(2)] == [204, status]
    assert (await client.ask(post("/echo", b"x" * LIMIT_BYTES))).status == 200


async def test_a_peer_that_leaves_leaves_its_room(stages: Stages) -> None:
    """The room of a body whose peer went away is free again."""
    stage = await stages(bodies_limit_bytes=150_000)
    client = await stage.connect()
    for _ in range(3):
        leaving = await stage.connect()
        await leaving.send(b"POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"x" * 90_000)
        leaving.close()

    async def there_is_room() -> bool:
        nonlocal client
        answer = await client.ask(post("/echo", b"x" * LIMIT_BYTES))
        if answer.status == 503:
            client = await stage.connect()
        return answer.status == 200

    await until_async(there_is_room, waiting_for="the room of those who left")


MALFORMED = {
    "garbage": b"garbage\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "length and chunks": b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
    "two lengths": b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    "no number": b"POST /echo HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    "large headers": b"POST /echo HTTP/1.1\r\nX-Large: " + b"x" * 70_000 + b"\r\n\r\n",
    "many headers": b"POST /echo HTTP/1.1\r\n" + b"X-Many: 1\r\n" * 7_000 + b"\r\n",
    "large headers on ASGI": b"POST /asgi HTTP/1.1\r\nX-Large: " + b"x" * 70_000 + b"\r\n\r\n",
    "a long request line": b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n",
    "another version": b"GET / HTTP/2.0\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a proxy's request": b"CONNECT hall:443 HTTP/1.1\r\n\r\n",
    "a proxy's request for a path": b"CONNECT /echo HTTP/1.1\r\n\r\n",
    "a folded header": b"POST /echo HTTP/1.1\r\nX-Folded: a\r\n b\r\n\r\n",
    "a header without name": b"POST /echo HTTP/1.1\r\n: a\r\n\r\n",
    "a space before the colon": b"POST /echo HTTP/1.1\r\nContent-Length : 3\r\n\r\nabc",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_is_no_request_is_refused(stage: Stage, data: bytes) -> None:
    """Bytes that are no request are answered 400 in the envelope, after what came before, and the connection closes."""
    client = await stage.connect()
    client.writer.write(post("/park") + post("/asgi", b"1") + data)
    [exchange] = await stage.parked()
    exchange.answer(Reply(204))
    assert (await client.answer()).status == 204
    assert (await client.answer()).body == b"asgi:1"
    answer = await client.answer()
    assert (answer.status, answer.code) == (400, "malformed_request")
    assert answer.headers["connection"] == "close"
    assert await client.closed() == b""
    assert not stage.handlers.seen


async def test_broken_chunks(stage: Stage) -> None:
    """A body whose chunks are broken is refused; an application that reads it sees a disconnect."""
    for path in ("/echo", "/asgi"):
        client = await stage.connect()
        await client.send(f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n".encode())
        left = await client.closed()
        assert (b"malformed_request" in left) == (path == "/echo")
    assert not stage.handlers.seen


HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        ("POST", {}),
        ("GET", {"Upgrade": "h2c"}),
        ("GET", {"Sec-WebSocket-Version": "12"}),
        ("GET", {"Sec-WebSocket-Key": "short"}),
        ("GET", {"Content-Length": "3"}),
        ("GET", {"Transfer-Encoding": "chunked"}),
    ],
)
async def test_no_websocket_comes_of_a_bad_handshake(stage: Stage, method: str, changed: dict[str, str]) -> None:
    """A wish for a WebSocket that cannot be one is ignored: the request is answered as any other."""
    lines = [f"{method} /asgi HTTP/1.1", *(f"{name}: {value}" for name, value in {**HANDSHAKE, **changed}.items())]
    body = b"3\r\nabc\r\n0\r\n\r\n" if "Transfer-Encoding" in changed else b"abc"
    client = await stage.connect()
    answer = await client.ask("\r\n".join([*lines, "", ""]).encode() + (body if changed.keys() & FRAMED else b""))
    assert answer.status == 200
    assert answer.body.startswith(b"asgi:")


FRAMED = {"Content-Length", "Transfer-Encoding"}


async def test_broken_chunks_of_a_request_that_is_being_answered(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """An application that answers a request whose rest is broken answers nobody, and that is no error."""
    client = await stage.connect()
    await client.send(b"POST /early HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
    await client.closed()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_half_requests_are_dropped(stages: Stages) -> None:
    """A head that is not complete in time, and a body that stands still, lose their connection."""
    stage = await stages(head_timeout_seconds=0.4, body_timeout_seconds=0.4, keep_alive_seconds=30)
    loop = asyncio.get_running_loop()
    for data in (b"POST /echo HT", post("/echo", b"abc")[:-1], post("/asgi", b"abc")[:-1]):
        client = await stage.connect()
        await client.send(data)
        begun = loop.time()
        assert await client.closed() == b""
        assert 0.3 < loop.time() - begun < 5


async def test_slow_head_is_dropped_however_it_dribbles(stages: Stages) -> None:
    """A head that comes byte by byte has no more time than any other."""
    stage = await stages(head_timeout_seconds=0.4)
    client = await stage.connect()
    ended = asyncio.ensure_future(client.closed())
    for byte in post("/echo", b"", "X-Padding: " + "x" * 1000):
        await asyncio.wait((ended,), timeout=0.02)
        if ended.done():
            break
        client.writer.write(bytes([byte]))
    assert ended.done()
    assert not stage.handlers.seen


async def test_slow_body_is_waited_for(stages: Stages) -> None:
    """A body may take long as a whole, as long as something comes now and then."""
    stage = await stages(body_timeout_seconds=0.6)
    client = await stage.connect()
    request = post("/echo", b"0123456789")
    await client.send(request[:-10])
    ended = asyncio.ensure_future(client.answer())
    for byte in b"0123456789":
        await asyncio.wait((ended,), timeout=0.15)
        client.writer.write(bytes([byte]))
    assert (await ended).body == b"0123456789"


async def test_idle_connections_are_closed(stages: Stages) -> None:
    """A connection without a request is closed in time, whatever it served before; a parked one is not."""
    stage = await stages(keep_alive_seconds=0.6)
    parked = await stage.connect()
    await parked.send(post("/park"))
    await stage.parked()
    for before in ("", "/echo", "/asgi", "/park"):
        client = await stage.connect()
        if before:
            await client.send(post(before))
        if before == "/park":
            (await stage.parked(2))[1].answer(Reply(204))
        if before:
            await client.answer()
        begun = asyncio.get_running_loop().time()
        assert await client.closed() == b""
        assert asyncio.get_running_loop().time() - begun >= 0.6
    assert not stage.handlers.gone
    stage.handlers.parked[0].answer(Reply(200, b"1"))
    assert (await parked.answer()).body == b"1"


async def test_connections_over_the_limit_are_turned_away(stages: Stages) -> None:
    """The connection after the last allowed one is told to come back; one that ended makes room."""
    stage = await stages(max_connections=2)
    first, second = await stage.connect(), await stage.connect()
    assert (await first.ask(post("/echo", b"1"))).status == 200
    assert (await second.ask(post("/echo", b"1"))).status == 200
    third = await stage.connect()
    answer = await third.answer()
    assert (answer.status, answer.code, answer.headers["connection"]) == (503, "unavailable", "close")
    assert int(answer.headers["retry-after"]) > 0
    assert await third.closed() == b""
    third.close()
    first.close()

    async def served() -> bool:
        client = await stage.connect()
        good = (await client.ask(post("/echo", b"1"))).status == 200
        client.close()
        return good

    assert await until_async(served, waiting_for="room for a connection")
