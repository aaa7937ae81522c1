"""Thousands of parked claims: memory each, and what they cost while nothing happens."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from bench.open_files import connections_possible
from bench.operators import read_counter
from bench.processes import CpuWatch, Spent, cpu_seconds, proportional_kib
from bench.report import Goal, Row, Table
from bench.scenarios.wake import Parking
from bench.targets import Target, seated
from bench.workshop import Workshop

KIB_EACH = 5.0
STATEMENTS_PER_SECOND = 1.0
CALM_SHARE = 0.05
CALM_WINDOW_SECONDS = 0.5
CALM_AT_LATEST_SECONDS = 30.0
SOURCE_HOSTS = tuple(f"127.0.0.{number}" for number in range(2, 10))
COUNTER = "hall_statements_total"


@dataclass(frozen=True)
class Idle:
    """A stretch in which nobody asked for anything."""

    spent: Spent
    statements: float | None
    transactions: int | None

    def per_second(self, count: float | None) -> float | None:
        """A count of the stretch as a rate."""
        return None if count is None else count / self.spent.elapsed_seconds

    @property
    def questions_per_second(self) -> float | None:
        """Statements per second as the server counts them; else the transactions that the database counts."""
        return self.per_second(self.transactions if self.statements is None else self.statements)


async def calm(target: Target) -> None:
    """Wait until the server has little left to do, or for half a minute."""
    give_up_at = time.perf_counter() + CALM_AT_LATEST_SECONDS
    while time.perf_counter() < give_up_at:
        before = cpu_seconds(target.server_pids)
        await asyncio.sleep(CALM_WINDOW_SECONDS)
        if cpu_seconds(target.server_pids) - before < CALM_SHARE * CALM_WINDOW_SECONDS:
            return


async def idle(workshop: Workshop, target: Target, seconds: float) -> Idle:
    """Watch a stretch. What reading the counter itself costs is measured and taken off."""
    databases, url = workshop.postgres, target.database_url

    async def transactions() -> int:
        return await databases.transactions(url) if databases is not None and url is not None else 0

    first, again = await read_counter(target, COUNTER), await read_counter(target, COUNTER)
    transactions_before = await transactions()
    watch = CpuWatch(target.server_pids, target.database_pid)
    await asyncio.sleep(seconds)
    spent = watch.spent()
    transactions_after = await transactions()
    last = await read_counter(target, COUNTER)
    statements = None if first is None or again is None or last is None else last - again - (again - first)
    return Idle(spent, statements, None if url is None else transactions_after - transactions_before)


def row_of(database: str, parked: int, kib: int, seen: Idle) -> Row:
    """A line of the table."""
    spent = seen.spent
    return {
        "server": database,
        "parked claims": parked,
        "server MiB": kib / 1024,
        "idle: statements/s": seen.per_second(seen.statements),
        "transactions/s": seen.per_second(seen.transactions),
        "server % of a core": 100 * spent.server_seconds / spent.elapsed_seconds,
        "database %": 100 * spent.database_seconds / spent.elapsed_seconds if spent.database_seconds else None,
    }


async def park(workshop: Workshop, database: str, count: int) -> tuple[list[Row], list[Goal], list[str]]:
    """Idle without workers, then with `count` parked claims of as many registered workers."""
    seconds = workshop.lengths.idle_seconds
    async with workshop.hall(database) as target:
        await calm(target)
        alone = await idle(workshop, target, seconds)
        alone_kib = proportional_kib(target.server_pids)
        async with seated([target], count, SOURCE_HOSTS) as seats:
            await calm(target)
            seated_kib = proportional_kib(target.server_pids)
            began_at = time.perf_counter()
            parking = Parking(seats, "nothing-here")
            await calm(target)
            parked_after = time.perf_counter() - began_at
            parked_kib = proportional_kib(target.server_pids)
            seen = await idle(workshop, target, seconds)
            held_for = time.perf_counter() - began_at
    kib_each = (parked_kib - alone_kib) / count
    claim_alone = {"KiB each": kib_each, "of it the claim": (parked_kib - seated_kib) / count}
    rows = [row_of(database, 0, alone_kib, alone), {**row_of(database, count, parked_kib, seen), **claim_alone}]
    rate, base = seen.questions_per_second, alone.questions_per_second
    added = None if rate is None or base is None else rate - base
    goals = [
        Goal(f"{database}: memory of a parked claim with its worker and connection", KIB_EACH, kib_each, "KiB"),
        Goal(f"{database}: statements/s that parked claims add while idle", STATEMENTS_PER_SECOND, added, "/s"),
    ]
    notes = [f"{database}: {count:,} claims were parked after {parked_after:.1f} s and watched until {held_for:.1f} s"]
    if parking.problem is not None:
        notes.append(f"{database}: NOT all stayed parked: {parking.problem}")
    return rows, goals, notes


async def measure(workshop: Workshop) -> Table:
    """On each database."""
    wanted = workshop.lengths.parked_claims
    count = connections_possible(wanted)
    if count < wanted:
        workshop.left_out.append(f"parked: only {count:,} of {wanted:,} claims, by the limit of open files (ulimit -n)")
    table = Table("parked", f"{count:,} parked claims, each by a worker and over a connection of its own")
    for database in workshop.databases:
        with workshop.attempt(f"parked, {database}"):
            rows, goals, notes = await park(workshop, database, count)
            table.rows += rows
            table.goals += goals
            table.notes += notes
    table.notes.append("KiB each: growth since the start; of it the claim: since all were connected and registered")
    return table
