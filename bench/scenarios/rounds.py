"""Interleaved rounds of pairs: every arrangement once per round, so that a busy stretch of the machine hits all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.figures import middle, p50_ms, p99_ms, spread
from bench.load import Measured, run_pairs
from bench.operators import apply_files
from bench.plans import fresh_name, plan_files
from bench.report import Row
from bench.targets import Target, seated
from bench.workshop import Lengths

UNLIMITED = 1_000_000_000
TASKS_AT_LEAST = 5_000
TASKS_PER_WORKER = 2_500


@dataclass
class Arrangement:
    """Servers to load together, a number of workers, and what the rounds showed."""

    name: str
    targets: Sequence[Target]
    workers: int
    plan: str | None = None
    tasks: int = 0
    rounds: list[Measured] = field(default_factory=list)

    async def run(self, lengths: Lengths) -> None:
        """One round, on a plan of its own where the server lets us apply one."""
        target = self.targets[0]
        plan, tasks = self.plan or fresh_name("pairs"), UNLIMITED
        if target.operator_token is not None:
            tasks = self.tasks or min(lengths.pair_tasks, TASKS_AT_LEAST + TASKS_PER_WORKER * self.workers)
            await apply_files(target, plan, plan_files(plan, "flat", tasks))
        async with seated(self.targets, self.workers) as seats:
            self.rounds.append(
                await run_pairs(
                    self.targets,
                    seats,
                    plan,
                    tasks=tasks,
                    seconds=lengths.seconds,
                    warm_up_seconds=lengths.warm_up_seconds,
                )
            )

    def median(self, figure: str) -> float:
        """The median over the rounds of one figure of `Measured`."""
        return middle(getattr(measured, figure) for measured in self.rounds)

    def row(self) -> Row:
        """The arrangement as a line of a table."""
        rounds = self.rounds
        known = bool(self.targets[0].server_pids)
        return {
            "server": self.name,
            "workers": self.workers,
            "pairs/s": self.median("pairs_per_second"),
            "lowest…highest": spread(measured.pairs_per_second for measured in rounds),
            "server µs/pair": self.median("server_us_per_pair") if known else None,
            "database µs/pair": self.median("database_us_per_pair") if self.targets[0].database_pid else None,
            "claim p50 ms": middle(p50_ms(m.claim_seconds) for m in rounds),
            "p99": middle(p99_ms(m.claim_seconds) for m in rounds),
            "complete p50 ms": middle(p50_ms(m.complete_seconds) for m in rounds),
            "p99 ": middle(p99_ms(m.complete_seconds) for m in rounds),
            "generator % of a core": middle(100 * m.spent.own_share for m in rounds),
        }


async def run_rounds(arrangements: Sequence[Arrangement], lengths: Lengths) -> None:
    """All arrangements in turn, as often as there are rounds."""
    for _ in range(lengths.rounds):
        for arrangement in arrangements:
            await arrangement.run(lengths)


def dry_notes(arrangements: Sequence[Arrangement]) -> list[str]:
    """A warning for every arrangement that found no more tasks while it was measured."""
    return [
        f"{each.name}, {each.workers} workers: the plan ran dry while it was measured, so pairs/s is too low"
        for each in arrangements
        if any(measured.ran_dry for measured in each.rounds)
    ]
