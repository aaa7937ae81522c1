"""Replicas at once on one PostgreSQL database, in an order that row locks of a third party stage."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import (
    Applied,
    Apply,
    Ask,
    PausePlan,
    Register,
    Settle,
    SweepSilent,
    Take,
    Taken,
    TaskView,
    Unblock,
)
from hiringhall.ports.questions import FindPlan, FindTasks, ListTasks
from hiringhall.storage.postgres.store import PostgresStore
from hiringhall.storage.statements import load_migrations
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wakeups.postgres import RingListener
from tests.waiting import until_async

LANE = plan_lane("p")
ANN, BOB = "plan:ann", "plan:bob"


class Replicas:
    """Two stores on one database, and a third connection that holds locks and looks who waits."""

    def __init__(self, url: str, one: PostgresStore, other: PostgresStore, observer: Any) -> None:
        self.url, self.one, self.other, self.observer = url, one, other, observer

    async def plan(self, *tasks: tuple[str, tuple[str, ...]]) -> None:
        """Store a plan of these tasks, and register both workers."""
        asks: list[Ask] = [Apply(file_of(*tasks)), Register(ANN), Register(BOB)]
        for ask in asks:
            await outcome(self.one, ask)

    async def works(self) -> dict[str, int]:
        """The numbers of the units by task id."""
        return {row.view.task_id: row.view.work for row in await self.one.read(ListTasks("p"))}

    async def state(self, task_id: str) -> tuple[State, int]:
        """The state of a task and on how much it waits."""
        (row,) = await self.one.read(FindTasks(task_id, "p"))
        return row.view.state, row.waiting_on

    @asynccontextmanager
    async def locked(self, table: str, condition: str) -> AsyncIterator[None]:
        """Hold the locks of some rows for the time of a `with` block."""
        async with self.observer.transaction():
            await self.observer.execute(f"SELECT FROM {table} WHERE {condition} FOR UPDATE")
            yield

    async def blocked(self) -> int:
        """How many statements of the replicas wait for locks now."""
        await self.observer.execute("SELECT pg_stat_clear_snapshot()")
        found: int = await self.observer.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return found

    async def waiting(self, count: int) -> None:
        """Return when so many statements of the replicas wait for locks."""

        async def enough() -> bool:
            return await self.blocked() >= count

        await until_async(enough, waiting_for=f"{count} to wait for a lock")

    async def books_balance(self) -> None:
        """Counters equal the open edges, and the counts equal the units."""
        wrong = await self.observer.fetch(
            "SELECT id FROM work WHERE waiting_on <> (SELECT count(*) FROM unmet WHERE dependent = work.id)"
        )
        assert not wrong
        plan = await self.one.read(FindPlan("p"))
        counted = await self.observer.fetch("SELECT state, count(*) AS n FROM work GROUP BY state")
        assert dict(plan.counts) == {row["state"]: row["n"] for row in counted}


def file_of(*tasks: tuple[str, tuple[str, ...]]) -> PlanFile:
    """A plan file of tasks with their dependencies."""
    return PlanFile("p", "p", tuple(TaskSpec(name, needs, 2, '"description":""') for name, needs in tasks))


async def outcome(store: PostgresStore, ask: Ask) -> Any:
    """The outcome of one ask; an error of its own is raised."""
    (found,) = (await store.commit([ask])).outcomes
    if isinstance(found, BaseException):
        raise found
    return found


async def take(store: PostgresStore, worker: str, limit: int = 1) -> tuple[TaskView, ...]:
    """Take from the plan's lane."""
    found: Taken = await outcome(store, Take(worker, (LANE,), limit))
    return found.tasks


def completion(view: TaskView, worker: str = ANN) -> Settle:
    """The ask that completes what was taken."""
    return Settle(worker, view.task_id, view.version, Move.COMPLETE)


