"""Knocks at the port of a Lazy worker as the hall does."""

from __future__ import annotations

import asyncio

from msgspec import UNSET

from hiringhall.verify.cases import Probe
from hiringhall.verify.numerals import encode

PORTION_PAUSE_SECONDS = 0.1
LARGEST_ANSWER_BYTES = 256


class ProbeFailed(Exception):
    """The packet was not answered as it has to be."""


def packet(probe: Probe) -> bytes:
    """The packet of a probe."""
    if probe.text is not UNSET:
        return probe.text.encode()
    message = {"MessageText": "pull_signal", "Parameters": probe.request_id}
    return encode({"PacketId": probe.packet_id, "Message": message}).encode("ascii")


async def knock(where: tuple[str, int], probe: Probe, seconds: float) -> None:
    """Send the packet and read the acknowledgement, or see that there is none; ProbeFailed otherwise."""
    wanted = f"ACK:{probe.packet_id}".encode() if probe.acknowledged else b""
    seen = b""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(*where)
            try:
                await _send(writer, packet(probe), probe.pieces)
                while seen.rstrip() != wanted or not probe.acknowledged:
                    data = await reader.read(LARGEST_ANSWER_BYTES)
                    if not data:
                        break
                    seen += data
            finally:
                writer.close()
    except TimeoutError:
        if not seen and not probe.acknowledged:
            return
    except OSError as problem:
        if probe.acknowledged:
            raise ProbeFailed(f"{where[0]}:{where[1]}: {problem.strerror or problem}") from None
    if seen.rstrip() != wanted:
        raise ProbeFailed(f"the answer was {seen!r}")


async def _send(writer: asyncio.StreamWriter, data: bytes, pieces: int) -> None:
    size = -(-len(data) // pieces)
    for start in range(0, len(data), size):
        writer.write(data[start : start + size])
        await writer.drain()
        if start + size < len(data):
            await asyncio.sleep(PORTION_PAUSE_SECONDS)
