"""Thousands of parked drains: memory each, and what they cost while nothing happens."""

from __future__ import annotations

import asyncio

from bench.calls import DRAIN_WAIT_SECONDS
from bench.client import Connection, connect, whole
from bench.open_files import connections_possible
from bench.processes import proportional_kib
from bench.report import Goal, Row, Table
from bench.scenarios.parked import KIB_EACH, STATEMENTS_PER_SECOND, calm, idle, row_of
from bench.services import Service, admit, make_service
from bench.targets import SEATS_AT_ONCE, Target
from bench.workshop import Workshop


class Parking:
    """Drains that are parked again after every empty answer."""

    def __init__(self) -> None:
        self.problem: str | None = None

    def park(self, connection: Connection, drain: bytes) -> None:
        """Drain, and drain again."""

        def answered(status: int, body: bytes) -> None:
            if status == 200 and body == b"[]":
                self.park(connection, drain)
            else:
                self.problem = f"drain: {status} {body[:200]!r}"

        connection.on_loss = self.lost
        connection.send(drain, answered)

    def lost(self, why: str) -> None:
        """A connection broke."""
        self.problem = why


async def admitted(target: Target, service: Service, number: int) -> tuple[Connection, bytes]:
    """A registered worker's connection, and its drain."""
    connection = await connect(target.root)
    worker = await admit(target, service, connection, f"parked-{number}")
    return connection, whole(worker.head("GET", f"/worker/messages?wait={DRAIN_WAIT_SECONDS}"), b"")


async def park(workshop: Workshop, database: str, count: int, table: Table) -> None:
    """Idle without workers, then with `count` parked drains of as many workers."""
    seconds = workshop.lengths.idle_seconds
    async with workshop.hall(database) as target:
        service = await make_service(target)
        warm, drain = await admitted(target, service, count)
        await warm.call(drain.replace(b"?wait=%d" % DRAIN_WAIT_SECONDS, b""))
        await calm(target)
        alone = await idle(workshop, target, seconds)
        alone_kib = proportional_kib(target.server_pids)
        seats: list[tuple[Connection, bytes]] = []
        for first in range(0, count, SEATS_AT_ONCE):
            numbers = range(first, min(first + SEATS_AT_ONCE, count))
            seats += await asyncio.gather(*(admitted(target, service, number) for number in numbers))
        await calm(target)
        parking = Parking()
        for connection, drain in seats:
            parking.park(connection, drain)
        await calm(target)
        kib_each = (proportional_kib(target.server_pids) - alone_kib) / count
        seen = await idle(workshop, target, seconds)
        await asyncio.gather(*(connection.close() for connection, _ in [*seats, (warm, drain)]))
    row: Row = {**row_of(database, count, alone_kib + round(kib_each * count), seen), "KiB each": kib_each}
    table.rows += [row_of(database, 0, alone_kib, alone), row]
    rate, base = seen.questions_per_second, alone.questions_per_second
    added = None if rate is None or base is None else rate - base
    table.goals += [
        Goal(f"{database}: memory of a parked drain with its worker and connection", KIB_EACH, kib_each, "KiB"),
        Goal(f"{database}: statements/s that parked drains add while idle", STATEMENTS_PER_SECOND, added, "/s"),
    ]
    if parking.problem is not None:
        table.notes.append(f"{database}: NOT all stayed parked: {parking.problem}")


async def measure(workshop: Workshop) -> Table:
    """On each database."""
    wanted = workshop.lengths.parked_drains
    count = connections_possible(wanted)
    if count < wanted:
        workshop.left_out.append(f"drains: only {count:,} of {wanted:,}, by the limit of open files (ulimit -n)")
    table = Table("drains", f"{count:,} parked drains, each by a worker and over a connection of its own")
    for database in workshop.databases:
        with workshop.attempt(f"drains, {database}"):
            await park(workshop, database, count, table)
    table.notes.append("KiB each: growth since one worker had logged in, registered and drained")
    return table
