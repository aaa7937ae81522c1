"""What a claim costs when little, much, and very much is ready."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bench.figures import middle, p50_ms, p99_ms
from bench.operators import apply_files
from bench.plans import plan_files, ready_of
from bench.processes import CpuWatch, Spent
from bench.report import Goal, Row, Table
from bench.scenarios.wake import must
from bench.targets import Seat, Target, seated
from bench.wires import HeldTask, Refused, decode_claim, refusal_of
from bench.workshop import Lengths, Workshop

WORKERS = 8
TIMES_SMALLEST = 1.5


@dataclass
class Stock:
    """A hall that holds one plan, and what its claims cost."""

    target: Target
    shape: str
    tasks: int
    apply_seconds: float
    seats: list[Seat] = field(default_factory=list)
    claim_seconds: list[float] = field(default_factory=list)
    server_us: list[float] = field(default_factory=list)
    database_us: list[float] = field(default_factory=list)
    complete_us: list[float] = field(default_factory=list)

    @property
    def plan(self) -> str:
        """The plan's name."""
        return f"stock-{self.shape}"

    async def claim_some(self, seat: Seat, count: int) -> list[tuple[Seat, HeldTask]]:
        """One worker claims `count` tasks in a row."""
        request = seat.speaker.claim(self.plan)
        held = []
        for _ in range(count):
            asked_at = time.perf_counter()
            answer = await seat.connection.call(request)
            self.claim_seconds.append(time.perf_counter() - asked_at)
            if answer.status != 200:
                raise Refused(f"{self.target.name}, {self.tasks} tasks: claim: {refusal_of('plans', answer)}")
            held.append((seat, decode_claim(answer.body).task))
        return held

    async def round(self, claims: int, *, counted: bool) -> None:
        """All workers claim; then what they hold is completed, which readies what waited for it."""
        each = max(1, min(claims, ready_of(self.shape, self.tasks) // 2) // len(self.seats))
        watch = CpuWatch(self.target.server_pids, self.target.database_pid)
        held = await asyncio.gather(*(self.claim_some(seat, each) for seat in self.seats))
        claiming = watch.spent()
        watch = CpuWatch(self.target.server_pids, self.target.database_pid)
        await asyncio.gather(*(complete_all(mine) for mine in held))
        if counted:
            self.count(claiming, watch.spent(), each * len(self.seats))
        else:
            self.claim_seconds.clear()

    def count(self, claiming: Spent, completing: Spent, claims: int) -> None:
        """Note the CPU of one round."""
        self.server_us.append(claiming.server_seconds * 1e6 / claims)
        self.database_us.append(claiming.database_seconds * 1e6 / claims)
        self.complete_us.append((completing.server_seconds + completing.database_seconds) * 1e6 / claims)


async def complete_all(held: list[tuple[Seat, HeldTask]]) -> None:
    """One worker completes what it holds."""
    for seat, task in held:
        await must(seat, seat.speaker.complete(task), "complete")


async def stocked(stack: AsyncExitStack, workshop: Workshop, database: str, shape: str, tasks: int) -> Stock:
    """A hall of its own with one plan of that size, so that nothing else is in its database."""
    target = await stack.enter_async_context(workshop.hall(database))
    name = f"stock-{shape}"
    seconds = await apply_files(target, name, plan_files(name, shape, tasks))
    return Stock(target, shape, tasks, seconds)


async def compare(workshop: Workshop, database: str, shape: str) -> list[Stock]:
    """All sizes at once, each in its own hall; rounds of claims in turn."""
    lengths: Lengths = workshop.lengths
    async with AsyncExitStack() as stack:
        stocks = [await stocked(stack, workshop, database, shape, tasks) for tasks in lengths.backlog_sizes]
        for stock in stocks:  # not before all are stocked: a hall closes connections that are idle for so long
            stock.seats = await stack.enter_async_context(seated([stock.target], WORKERS))
        for number in range(lengths.backlog_rounds):
            for stock in stocks:
                await stock.round(lengths.backlog_claims, counted=number > 0)
    return stocks


def rows_of(database: str, stocks: Sequence[Stock]) -> list[Row]:
    """Each size, compared with the smallest."""
    rows: list[Row] = []
    smallest = stocks[0]
    for stock in stocks:
        cpu, p50 = middle(stock.server_us), p50_ms(stock.claim_seconds)
        rows.append(
            {
                "server": database,
                "shape": stock.shape,
                "tasks": stock.tasks,
                "ready": ready_of(stock.shape, stock.tasks),
                "applied in s": stock.apply_seconds,
                "server µs/claim": cpu,
                "database µs/claim": middle(stock.database_us) if stock.target.database_pid else None,
                "claim p50 ms": p50,
                "p99": p99_ms(stock.claim_seconds),
                "all CPU µs/complete": middle(stock.complete_us),
                "× smallest: CPU": total_us(stock) / total_us(smallest),
                "p50": p50 / p50_ms(smallest.claim_seconds),
            }
        )
    return rows


def goal_of(database: str, smallest: Stock, biggest: Stock) -> Goal:
    """The promise about cost and backlog."""
    promise = f"{database}, {biggest.shape}: CPU of a claim at {biggest.tasks:,} tasks over {smallest.tasks:,}"
    return Goal(promise, TIMES_SMALLEST, total_us(biggest) / total_us(smallest), "times")


def total_us(stock: Stock) -> float:
    """CPU of a claim, the database's included."""
    return middle(stock.server_us) + middle(stock.database_us)


async def measure(workshop: Workshop) -> Table:
    """Every shape on every database."""
    rows: list[Row] = []
    goals: list[Goal] = []
    for shape in workshop.lengths.backlog_shapes:
        for database in workshop.databases:
            with workshop.attempt(f"backlog, {database}, {shape}"):
                stocks = await compare(workshop, database, shape)
                rows += rows_of(database, stocks)
                goals.append(goal_of(database, stocks[0], stocks[-1]))
    notes = [
        f"{WORKERS} workers claim in bursts, then complete what they hold; the first round only warms up",
        "each size has a hall and a database of its own; rounds go from size to size",
        "chains are ten long, so a tenth is ready at a time; fan-in: every 11th task needs the ten before it",
    ]
    return Table("backlog", "what a claim costs as the backlog grows", rows, goals, notes)
