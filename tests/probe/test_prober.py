"""One probe against real sockets: workers that answer, and ports that do everything else."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from hiringhall.probe.addresses import Rules
from hiringhall.probe.prober import ACKNOWLEDGED, Kind, Prober, Result
from tests.probe.ports import LOOPBACK, WakeUpPort, acknowledges, lazy_worker, reset, wake_up_port
from tests.waiting import until_async

SOON = 0.2
GUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


async def probe(port: object, *, request_id: str | None = None, within_seconds: float = 2.0) -> Result:
    """Probe a worker on loopback."""
    prober = Prober(LOOPBACK, packet_id=lambda: GUID, within_seconds=within_seconds)
    return await prober.probe(lazy_worker(port), request_id)


async def ends(port: WakeUpPort) -> None:
    """Wait until no connection is left."""

    async def ended() -> bool:
        return port.ended == port.connected > 0

    await until_async(ended, waiting_for="the end of the connection")


async def test_a_worker_gets_the_documented_packet_and_acknowledges() -> None:
    """The bytes on the wire are those of the document, and "ACK:<PacketId>" on the same socket ends the probe."""
    async with wake_up_port(acknowledges) as port:
        assert await probe(port.port, request_id="r-1") == ACKNOWLEDGED
        assert await probe(port.port) == ACKNOWLEDGED
        await ends(port)
    assert [packet.decode() for packet in port.packets] == [
        f'{{"PacketId":"{GUID}","Message":{{"MessageText":"pull_signal","Parameters":"r-1"}}}}',
        f'{{"PacketId":"{GUID}","Message":{{"MessageText":"pull_signal","Parameters":null}}}}',
    ]


async def test_each_probe_has_an_id_of_its_own() -> None:
    """Two probes carry two different GUIDs in their usual spelling."""
    async with wake_up_port(acknowledges) as port:
        prober = Prober(LOOPBACK)
        for _ in range(2):
            assert await prober.probe(lazy_worker(port.port), None) == ACKNOWLEDGED
    ids = {json.loads(packet)["PacketId"] for packet in port.packets}
    assert len(ids) == 2
    assert all(len(each) == 36 and each.count("-") == 4 for each in ids)


async def test_an_acknowledgement_in_pieces_is_read() -> None:
    """An answer that arrives byte by byte, with a newline at its end, is an acknowledgement."""

    async def stammers(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in f"ACK:{await port.packet(reader)}\n".encode():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async with wake_up_port(stammers) as port:
        assert await probe(port.port) == ACKNOWLEDGED


async def test_a_half_closed_connection_still_acknowledges() -> None:
    """A worker that ends its side right after the acknowledgement has acknowledged."""

    async def closes(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"ACK:{await port.packet(reader)}".encode())
        writer.write_eof()

    async with wake_up_port(closes) as port:
        assert await probe(port.port) == ACKNOWLEDGED


async def test_a_half_close_instead_of_an_answer_fails_at_once() -> None:
    """A worker that ends its side without an answer is not waited for."""

    async def closes(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)
        writer.write(b"ACK:" + GUID[:10].encode())
        writer.write_eof()

    async with wake_up_port(closes) as port:
        result = await probe(port.port, within_seconds=60)
        assert result == Result(Kind.FAILED, "it closed the connection without an acknowledgement")
        await ends(port)


async def test_one_that_never_answers_is_given_up_in_time() -> None:
    """A port that accepts, reads and says nothing costs the time of one probe, and the connection is closed."""

    async def listens(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)

    async with wake_up_port(listens) as port:
        assert await probe(port.port, within_seconds=SOON) == Result(Kind.FAILED, f"no answer within {SOON} s")
        await ends(port)


async def test_one_that_answers_too_slowly_is_given_up_in_time() -> None:
    """The time of a probe is for the whole of it: one more byte now and then does not prolong it."""

    async def drips(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)
        loop = asyncio.get_running_loop()
        for at, byte in enumerate(b"ACK:" + GUID.encode()):
            loop.call_later(at * SOON / 4, writer.write, bytes([byte]))

    async with wake_up_port(drips) as port:
        assert await probe(port.port, within_seconds=SOON) == Result(Kind.FAILED, f"no answer within {SOON} s")


async def test_a_full_backlog_is_given_up_in_time() -> None:
    """A connection that is never established costs no more than the time of a probe."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        crowd = []
        for _ in range(4):  # more than the backlog: the kernel drops the rest
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(address)
            crowd.append(one)
        try:
            assert await probe(address[1], within_seconds=SOON) == Result(Kind.FAILED, f"no answer within {SOON} s")
        finally:
            for one in crowd:
                one.close()


async def test_where_nobody_listens_the_probe_fails_at_once() -> None:
    """A closed port is told as such."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        result = await probe(reserved.getsockname()[1])
    assert result == Result(Kind.FAILED, "nothing listens there")


@pytest.mark.parametrize("first", [b"", b"ACK:"])
async def test_a_reset_fails_at_once(first: bytes) -> None:
    """A connection that is reset, before the answer or in the middle of it, is told as such."""

    async def resets(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)
        writer.write(first)
        await writer.drain()
        reset(writer)

    async with wake_up_port(resets) as port:
        result = await probe(port.port, within_seconds=60)
    assert result.kind is Kind.FAILED
    assert result.reason in ("the connection was reset", "it closed the connection without an acknowledgement")


async def test_a_megabyte_of_garbage_is_not_read() -> None:
    """The first wrong byte ends the probe, and the rest of a flood stays with its sender."""
    unread = asyncio.Event()

    async def floods(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)
        try:
            writer.write(b"x" * 1_000_000)
            await writer.drain()
            writer.write(b"x" * 16_000_000)
            await writer.drain()
        except OSError:
            unread.set()
            raise

    async with wake_up_port(floods) as port:
        result = await probe(port.port, within_seconds=60)
        assert result.kind is Kind.FAILED
        assert "does not begin" in result.reason
        await asyncio.wait_for(unread.wait(), 10)


async def test_another_id_is_no_acknowledgement() -> None:
    """A port that acknowledges something else is no worker of this hall."""

    async def mistakes(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)
        writer.write(b"ACK:00000000-0000-0000-0000-000000000000")

    async with wake_up_port(mistakes) as port:
        assert await probe(port.port) == Result(Kind.FAILED, "it acknowledged another PacketId")


async def test_a_refused_address_is_never_connected_to() -> None:
    """The rules are asked before each probe, so that a connection is not even begun."""
    async with wake_up_port(acknowledges) as port:
        refused = await Prober(Rules()).probe(lazy_worker(port.port), None)
        assert refused.kind is Kind.REFUSED
        assert "HALL_HOST" in refused.reason
        elsewhere = await Prober(LOOPBACK).probe(lazy_worker(port.port, ip="localhost"), None)
        assert elsewhere.kind is Kind.REFUSED
        assert await probe(port.port) == ACKNOWLEDGED
        assert port.connected == 1