def begun(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Let something run beside the test."""
    return asyncio.get_running_loop().create_task(work)


@pytest.fixture
async def replicas(postgres_url: str) -> AsyncIterator[Replicas]:
    """Two replicas on an empty database."""
    one, other = await PostgresStore.open(postgres_url), await PostgresStore.open(postgres_url)
    observer = await asyncpg.connect(postgres_url)
    yield Replicas(postgres_url, one, other, observer)
    await observer.close()
    await one.close()
    await other.close()


async def test_apply_and_settle_on_one_edge(replicas: Replicas) -> None:
    """A dependency that is settled while an apply still sees it open leaves an edge that Unblock closes."""
    await replicas.plan(("a", ()))
    (held,) = await take(replicas.one, ANN)
    # The apply has read the states of tasks by the time when it stores the plan's row.
    async with replicas.locked("plan", "id = 'p'"):
        applying = begun(outcome(replicas.other, Apply(file_of(("a", ()), ("b", ("a",))))))
        await replicas.waiting(1)
        settled = await outcome(replicas.one, completion(held))
        assert settled.state is State.DONE
    assert (await applying).added == 1
    assert await replicas.state("b") == (State.WAITING, 1)
    healed = await replicas.other.commit([Unblock(applied_within_ms=60_000)])
    assert healed.rings == {topic_of_plan("p"): 1}
    assert await replicas.state("b") == (State.READY, 0)
    await replicas.books_balance()


async def test_an_apply_that_waited_for_another_sees_what_it_stored(replicas: Replicas) -> None:
    """An apply that waits for another one of the plan compares its file with what that one stored."""
    await replicas.plan(("a", ()))
    async with replicas.locked("plan", "id = 'p'"):
        first = begun(outcome(replicas.one, Apply(file_of(("b", ())))))
        await replicas.waiting(1)
        second = begun(outcome(replicas.other, Apply(file_of(("b", ()), ("c", ("b",))))))
        await replicas.waiting(2)
    assert (await first).added == 1
    found = await second
    assert (found.added, found.changed, found.unchanged) == (1, 0, 1)
    assert replicas.other.repeated == 0
    assert [row.view.task_id for row in await replicas.one.read(ListTasks("p"))] == ["a", "b", "c"]
    await replicas.books_balance()


async def test_settles_on_shared_dependents(replicas: Replicas) -> None:
    """Two replicas that settle the dependencies of the same tasks, in opposite order, lower each counter right."""
    await replicas.plan(("a", ()), ("b", ()), ("c", ("a", "b")), ("d", ("b", "a")), ("e", ("a",)), ("f", ("b",)))
    held = {view.task_id: view for view in await take(replicas.one, ANN, 2)}
    works = await replicas.works()
    async with replicas.locked("work", f"id IN ({works['c']}, {works['d']})"):
        settling = [
            begun(outcome(replicas.one, completion(held["a"]))),
            begun(outcome(replicas.other, completion(held["b"]))),
        ]
        await replicas.waiting(2)
    assert [view.state for view in await asyncio.gather(*settling)] == [State.DONE, State.DONE]
    assert {await replicas.state(name) for name in "cdef"} == {(State.READY, 0)}
    await replicas.books_balance()


async def test_settles_by_batches_in_opposite_order(replicas: Replicas) -> None:
    """Batches about the same units in opposite order do not lock each other out; each unit is settled once."""
    await replicas.plan(*((f"t{number}", ()) for number in range(20)))
    held = await take(replicas.one, ANN, 20)
    works = await replicas.works()
    async with replicas.locked("work", f"id = {works['t10']}"):
        settling = [
            begun(replicas.one.commit([completion(view) for view in held])),
            begun(replicas.other.commit([completion(view) for view in reversed(held)])),
        ]
        await replicas.waiting(2)
    one, other = await asyncio.gather(*settling)
    kinds = [{type(found) for found in committed.outcomes} for committed in (one, other)]
    assert sorted(map(str, kinds)) == sorted(map(str, [{TaskView}, {Conflict}]))
    await replicas.books_balance()


async def test_sweep_and_settle(replicas: Replicas) -> None:
    """A unit that its silent holder settles while a sweep is about to judge it stays settled."""
    await replicas.plan(("a", ()))
    (held,) = await take(replicas.one, ANN)
    works = await replicas.works()
    late = await replicas.observer.fetchval("SELECT clock_ms()") + 3_600_000
    async with replicas.locked("work", f"id = {works['a']}"):
        settling = begun(outcome(replicas.one, completion(held)))
        await replicas.waiting(1)
        sweeping = begun(replicas.other.commit([SweepSilent()], now=late))
        await replicas.waiting(2)
    assert (await settling).state is State.DONE
    (swept,) = (await sweeping).outcomes
    assert swept.changed == 0
    assert await replicas.state("a") == (State.DONE, 0)
    await replicas.books_balance()


async def test_take_after_a_pause(replicas: Replicas) -> None:
    """A take that is asked after the pause was acknowledged gets nothing, on whatever replica."""
    await replicas.plan(("a", ()), ("b", ()))
    assert await outcome(replicas.one, PausePlan("p", True))
    assert await take(replicas.other, ANN) == ()
    assert await outcome(replicas.other, PausePlan("p", False))
    assert len(await take(replicas.one, ANN, 2)) == 2


async def test_the_last_two_tasks(replicas: Replicas) -> None:
    """Two replicas that take the last two tasks at once are each handed one, and neither waits for the other."""
    await replicas.plan(("a", ()), ("b", ()))
    works = await replicas.works()
    # The first one's statement is held up by the lock of its hand-over, when it has the first task's row already.
    async with replicas.observer.transaction():
        await replicas.observer.execute(
            "INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)"
            " VALUES ($1, 'a', 2, $2, 'p', 'first', 0)",
            ANN,
            works["a"],
        )
        first = begun(take(replicas.one, ANN))
        await replicas.waiting(1)
        (second,) = await take(replicas.other, BOB)
        assert second.task_id == "b"
        nothing: Taken = await outcome(replicas.other, Take(BOB, (LANE,)))
        assert nothing.tasks == ()
        await replicas.observer.execute("DELETE FROM hand_over WHERE worker = $1", ANN)
    assert [view.task_id for view in await first] == ["a"]
    await replicas.books_balance()


async def test_what_another_replica_is_taking(replicas: Replicas) -> None:
    """A take from several lanes passes over what another replica is taking, and does not wait for it."""
    await replicas.plan(("a", ()), ("b", ()))
    works = await replicas.works()
    async with replicas.locked("work", f"id = {works['a']}"):
        taking = outcome(replicas.other, Take(BOB, (LANE, plan_lane("none")), 2))
        taken: Taken = await asyncio.wait_for(taking, 10)
    assert [view.task_id for view in taken.tasks] == ["b"]
    assert [view.task_id for view in await take(replicas.one, ANN, 2)] == ["a"]
    await replicas.books_balance()


async def test_a_claim_and_its_repetition_at_another_replica(replicas: Replicas) -> None:
    """A claim with a key and its repetition at another replica at once are handed one task, not two."""
    await replicas.plan(("a", ()), ("b", ()))
    works = await replicas.works()
    claim = Take(ANN, (LANE,), key=b"k" * 32)
    async with replicas.observer.transaction():
        await replicas.observer.execute(
            "INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)"
            " VALUES ($1, 'a', 2, $2, 'p', 'first', 0)",
            ANN,
            works["a"],
        )
        first = begun(outcome(replicas.one, claim))
        await replicas.waiting(1)
        second = begun(outcome(replicas.other, claim))
        await replicas.waiting(2)
        await replicas.observer.execute("DELETE FROM hand_over WHERE worker = $1", ANN)
    told: list[Taken] = [await first, await second]
    assert [[(view.task_id, view.delivery) for view in taken.tasks] for taken in told] == [[("a", 1)], [("a", 2)]]
    await replicas.books_balance()


async def test_two_registrations_of_one_id(replicas: Replicas) -> None:
    """Of two registrations of one id at once, one is admitted."""
    async with replicas.observer.transaction():
        await replicas.observer.execute("LOCK TABLE worker IN SHARE MODE")
        registering = [begun(outcome(store, Register(ANN))) for store in (replicas.one, replicas.other)]
        await replicas.waiting(2)
    assert sorted(await asyncio.gather(*registering)) == [False, True]


async def test_two_applies_of_one_new_plan(replicas: Replicas) -> None:
    """Of two applies of the same new plan at once, one makes it and the other finds it unchanged."""
    file = file_of(("a", ()), ("b", ("a",)))
    async with replicas.observer.transaction():
        await replicas.observer.execute("LOCK TABLE lane IN SHARE MODE")
        applying = [begun(outcome(store, Apply(file))) for store in (replicas.one, replicas.other)]
        await replicas.waiting(2)
    found: list[Applied] = await asyncio.gather(*applying)
    assert sorted((one.created, one.added, one.unchanged) for one in found) == [(False, 0, 2), (True, 2, 0)]
    await replicas.books_balance()


def _open_and_close(url: str) -> None:
    async def run() -> None:
        await (await PostgresStore.open(url)).close()

    asyncio.run(run())


async def test_eight_processes_migrate_at_once(postgres_url: str) -> None:
    """Replicas that start at once on an empty database all find one whole schema."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_open_and_close, args=(postgres_url,)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        await asyncio.to_thread(process.join, 60)
    assert [process.exitcode for process in processes] == [0] * 8
    connection = await asyncpg.connect(postgres_url)
    newest, _ = load_migrations("postgres")[-1]
    assert await connection.fetchval("SELECT array_agg(number) FROM hall_schema") == [newest]
    await connection.close()


async def test_rings_are_heard_by_others_alone(replicas: Replicas) -> None:
    """What one replica rings is heard by the other, also from within the statement that completes; not by itself."""
    heard: dict[str, list[str]] = {"one": [], "other": []}
    listeners = []
    for name, store in (("one", replicas.one), ("other", replicas.other)):
        wakeups = LocalWakeups()
        wakeups.before(heard[name].append)
        listeners.append(RingListener(replicas.url, wakeups, store.origin))
    for listener in listeners:
        listener.start()
        await asyncio.wait_for(listener.ready(), 10)
    await replicas.plan(("a", ()), ("b", ("a",)))
    topic = topic_of_plan("p")

    async def count(times: int) -> bool:
        return heard["other"].count(topic) == times

    await until_async(lambda: count(1), waiting_for="the ring of the apply")
    (held,) = await take(replicas.one, ANN)
    committed = await replicas.one.commit([completion(held)])
    assert committed.rings == {topic: 1}
    await until_async(lambda: count(2), waiting_for="the ring of the completion")
    assert not heard["one"]
    for listener in listeners:
        await listener.close()
