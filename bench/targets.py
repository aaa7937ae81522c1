"""A server under test: where it is, how to get in, and which processes to account to it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bench.client import Address, Connection, connect
from bench.wires import Identity, Refused, Speaker, register

SEATS_AT_ONCE = 64


@dataclass(frozen=True)
class Target:
    """What the load needs to know about a server.

    With a bootstrap token every worker registers; with a bearer all workers show it; with both the ids are
    registered ones and the token is the shared one, as servers want that never look at a worker's own token.
    """

    name: str
    address: Address
    wire: str = "plans"
    bootstrap_token: str | None = None
    shared_token: str | None = None
    operator_token: str | None = None
    server_pids: tuple[int, ...] = ()
    database_pid: int | None = None
    database_url: str | None = None

    @property
    def root(self) -> Address:
        """Where the operators' routes are, whatever the prefix of the worker routes."""
        return self.address.at(self.address.prefix.removesuffix("/whilly"))


class Seat:
    """One worker's place at a server: its own connection and its own requests."""

    __slots__ = ("connection", "speaker")

    def __init__(self, connection: Connection, speaker: Speaker) -> None:
        self.connection = connection
        self.speaker = speaker


async def identity_at(target: Target, connection: Connection) -> Identity:
    """An id and a token in the way that the target's tokens allow."""
    if target.bootstrap_token is not None:
        own = await register(connection, target.wire, target.address, target.bootstrap_token, "bench")
        return own if target.shared_token is None else Identity(own.worker_id, target.shared_token)
    if target.shared_token is None:
        raise Refused(f"{target.name}: neither a bootstrap token nor a bearer; give --bootstrap or --bearer")
    return Identity(f"bench-{secrets.token_hex(6)}", target.shared_token)


async def take_seat(target: Target, source_host: str | None = None) -> Seat:
    """Connect and register one worker."""
    connection = await connect(target.address, source_host)
    identity = await identity_at(target, connection)
    return Seat(connection, Speaker(target.wire, target.address, identity))


async def take_seats(targets: Sequence[Target], count: int, source_hosts: Sequence[str] = ()) -> list[Seat]:
    """`count` workers, dealt out over the targets (and source addresses) in turn, a few dozen at a time."""
    seats: list[Seat] = []
    for first in range(0, count, SEATS_AT_ONCE):
        asked = [
            take_seat(targets[index % len(targets)], source_hosts[index % len(source_hosts)] if source_hosts else None)
            for index in range(first, min(first + SEATS_AT_ONCE, count))
        ]
        seats += await asyncio.gather(*asked)
    return seats


@asynccontextmanager
async def seated(targets: Sequence[Target], count: int, source_hosts: Sequence[str] = ()) -> AsyncIterator[list[Seat]]:
    """`count` workers while the block runs."""
    seats = await take_seats(targets, count, source_hosts)
    try:
        yield seats
    finally:
        await asyncio.gather(*(seat.connection.close() for seat in seats))
