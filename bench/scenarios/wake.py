"""From a unit of work becoming available to a parked claim's answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bench.client import Answer, connect, head_of, whole
from bench.figures import p50_ms, p99_ms
from bench.load import LoadFailed
from bench.operators import apply_files
from bench.plans import fresh_name, plan_file
from bench.report import Goal, Row, Table
from bench.targets import Seat, Target, seated
from bench.wires import HeldTask, decode_claim, refusal_of
from bench.workshop import Workshop

PARKED = 8
P50_MS = 3.0
P99_MS = 15.0
TIMES_ACROSS = 2.0
OUTSIDE_ROUNDS = 30
SETTLE_SECONDS = 0.02
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Woken:
    """One round: seconds from asking for the change, to its answer and to the parked claim's answer."""

    claim_seconds: float
    change_seconds: float


class Parking:
    """Seats whose claims are parked on one plan; what they are handed comes out of `next`."""

    def __init__(self, seats: Sequence[Seat], plan: str) -> None:
        self.plan = plan
        self.handed: asyncio.Queue[tuple[float, Seat, HeldTask]] = asyncio.Queue()
        self.problem: str | None = None
        for seat in seats:
            self.park(seat)

    def park(self, seat: Seat) -> None:
        """Claim, and claim again after every empty answer."""

        def answered(status: int, body: bytes) -> None:
            if status == 200:
                self.handed.put_nowait((time.perf_counter(), seat, decode_claim(body).task))
            elif status == 204:
                self.park(seat)
            else:
                self.problem = f"claim: {refusal_of(seat.speaker.wire, Answer(status, body))}"

        seat.connection.on_loss = self.lost
        seat.connection.send(seat.speaker.claim(self.plan), answered)

    def lost(self, why: str) -> None:
        """A connection broke."""
        self.problem = why

    async def next(self, who: str) -> tuple[float, Seat, HeldTask]:
        """When, to whom and what was handed over; LoadFailed if nothing comes in a minute."""
        try:
            return await asyncio.wait_for(self.handed.get(), PATIENCE_SECONDS)
        except TimeoutError:
            reason = self.problem or f"no parked claim was answered within {PATIENCE_SECONDS:.0f} s"
            raise LoadFailed(f"{who}: {reason}") from None


async def pause() -> None:
    """Long enough for claims to be parked, at no fixed beat with anything that the server does by the clock."""
    await asyncio.sleep(SETTLE_SECONDS * (1 + random.random()))


async def by_enqueue(parked_at: Target, enqueued_at: Target, rounds: int) -> list[Woken]:
    """Add one task to the plan as the operator while claims are parked, complete it, park again."""
    plan = fresh_name("wake-add")
    await apply_files(enqueued_at, plan, [plan_file(plan, "flat", 0, 0)])
    operator = await connect(enqueued_at.root)
    head = head_of(enqueued_at.root, "PUT", f"{enqueued_at.root.prefix}/admin/plans/{plan}", enqueued_at.operator_token)
    woken = []
    async with seated([parked_at], PARKED) as seats:
        parking = Parking(seats, plan)
        for number in range(rounds):
            request = whole(head, plan_file(plan, "flat", number, 1))
            await pause()
            asked_at = time.perf_counter()
            answer = await operator.call(request)
            acknowledged_at = time.perf_counter()
            if answer.status not in (200, 201):
                raise LoadFailed(f"{enqueued_at.name}: adding a task: {refusal_of('plans', answer)}")
            claimed_at, seat, task = await parking.next(parked_at.name)
            woken.append(Woken(claimed_at - asked_at, acknowledged_at - asked_at))
            await must(seat, seat.speaker.complete(task), "complete")
            parking.park(seat)
    await operator.close()
    return woken


async def by_release(target: Target, plan: str, rounds: int) -> list[Woken]:
    """Give the plan's only ready task back while others are parked: works on any server, without an operator."""
    woken = []
    async with seated([target], PARKED + 1) as seats:
        parking = Parking(seats, plan)
        _, seat, task = await parking.next(target.name)
        for _ in range(rounds):
            await pause()
            asked_at = time.perf_counter()
            await must(seat, seat.speaker.release(task), "release")
            acknowledged_at = time.perf_counter()
            claimed_at, next_seat, task = await parking.next(target.name)
            woken.append(Woken(claimed_at - asked_at, acknowledged_at - asked_at))
            parking.park(seat)
            seat = next_seat
        await must(seat, seat.speaker.release(task), "release")
    return woken


