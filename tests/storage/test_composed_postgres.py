"""Changes that nobody waits for go to PostgreSQL together, as far as their order does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from hiringhall.storage.postgres.prepared import load
from hiringhall.storage.postgres.runner import KEPT_ROWS_MAX, Runner
from hiringhall.storage.postgres.store import PostgresStore
from hiringhall.storage.procedure import Fetch, Many, Procedure, Step

TALLY = Many("insert_tally", [{"lane": 7, "state": "ready", "n": 2}])
OPEN = Many("insert_unmet", [{"dependency": 1, "dependent": 2}, {"dependency": 3, "dependent": 2}])
CLOSE = Many("delete_unmet_of", [{"dependent": 2}])
COUNT = Fetch("count_lanes", {"lanes": [7]})
PLAN = Many("upsert_plan", [{"plan": "p", "name": "''", "lane": 7, "now": 1, "traceparent": None}])


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[Any]:
    """A connection to an empty database."""
    store = await PostgresStore.open(postgres_url)
    await store.close()
    opened = await asyncpg.connect(postgres_url)
    yield opened
    await opened.close()


async def carried_out(connection: Any, *steps: Step) -> tuple[list[Any], int]:
    """The rows of each step, and how many statements they took."""
    runner = Runner(load())

    def procedure() -> Procedure:
        found = []
        for step in steps:
            rows = yield step
            found.append([tuple(row) for row in rows])
        return found

    return await runner.run(connection, procedure()), runner.statements_run


async def test_changes_of_different_tables_are_one_statement(connection: Any) -> None:
    """Changes of different tables are one statement, each with its own parameters; a notification can be part of it."""
    heard: list[object] = []
    await connection.add_listener("hall_rings", lambda *told: heard.append(told[3]))
    _, statements = await carried_out(connection, TALLY, OPEN, PLAN, Many("announce", [{"payload": "told"}]))
    assert statements == 1
    assert await connection.fetchval("SELECT sum(n) FROM tally WHERE lane = 7 AND state = 'ready'") == 2
    assert await connection.fetchval("SELECT count(*) FROM unmet WHERE dependent = 2") == 2
    assert await connection.fetchval("SELECT lane FROM plan WHERE id = 'p'") == 7
    assert heard == ["told"]


async def test_changes_of_one_table_keep_their_order(connection: Any) -> None:
    """A change of a table that one before is about is a statement of its own, after it."""
    _, statements = await carried_out(connection, OPEN, TALLY, CLOSE, OPEN)
    assert statements == 3
    assert await connection.fetchval("SELECT count(*) FROM unmet WHERE dependent = 2") == 2
    _, statements = await carried_out(connection, CLOSE, TALLY)
    assert statements == 1
    assert await connection.fetchval("SELECT count(*) FROM unmet WHERE dependent = 2") == 0


async def test_whoever_asks_sees_the_changes_before(connection: Any) -> None:
    """Rows that are asked for show what was changed before."""
    found, statements = await carried_out(connection, TALLY, COUNT, TALLY, PLAN, COUNT)
    assert [found[1], found[4]] == [[(7, "ready", 2)], [(7, "ready", 4)]]
    assert statements == 4


async def test_many_rows_are_sent_at_once(connection: Any) -> None:
    """A change of many rows is not kept, and one that runs once for each row is not part of another."""
    many = Many("insert_unmet", [{"dependency": n, "dependent": 2} for n in range(KEPT_ROWS_MAX + 1)])
    rows = [{"dependent": 2}, {"dependent": 3}]
    _, statements = await carried_out(connection, TALLY, many, PLAN, Many("delete_unmet_of", rows))
    assert statements == 5
    assert await connection.fetchval("SELECT count(*) FROM unmet WHERE dependent = 2") == 0


async def test_what_is_composed_names_its_tables(connection: Any) -> None:
    """Of each change it is known which tables it is about."""
    tables = {row[0] for row in await connection.fetch("SELECT relname FROM pg_class WHERE relkind = 'r'")}
    for statement in load().values():
        if statement.writes:
            assert statement.tables, statement.name
            assert statement.tables <= tables, statement.name
