"""Lazy mode: the packet, and what a worker does when it comes."""

from __future__ import annotations

import json
import socket

import pytest
from running_worker import Start
from scripted_hall import PATIENCE_SECONDS
from scripted_services import ScriptedServices, query

from hiringhall_worker.services.probe import Malformed, Packets

PACKET = b'{"PacketId":"7f-1","Message":{"MessageText":"pull_signal","Parameters":null}}'


def add(a: int, b: int) -> int:
    return a + b


def knock(port: int, *pieces: bytes) -> bytes:
    """Send a packet in pieces, and read what comes back until the worker closes or has said it all."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            sock.sendall(piece)
        sock.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while data := sock.recv(4096):
                found += data
        except ConnectionResetError:
            pass
        return found


def port_of(services: ScriptedServices) -> int:
    told = services.wait_heard("registration")[0].json
    assert told["run_mode"] == "Lazy" and told["ip"] == "127.0.0.1"
    assert isinstance(told["port"], int)
    return told["port"]


def test_a_lazy_worker_drains_when_it_is_woken(services: ScriptedServices, serve: Start) -> None:
    """It drains once at the start, without waiting, and then after a probe until nothing is left."""
    serve({"add": add}, lazy=True, probe_host="127.0.0.1")
    port = port_of(services)
    services.wait_heard("drain")
    services.call("r-1", "add", [1, 2])
    services.call("r-2", "add", [3, 4])
    assert knock(port, PACKET) == b"ACK:7f-1"
    assert services.response("r-1")["result"] == 3
    assert services.response("r-2")["result"] == 7
    services.wait_heard("drain", 4)
    assert [query(heard) for heard in services.of("drain")] == [{"max": "1"}] * 4


def test_the_packet_may_come_in_any_portions(services: ScriptedServices, serve: Start) -> None:
    """The acknowledgement is sent when the packet is complete, and carries its id."""
    serve({"add": add}, lazy=True, probe_host="127.0.0.1")
    port = port_of(services)
    assert knock(port, *(bytes([byte]) for byte in PACKET)) == b"ACK:7f-1"
    assert knock(port, PACKET[:20], PACKET[20:] + PACKET) == b"ACK:7f-1ACK:7f-1"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe",
        b'{"PacketId":"x","Message":{"MessageText":"run_this"}}',
        b'{"PacketId":7,"Message":{"MessageText":"pull_signal"}}',
        b'{"PacketId":"a b","Message":{"MessageText":"pull_signal"}}',
        b'{"PacketId":"x","Message":"pull_signal"}',
        b"{" * 5000,
    ],
)
def test_anything_else_is_not_answered(services: ScriptedServices, serve: Start, data: bytes) -> None:
    """The port is open to everybody; what is no pull signal gets no answer, and the next packet does."""
    serve({"add": add}, lazy=True, probe_host="127.0.0.1")
    port = port_of(services)
    assert knock(port, data) == b""
    assert knock(port, PACKET) == b"ACK:7f-1"


def test_many_silent_callers_do_not_block_the_port_for_long(services: ScriptedServices, serve: Start) -> None:
    """Connections beyond a few are closed at once, and silent ones after two seconds."""
    serve({"add": add}, lazy=True, probe_host="127.0.0.1")
    port = port_of(services)
    silent = [socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) for _ in range(8)]
    try:
        for sock in silent:
            assert sock.recv(10) == b""
        assert knock(port, PACKET) == b"ACK:7f-1"
    finally:
        for sock in silent:
            sock.close()


def test_a_port_that_is_taken_is_a_clear_error(services: ScriptedServices, serve: Start) -> None:
    """A worker that cannot listen does not register."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = serve({"add": add}, lazy=True, probe_host="127.0.0.1", probe_port=taken.getsockname()[1]).wait()
    assert isinstance(error, OSError)
    assert services.of("login") == []


def test_packets_may_carry_a_request_id_and_more() -> None:
    """Unknown members are ignored; the text is ASCII JSON with or without spaces around it."""
    packet = {"PacketId": "p", "Version": 2, "Message": {"MessageText": "pull_signal", "Parameters": "r-1"}}
    assert Packets().feed(b"\r\n" + json.dumps(packet).encode() + b"\n") == ["p"]
    with pytest.raises(Malformed):
        Packets().feed(b"[1]")
