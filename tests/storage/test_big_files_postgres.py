"""Big plan files: worked out in a thread while PostgreSQL stores what came before, and copied into the tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from hiringhall.domain.lifecycle import State
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.topics import topic_of_plan
from hiringhall.ports.asks import Applied, Apply
from hiringhall.ports.questions import ListTasks
from hiringhall.storage.postgres.prepared import load
from hiringhall.storage.postgres.store import BIG_FILE_TASKS, PostgresStore

TASKS = BIG_FILE_TASKS + 200
EVERY = 11
BIG = Apply(
    PlanFile(
        "p",
        "p",
        tuple(
            TaskSpec(
                f"t-{place}",
                tuple(f"t-{place - back}" for back in range(1, EVERY)) if place % EVERY == EVERY - 1 else (),
                2,
                f'"description":"\\t\\\\N {place}"',
            )
            for place in range(TASKS)
        ),
    )
)
WAITING = TASKS // EVERY


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """An empty store."""
    opened = await PostgresStore.open(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def looking(store: PostgresStore, postgres_url: str) -> AsyncIterator[Any]:
    """A connection to the store's database."""
    opened = await asyncpg.connect(postgres_url)
    yield opened
    await opened.close()


async def stored_whole(store: PostgresStore, looking: Any) -> None:
    """Every task, edge and count of the big file is there."""
    rows = await store.read(ListTasks("p", limit=TASKS + 1))
    assert [row.view.task_id for row in rows] == [spec.task_id for spec in BIG.file.tasks]
    assert [row.view.detail for row in rows] == [spec.detail for spec in BIG.file.tasks]
    assert [row.waiting_on for row in rows] == [len(spec.dependencies) for spec in BIG.file.tasks]
    assert {row.view.version for row in rows} == {1}
    for table in ("edge", "unmet"):
        assert await looking.fetchval(f"SELECT count(*) FROM {table}") == WAITING * (EVERY - 1)
    counts = await looking.fetch("SELECT state, sum(n) AS n FROM tally GROUP BY state")
    assert {row["state"]: row["n"] for row in counts} == {State.READY: TASKS - WAITING, State.WAITING: WAITING}


async def test_a_big_file_is_stored_whole(store: PostgresStore, looking: Any) -> None:
    """A big file is stored in a few statements, letter for letter."""
    before = store.statements_run
    committed = await store.commit([BIG])
    assert committed.outcomes == [Applied("p", TASKS, 0, 0, 0, created=True)]
    assert committed.rings == {topic_of_plan("p"): TASKS - WAITING}
    assert store.statements_run - before < 12
    await stored_whole(store, looking)
    assert (await store.commit([BIG])).outcomes == [Applied("p", 0, 0, TASKS, 0, created=False)]


async def test_a_conflict_in_the_midst_of_it(store: PostgresStore, looking: Any) -> None:
    """A conflict while rows are copied undoes all of it, and the file is applied again."""
    await looking.execute(
        "INSERT INTO work (id, lane, state, priority, seq, waiting_on) VALUES (700, 0, 'done', 2, 0, 0)"
    )
    committed = await store.commit([BIG])
    assert committed.outcomes == [Applied("p", TASKS, 0, 0, 0, created=True)]
    assert store.repeated == 1
    await stored_whole(store, looking)


async def test_what_is_copied_is_known_by_its_text(looking: Any) -> None:
    """The statements that fill a table name columns of it."""
    filling = {statement.fills: statement.parameters for statement in load().values() if statement.fills}
    assert {"work", "task", "edge", "unmet"} <= filling.keys()
    for table, columns in filling.items():
        await looking.execute(f"SELECT {', '.join(columns)} FROM {table}")
