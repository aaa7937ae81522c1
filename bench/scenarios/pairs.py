"""Durable claim+complete pairs, next to pairs over the same HTTP front that store nothing."""

from __future__ import annotations

from contextlib import AsyncExitStack

from bench.report import Goal, Row, Table
from bench.scenarios.rounds import Arrangement, dry_notes, run_rounds
from bench.targets import Target
from bench.workshop import Workshop

SERVER_OVER_NOOP_US = 80.0
DATABASE_US = 150.0
GOAL_WORKERS = 64
TIMES_OUTSIDE = {"sqlite": 20.0, "postgres": 15.0}


async def measure(workshop: Workshop) -> Table:
    """All worker counts on the no-op front, on each database, and on an outside server if one is named."""
    lengths = workshop.lengths
    async with AsyncExitStack() as stack:
        targets: list[Target] = []
        if workshop.runs_halls:
            targets.append(await stack.enter_async_context(workshop.noop()))
            targets += [await stack.enter_async_context(workshop.hall(each)) for each in workshop.databases]
        plan = None
        if workshop.outside is not None:
            targets.append(workshop.outside.target)
            plan = workshop.outside.plan
        arrangements = [
            Arrangement(target.name, [target], workers, plan if target.operator_token is None else None)
            for workers in lengths.worker_counts
            for target in targets
        ]
        await run_rounds(arrangements, lengths)
    notes = ["a no-op pair decodes, checks the token and encodes like a real one; it decides and stores nothing"]
    return Table(
        "pairs",
        f"claim+complete pairs, medians of {lengths.rounds} interleaved rounds of {lengths.seconds} s",
        rows_of(arrangements),
        goals_of(arrangements, workshop),
        notes + dry_notes(arrangements),
    )


def beside(arrangements: list[Arrangement], name: str, workers: int) -> Arrangement | None:
    """The arrangement of a server with as many workers."""
    return next((each for each in arrangements if each.name == name and each.workers == workers), None)


def rows_of(arrangements: list[Arrangement]) -> list[Row]:
    """Every arrangement, compared with the no-op front at the same number of workers."""
    rows: list[Row] = []
    for each in arrangements:
        row = each.row()
        noop = beside(arrangements, "no-op", each.workers)
        if noop is not None:
            row["µs over no-op"] = each.median("server_us_per_pair") - noop.median("server_us_per_pair")
            row["× no-op pairs/s"] = each.median("pairs_per_second") / noop.median("pairs_per_second")
        rows.append(row)
    return rows


def goals_of(arrangements: list[Arrangement], workshop: Workshop) -> list[Goal]:
    """The promises about cost, at 64 workers (or the most that were run)."""
    workers = GOAL_WORKERS if GOAL_WORKERS in workshop.lengths.worker_counts else max(workshop.lengths.worker_counts)
    noop = beside(arrangements, "no-op", workers)
    goals = []
    for database, times_outside in TIMES_OUTSIDE.items():
        found = beside(arrangements, database, workers)
        if found is None:
            continue
        if noop is not None:
            over = found.median("server_us_per_pair") - noop.median("server_us_per_pair")
            promise = f"{database}: server CPU per pair over the no-op front's, {workers} workers"
            goals.append(Goal(promise, SERVER_OVER_NOOP_US, over, "µs"))
        if database == "postgres":
            goals.append(Goal("PostgreSQL's own CPU per pair", DATABASE_US, found.median("database_us_per_pair"), "µs"))
        outside = beside(arrangements, workshop.outside.target.name, workers) if workshop.outside else None
        if outside is not None:
            times = found.median("pairs_per_second") / outside.median("pairs_per_second")
            promise = f"{database}: pairs/s over {outside.name}'s, {workers} workers"
            goals.append(Goal(promise, times_outside, times, "times", at_least=True))
    return goals
