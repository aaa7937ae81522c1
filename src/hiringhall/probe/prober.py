"""One probe: connect, send the packet, wait for its acknowledgement, close; two seconds in all."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hiringhall.ports.probes import LazyWorker
from hiringhall.probe.addresses import Refusal, Rules, Target
from hiringhall.probe.packet import Acknowledgement, pull_signal

PROBE_SECONDS: Final = 2.0
READ_BYTES: Final = 256
"""How much is read at a time, and half of what is read ahead: an acknowledgement has 40 bytes."""

WORDS: Final[dict[int, str]] = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.ECONNRESET: "the connection was reset",
    errno.EPIPE: "the connection was reset",
    errno.ECONNABORTED: "the connection was reset",
    errno.EHOSTUNREACH: "there is no way to that address",
    errno.ENETUNREACH: "there is no way to that address",
    errno.ETIMEDOUT: "no answer within 2 s",
    errno.EACCES: "this machine does not permit the connection",
    errno.EPERM: "this machine does not permit the connection",
}


class Kind(StrEnum):
    """How a probe ended."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Result:
    """How a probe ended, and why in words."""

    kind: Kind
    reason: str = ""


ACKNOWLEDGED: Final = Result(Kind.ACKNOWLEDGED)


def new_packet_id() -> str:
    """A new GUID in its usual spelling."""
    return str(uuid.uuid4())


class Prober:
    """Makes probes, to addresses that the rules allow at that moment."""

    def __init__(
        self, rules: Rules, *, packet_id: Callable[[], str] = new_packet_id, within_seconds: float = PROBE_SECONDS
    ) -> None:
        self.rules = rules
        self._packet_id = packet_id
        self._within_seconds = within_seconds

    async def probe(self, worker: LazyWorker, request_id: str | None) -> Result:
        """Have the worker drain. Never fails: what goes wrong is the result."""
        target = self.rules.judge(worker)
        if isinstance(target, Refusal):
            return Result(Kind.REFUSED, target.reason)
        packet_id = self._packet_id()
        acknowledgement = Acknowledgement(packet_id)
        try:
            async with asyncio.timeout(self._within_seconds):
                return await _exchange(target, pull_signal(packet_id, request_id), acknowledgement)
        except TimeoutError:
            return Result(Kind.FAILED, f"no answer within {self._within_seconds:g} s")
        except OSError as problem:
            return Result(Kind.FAILED, _plain(problem))


async def _exchange(target: Target, packet: bytes, acknowledgement: Acknowledgement) -> Result:
    # The host is numeric, so that nothing is looked up: what was judged is what is connected to.
    reader, writer = await asyncio.open_connection(target.host, target.port, limit=READ_BYTES)
    try:
        writer.write(packet)
        while not acknowledgement.complete:
            piece = await reader.read(READ_BYTES)
            if not piece:
                return Result(Kind.FAILED, "it closed the connection without an acknowledgement")
            acknowledgement.feed(piece)
            if acknowledgement.wrong:
                return Result(Kind.FAILED, acknowledgement.wrong)
        return ACKNOWLEDGED
    finally:
        if acknowledgement.complete:
            writer.close()
        else:
            writer.transport.abort()


def _plain(problem: OSError) -> str:
    number = problem.errno
    if number is None:
        return "the connection failed"
    return WORDS.get(number) or os.strerror(number).lower()


def is_this_machine(address: str) -> bool:
    """Whether an address is one of this machine's: then packets to it would leave from that same address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.connect((address, PORT_ASKED))  # of a datagram socket: nothing is sent
            return str(asked.getsockname()[0]) == address
    except OSError:
        return False


PORT_ASKED: Final = 9
