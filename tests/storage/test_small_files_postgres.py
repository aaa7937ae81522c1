"""A small plan file is applied to a plan that is there in two statements, unless somebody comes between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_plan
from hiringhall.ports.asks import Applied, Apply, Unblock
from hiringhall.ports.questions import ListTasks
from hiringhall.storage.postgres import small_files
from hiringhall.storage.postgres.store import PostgresStore
from tests.waiting import until_async


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store with the plan `p` of one task."""
    opened = await PostgresStore.open(postgres_url)
    await applied(opened, "a")
    yield opened
    await opened.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[Any]:
    """A connection of somebody else."""
    opened = await asyncpg.connect(postgres_url)
    yield opened
    await opened.close()


async def applied(store: PostgresStore, *names: str, needs: tuple[str, ...] = ()) -> Any:
    """Apply a file of these tasks."""
    (outcome,) = (await store.commit([file_of(*names, needs=needs)])).outcomes
    return outcome


def file_of(*names: str, needs: tuple[str, ...] = ()) -> Apply:
    """A file of these tasks, all of which need the same."""
    return Apply(PlanFile("p", "p", tuple(TaskSpec(name, needs, 2, '"description":""') for name in names)))


async def waiting(other: Any) -> None:
    """Return when a statement waits for a lock."""

    async def found() -> bool:
        await other.execute("SELECT pg_stat_clear_snapshot()")
        return bool(await other.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

    await until_async(found, waiting_for="a statement to wait for the lane")


async def names_of(store: PostgresStore) -> list[str]:
    """The ids of the plan's tasks."""
    return [row.view.task_id for row in await store.read(ListTasks("p"))]


async def test_adding_takes_two_statements(store: PostgresStore) -> None:
    """Adding tasks takes two statements, whatever they depend on; a file that changes nothing, or is refused, one."""
    before = store.statements_run
    committed = await store.commit([file_of("b", "c", needs=("a",))])
    assert committed.outcomes == [Applied("p", 2, 0, 0, 0, created=False)]
    assert store.statements_run - before == 2
    assert committed.rings == {}
    committed = await store.commit([file_of("d")])
    assert committed.rings == {topic_of_plan("p"): 1}
    assert store.statements_run - before == 4
    assert await applied(store, "a", "d") == Applied("p", 0, 0, 2, 0, created=False)
    assert isinstance(await applied(store, "e", needs=("nobody",)), Refused)
    assert store.statements_run - before == 6
    assert await names_of(store) == ["a", "b", "c", "d"]
    (swept,) = (await store.commit([Unblock()])).outcomes
    assert swept.changed == 0


async def test_more_than_adding_takes_a_transaction(store: PostgresStore) -> None:
    """A file that changes a stored task, or is not small, is applied all the same."""
    changed = Apply(PlanFile("p", "p", (TaskSpec("a", (), 1, '"description":"another"'),)))
    assert (await store.commit([changed])).outcomes == [Applied("p", 0, 1, 0, 0, created=False)]
    names = [f"t-{number}" for number in range(small_files.TASKS_MAX + 1)]
    assert await applied(store, *names) == Applied("p", len(names), 0, 0, 0, created=False)


async def test_the_plan_is_deleted_meanwhile(store: PostgresStore, other: Any) -> None:
    """If the plan is gone when the file's tasks are to be written, the file makes it anew."""
    async with other.transaction():
        await other.execute("SELECT FROM lane WHERE key = 'plan:p' FOR UPDATE")
        applying = asyncio.get_running_loop().create_task(applied(store, "b"))
        await waiting(other)
        await other.execute("DELETE FROM plan")
        await other.execute("DELETE FROM lane")
    assert await applying == Applied("p", 1, 0, 0, 0, created=True)
    assert await names_of(store) == ["b"]
    assert await other.fetchval("SELECT count(*) FROM work") == 2  # the deleted plan's one, and that of the new plan


async def test_the_lane_is_changed_meanwhile(store: PostgresStore, other: Any) -> None:
    """If the lane is changed before the file's tasks are written, they are written once, after that."""
    async with other.transaction():
        await other.execute("UPDATE lane SET paused = 1 WHERE key = 'plan:p'")
        applying = asyncio.get_running_loop().create_task(applied(store, "b"))
        await waiting(other)
    assert await applying == Applied("p", 1, 0, 0, 0, created=False)
    assert await names_of(store) == ["a", "b"]
    assert await other.fetchval("SELECT sum(n) FROM tally WHERE state = 'ready'") == 2
