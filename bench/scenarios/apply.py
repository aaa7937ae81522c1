"""Applying a big plan, and what the other claims feel of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from bench.figures import middle, p50_ms, p99_ms
from bench.load import Load, LoadFailed, PairWorker, reached
from bench.operators import apply_files
from bench.plans import plan_file, plan_files
from bench.report import Goal, Row, Table
from bench.targets import Target, seated
from bench.workshop import Lengths, Workshop

WORKERS = 8
APPLY_SECONDS = 0.5
CLAIM_P99_MS = 100.0
QUIET_SECONDS = 0.5


@dataclass
class Observed:
    """Durations of applies, and of the claims made between and during them, all in seconds."""

    apply_seconds: list[float] = field(default_factory=list)
    claims_between: list[float] = field(default_factory=list)
    claims_meanwhile: list[float] = field(default_factory=list)


async def observe(target: Target, lengths: Lengths) -> Observed:
    """Workers work one plan off; again and again another plan is applied beside it."""
    observed = Observed()
    await apply_files(target, "beside", plan_files("beside", "flat", lengths.pair_tasks))
    load = Load("beside", lengths.pair_tasks)
    applied: list[tuple[float, float]] = []
    async with seated([target], WORKERS) as seats:
        for seat in seats:
            PairWorker(seat, load).start()
        for number in range(lengths.apply_rounds):
            name = f"big-{number}"
            body = plan_file(name, "fan-in", 0, lengths.apply_tasks)
            await asyncio.sleep(QUIET_SECONDS)
            began_at = time.perf_counter()
            observed.apply_seconds.append(await apply_files(target, name, [body]))
            applied.append((began_at, time.perf_counter()))
        load.stopping = True
        if not await reached(load.all_left, 30.0):
            load.fail("some claims got no answer within 30 s")
    if load.problem is not None:
        raise LoadFailed(f"{target.name}: {load.problem}")
    for asked_at, seconds in zip(load.claim_asked_at, load.claim_seconds, strict=True):
        overlaps = any(asked_at < end and asked_at + seconds > begin for begin, end in applied)
        (observed.claims_meanwhile if overlaps else observed.claims_between).append(seconds)
    return observed


async def measure(workshop: Workshop) -> Table:
    """On each database."""
    lengths = workshop.lengths
    title = f"applying a plan of {lengths.apply_tasks:,} tasks (every 11th needs ten) while {WORKERS} workers claim"
    table = Table("apply", title)
    for database in workshop.databases:
        with workshop.attempt(f"apply, {database}"):
            async with workshop.hall(database) as target:
                observed = await observe(target, lengths)
            table.rows.append(row_of(database, lengths.apply_tasks, observed))
            table.goals += goals_of(database, lengths.apply_tasks, observed)
    return table


def row_of(database: str, tasks: int, observed: Observed) -> Row:
    """A line of the table."""
    meanwhile = observed.claims_meanwhile
    return {
        "server": database,
        "tasks": tasks,
        "applies": len(observed.apply_seconds),
        "apply s (median)": middle(observed.apply_seconds),
        "longest": max(observed.apply_seconds),
        "claims between: p50 ms": p50_ms(observed.claims_between),
        "p99": p99_ms(observed.claims_between),
        "claims meanwhile": len(meanwhile),
        "p50 ms": p50_ms(meanwhile) if meanwhile else None,
        "p99 ": p99_ms(meanwhile) if meanwhile else None,
    }


def goals_of(database: str, tasks: int, observed: Observed) -> list[Goal]:
    """The promises about applying a plan."""
    p99 = p99_ms(observed.claims_meanwhile) if observed.claims_meanwhile else None
    return [
        Goal(f"{database}: apply {tasks:,} tasks", APPLY_SECONDS, middle(observed.apply_seconds), "s"),
        Goal(f"{database}: other claims' p99 meanwhile", CLAIM_P99_MS, p99, "ms"),
    ]