async def must(seat: Seat, request: bytes, step: str) -> None:
    """Ask, and accept 200 alone."""
    answer = await seat.connection.call(request)
    if answer.status != 200:
        raise LoadFailed(f"{step}: {refusal_of(seat.speaker.wire, answer)}")


@dataclass(frozen=True)
class Way:
    """One way to wake, and where."""

    server: str
    how: str
    run: Callable[[int], Awaitable[list[Woken]]]
    rounds: int


def ways_of(target: Target, rounds: int) -> list[Way]:
    """Both ways on one server process that we rule."""

    async def release(count: int) -> list[Woken]:
        plan = fresh_name("wake-release")
        await apply_files(target, plan, [plan_file(plan, "flat", 0, 1)])
        return await by_release(target, plan, count)

    return [
        Way(target.name, "add a task", lambda count: by_enqueue(target, target, count), rounds),
        Way(target.name, "release", release, rounds),
    ]


async def measure(workshop: Workshop) -> Table:
    """One process on each database, across two replicas, and an outside server if one is named."""
    rounds = workshop.lengths.wake_rounds
    notes = [f"{PARKED} claims are parked; each round changes one thing and starts 20 to 40 ms after the last"]
    async with AsyncExitStack() as stack:
        ways: list[Way] = []
        for database in workshop.databases if workshop.runs_halls else ():
            ways += ways_of(await stack.enter_async_context(workshop.hall(database)), rounds)
        if workshop.runs_halls and "postgres" in workshop.databases:
            one, other = await stack.enter_async_context(workshop.halls("postgres", 2))
            ways.append(Way("2 × postgres", "add at the other", lambda n: by_enqueue(one, other, n), rounds))
        if workshop.outside is not None:
            ways += outside_ways(workshop, min(rounds, OUTSIDE_ROUNDS))
        rows = []
        for way in ways:
            with workshop.attempt(f"wake, {way.server}, {way.how}"):
                rows.append(row_of(way, await way.run(way.rounds)))
    title = "from the request that makes a task ready to a parked claim's answer"
    return Table("wake", title, rows, goals_of(rows), notes)


def outside_ways(workshop: Workshop, rounds: int) -> list[Way]:
    """What can be done at a server that somebody else started."""
    outside = workshop.outside
    assert outside is not None
    target, plan = outside.target, outside.wake_plan
    if target.operator_token is not None:
        return ways_of(target, rounds)
    if plan is None:
        workshop.left_out.append("wake at the outside server: name a plan with exactly one ready task by --wake-plan")
        return []
    return [Way(target.name, "release", lambda count: by_release(target, plan, count), rounds)]


def row_of(way: Way, woken: list[Woken]) -> Row:
    """One way as a line of the table."""
    claims, changes = [each.claim_seconds for each in woken], [each.change_seconds for each in woken]
    return {
        "server": way.server,
        "how": way.how,
        "rounds": len(woken),
        "claim p50 ms": p50_ms(claims),
        "p99": p99_ms(claims),
        "highest": max(claims) * 1e3,
        "change's own answer p50 ms": p50_ms(changes),
        "p99 ": p99_ms(changes),
    }


def goals_of(rows: list[Row]) -> list[Goal]:
    """The promises about waking."""
    goals = []
    found = {row["server"]: row for row in rows if str(row["how"]).startswith("add")}
    for name in ("sqlite", "postgres"):
        if name in found:
            goals.append(Goal(f"{name}: added → parked claim p50", P50_MS, number(found[name], "claim p50 ms"), "ms"))
            goals.append(Goal(f"{name}: added → parked claim p99", P99_MS, number(found[name], "p99"), "ms"))
    if "2 × postgres" in found and "postgres" in found:
        for column, limit in (("claim p50 ms", P50_MS), ("p99", P99_MS)):
            promise = f"across replicas: {column.removesuffix(' ms')}, twice one process's limit"
            goals.append(Goal(promise, TIMES_ACROSS * limit, number(found["2 × postgres"], column), "ms"))
    return goals


def number(row: Row, column: str) -> float:
    """A cell that is a number."""
    value = row[column]
    assert isinstance(value, int | float)
    return float(value)
