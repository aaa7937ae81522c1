"""One connection, as seen from both sides."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from scripted_hall import PATIENCE_SECONDS, ScriptedHall, answer, cut, render, sending, silence

from hiringhall_worker.transport import Address, Connection
from hiringhall_worker.wire import Answer, Lost, Request

BEAT = Request("heartbeat", "/workers/w/heartbeat", "t", b"{}", PATIENCE_SECONDS)
ONCE = Request("register", "/workers/register", "t", b"{}", PATIENCE_SECONDS, repeatable=False)


@pytest.fixture
def connection(hall: ScriptedHall) -> Iterator[Connection]:
    found = Connection(Address.of(hall.url))
    yield found
    found.close()


def test_a_connection_is_kept(hall: ScriptedHall, connection: Connection) -> None:
    """Requests follow each other on one connection; headers come back in lower case."""
    hall.script["heartbeat"].append(answer(200, {"ok": True}, Hall_Directive="quiet"))
    first = connection.exchange(BEAT)
    assert isinstance(first, Answer) and first.header("hall-directive") == "quiet"
    assert isinstance(connection.exchange(BEAT), Answer)
    assert {heard.connection for heard in hall.heard} == {1}


@pytest.mark.parametrize("request_", [BEAT, ONCE])
def test_a_connection_closed_while_idle_is_replaced_unnoticed(
    hall: ScriptedHall, connection: Connection, request_: Request
) -> None:
    """An idle connection that the server closed is noticed before anything is sent on it."""
    hall.script["heartbeat"].append(sending(render(200, {"ok": True}), then_close=True))
    assert isinstance(connection.exchange(BEAT), Answer)
    hall.wait_for(lambda: not hall._open, "the server closed")
    assert isinstance(connection.exchange(request_), Answer)
    assert [heard.connection for heard in hall.heard] == [1, 2]


def test_a_stale_connection_is_replaced_once(hall: ScriptedHall, connection: Connection) -> None:
    """A reused connection that is reset is replaced and the request repeated; a fresh one is not."""
    assert isinstance(connection.exchange(BEAT), Answer)
    hall.script["heartbeat"].append(cut)
    assert isinstance(connection.exchange(BEAT), Answer)
    assert [heard.connection for heard in hall.heard] == [1, 1, 2]
    hall.script["heartbeat"].extend([cut, cut])
    assert isinstance(connection.exchange(BEAT), Lost)
    assert [heard.connection for heard in hall.heard] == [1, 1, 2, 2, 3]


def test_what_is_not_safe_is_not_repeated(hall: ScriptedHall, connection: Connection) -> None:
    """A request that may not be carried out twice comes back as lost."""
    assert isinstance(connection.exchange(BEAT), Answer)
    hall.script["register"].append(cut)
    assert isinstance(connection.exchange(ONCE), Lost)
    assert len(hall.of("register")) == 1


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 2"],
        [b"garbage\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"],
        [b"HTTP/1.1 200 OK\r\n" + b"X: " + b"x" * 70_000 + b"\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 200 + b"\r\n"],
    ],
)
def test_a_broken_answer_is_a_lost_one(hall: ScriptedHall, connection: Connection, pieces: list[bytes]) -> None:
    """Whatever is not a complete answer comes back as lost, and the next exchange works."""
    hall.script["heartbeat"].append(sending(*pieces, then_close=True))
    assert isinstance(connection.exchange(BEAT), Lost)
    assert isinstance(connection.exchange(BEAT), Answer)


def test_a_chunked_answer_is_read(hall: ScriptedHall, connection: Connection) -> None:
    """Answers may come in chunks."""
    text = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"ok"\r\n6\r\n:true}\r\n0\r\n\r\n'
    hall.script["heartbeat"].append(sending(text))
    found = connection.exchange(BEAT)
    assert isinstance(found, Answer) and found.members() == {"ok": True}


def test_silence_ends_at_the_timeout(hall: ScriptedHall, connection: Connection) -> None:
    """No answer within the timeout is a lost one."""
    hall.script["heartbeat"].append(silence)
    found = connection.exchange(Request("heartbeat", BEAT.path, "t", b"{}", 0.1))
    assert isinstance(found, Lost) and "time" in found.why


@pytest.mark.parametrize("how", ["interrupt", "abort"])
def test_another_thread_ends_an_exchange(hall: ScriptedHall, connection: Connection, how: str) -> None:
    """A parked request of one thread ends when another thread says so."""
    found: list[object] = []
    claim = Request("claim", "/tasks/claim", "t", b'{"wait": 60}', 60.0)
    thread = threading.Thread(target=lambda: found.append(connection.exchange(claim)))
    thread.start()
    hall.wait_parked()
    getattr(connection, how)()
    thread.join(PATIENCE_SECONDS)
    assert [type(each) for each in found] == [Lost]
    assert len(hall.of("claim")) == 1
    assert isinstance(connection.exchange(BEAT), Answer if how == "interrupt" else Lost)


def test_nobody_listens(hall: ScriptedHall, connection: Connection) -> None:
    """A refused connection is a lost answer."""
    hall.close()
    assert isinstance(connection.exchange(BEAT), Lost)


@pytest.mark.parametrize(
    ("url", "host", "port", "prefix"),
    [
        ("http://hall", "hall", 80, ""),
        ("http://hall:8400/", "hall", 8400, ""),
        ("https://hall/some/path/", "hall", 443, "/some/path"),
        ("http://[::1]:8400", "::1", 8400, ""),
    ],
)
def test_addresses(url: str, host: str, port: int, prefix: str) -> None:
    """Scheme, port and a path in front are understood; https verifies certificates."""
    found = Address.of(url)
    assert (found.host, found.port, found.prefix) == (host, port, prefix)
    assert (found.tls is not None) == url.startswith("https")


def test_a_path_in_front_is_kept(hall: ScriptedHall) -> None:
    """Every route goes below the path of the address."""
    connection = Connection(Address.of(hall.url + "/below/"))
    connection.exchange(BEAT)
    connection.close()
    assert hall.heard[0].path == "/below/workers/w/heartbeat"
