"""One hall against two on one PostgreSQL."""

from __future__ import annotations

from bench.report import Table
from bench.scenarios.rounds import Arrangement, dry_notes, run_rounds
from bench.workshop import Workshop


async def measure(workshop: Workshop) -> Table:
    """The same numbers of workers on one process, and dealt out over two, in interleaved rounds."""
    lengths = workshop.lengths
    if "postgres" not in workshop.databases:
        workshop.left_out.append("replicas: there is no PostgreSQL")
        return Table("replicas", "two halls on one PostgreSQL: not measured")
    async with (
        workshop.halls("postgres", 1, pinned=False) as one,
        workshop.halls("postgres", 2, pinned=False) as two,
    ):
        arrangements = [
            Arrangement(name, targets, workers)
            for workers in lengths.replica_worker_counts
            for name, targets in (("1 hall", one), ("2 halls", two))
        ]
        await run_rounds(arrangements, lengths)
    rows = []
    for each in arrangements:
        alone = next(other for other in arrangements if other.workers == each.workers)
        ratio = each.median("pairs_per_second") / alone.median("pairs_per_second")
        rows.append({**each.row(), "× 1 hall": ratio})
    notes = ["no hall is pinned here: with few cores this shows that the shape is right, not how it scales"]
    notes += dry_notes(arrangements)
    return Table("replicas", "claim+complete pairs with two halls on one PostgreSQL", rows, [], notes)
