"""Workers that claim and complete as fast as the server answers, and what was measured of them."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.client import Answer
from bench.processes import CpuWatch, Spent
from bench.targets import Seat, Target
from bench.wires import HeldTask, decode_claim, refusal_of

PATIENCE_SECONDS = 5.0
PARKED_PATIENCE_SECONDS = 0.2


class LoadFailed(Exception):
    """The server gave an answer that no pair should get, or dropped a connection."""


@dataclass
class Load:
    """One run: the budget of tasks, the samples, and when to stop."""

    plan: str
    claims_left: int
    claim_seconds: list[float] = field(default_factory=list)
    complete_seconds: list[float] = field(default_factory=list)
    claim_asked_at: list[float] = field(default_factory=list)
    stopping: bool = False
    empty_answers: int = 0
    problem: str | None = None
    working: int = 0
    used_up: asyncio.Event = field(default_factory=asyncio.Event)
    all_left: asyncio.Event = field(default_factory=asyncio.Event)

    def may_claim(self) -> bool:
        """Whether another claim may start; uses one of the budget."""
        if self.stopping or self.claims_left <= 0:
            return False
        self.claims_left -= 1
        if self.claims_left == 0:
            self.used_up.set()
        return True

    def fail(self, why: str) -> None:
        """Stop the run because of an answer that should not be."""
        self.problem = self.problem or why
        self.stopping = True
        self.used_up.set()

    def left(self) -> None:
        """A worker ended."""
        self.working -= 1
        if self.working == 0:
            self.all_left.set()


class PairWorker:
    """Claims, completes, and again, in callbacks: no task and no queue between an answer and the next request."""

    __slots__ = ("asked_at", "claim_request", "connection", "load", "parked", "speaker")

    def __init__(self, seat: Seat, load: Load) -> None:
        self.connection = seat.connection
        self.speaker = seat.speaker
        self.load = load
        self.claim_request = seat.speaker.claim(load.plan)
        self.asked_at = 0.0
        self.parked = False

    def start(self) -> None:
        """Begin working."""
        self.load.working += 1
        self.connection.on_loss = self.lost
        self.claim()

    def claim(self) -> None:
        """Ask for a task, or leave."""
        if not self.load.may_claim():
            self.load.left()
            return
        self.parked = True
        self.asked_at = time.perf_counter()
        self.connection.send(self.claim_request, self.claimed)

    def claimed(self, status: int, body: bytes) -> None:
        """A task came: settle it at once."""
        now = time.perf_counter()
        self.parked = False
        load = self.load
        if status == 200:
            load.claim_seconds.append(now - self.asked_at)
            load.claim_asked_at.append(self.asked_at)
            self.settle(decode_claim(body).task)
        elif status == 204:
            load.empty_answers += 1
            self.claim()
        else:
            self.refused("claim", status, body)

    def settle(self, task: HeldTask) -> None:
        """Complete the task."""
        self.asked_at = time.perf_counter()
        self.connection.send(self.speaker.complete(task), self.completed)

    def completed(self, status: int, body: bytes) -> None:
        """The task is done: next."""
        if status == 200:
            self.load.complete_seconds.append(time.perf_counter() - self.asked_at)
            self.claim()
        else:
            self.refused("complete", status, body)

    def refused(self, step: str, status: int, body: bytes) -> None:
        """An answer that ends the run."""
        why = refusal_of(self.speaker.wire, Answer(status, body))
        self.load.fail(f"{step} by {self.speaker.identity.worker_id}: {why}")
        self.load.left()

    def lost(self, why: str) -> None:
        """The connection broke."""
        self.load.fail(why)
        self.load.left()


@dataclass(frozen=True)
class Measured:
    """What one run of pairs showed. `ran_dry`: claims found nothing, so pairs/s is not the server's limit."""

    workers: int
    pairs: int
    spent: Spent
    claim_seconds: list[float]
    complete_seconds: list[float]
    ran_dry: bool

    @property
    def pairs_per_second(self) -> float:
        """Completed pairs per second of the window."""
        return self.pairs / self.spent.elapsed_seconds

    @property
    def server_us_per_pair(self) -> float:
        """CPU microseconds of the server's processes per pair."""
        return self.spent.server_seconds * 1e6 / self.pairs

    @property
    def database_us_per_pair(self) -> float:
        """CPU microseconds of the database server's processes per pair."""
        return self.spent.database_seconds * 1e6 / self.pairs


async def run_pairs(
    targets: Sequence[Target], seats: Sequence[Seat], plan: str, *, tasks: int, seconds: float, warm_up_seconds: float
) -> Measured:
    """Let `seats` work `plan` off for `seconds` after a warm-up, or until `tasks` claims were made.

    All targets are accounted together (replicas on one database). Raises LoadFailed on any refusal.
    """
    load = Load(plan, tasks)
    workers = [PairWorker(seat, load) for seat in seats]
    gc.collect()
    gc.disable()
    try:
        for worker in workers:
            worker.start()
        if await reached(load.used_up, warm_up_seconds) and load.problem is None:
            load.fail(f"{tasks:,} tasks were used up before the measured time began")
        load.claim_seconds.clear()
        load.complete_seconds.clear()
        load.claim_asked_at.clear()
        watch = CpuWatch(tuple(pid for target in targets for pid in target.server_pids), targets[0].database_pid)
        await reached(load.used_up, seconds)
        spent = watch.spent()
    finally:
        gc.enable()
    claims, completes = list(load.claim_seconds), list(load.complete_seconds)
    load.stopping = True
    parked = sum(worker.parked and time.perf_counter() - worker.asked_at > seconds / 2 for worker in workers)
    if not await reached(load.all_left, PARKED_PATIENCE_SECONDS if parked else PATIENCE_SECONDS) and not parked:
        load.fail("some requests got no answer within 5 s after the run")
    if load.problem is not None:
        raise LoadFailed(f"{targets[0].name}, {len(seats)} workers: {load.problem}")
    if not completes:
        raise LoadFailed(f"{targets[0].name}: no pair in {seconds} s; does plan {plan!r} have ready tasks?")
    return Measured(len(seats), len(completes), spent, claims, completes, parked > 0 or load.empty_answers > 0)


async def reached(event: asyncio.Event, seconds: float) -> bool:
    """Wait for `event` at most `seconds`; whether it came."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
