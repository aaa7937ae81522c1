"""How many pairs per second the load generator itself can make, against a server in plain dicts."""

from __future__ import annotations

from bench.figures import middle
from bench.report import Table
from bench.scenarios.rounds import Arrangement, run_rounds
from bench.workshop import Workshop

TIMES_AS_MANY_TASKS = 4


async def measure(workshop: Workshop) -> Table:
    """Pairs against the in-memory server."""
    async with workshop.memory() as target:
        counts, tasks = workshop.lengths.worker_counts, TIMES_AS_MANY_TASKS * workshop.lengths.pair_tasks
        arrangements = [Arrangement(target.name, [target], workers, tasks=tasks) for workers in counts]
        await run_rounds(arrangements, workshop.lengths)
    rows = []
    for each in arrangements:
        generator_us = middle(1e6 * measured.spent.own_seconds / measured.pairs for measured in each.rounds)
        rows.append({**each.row(), "generator µs/pair": generator_us})
    return Table("ceiling", "what the load generator can do (claim + complete against plain dicts, no disk)", rows)
