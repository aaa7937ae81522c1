"""The tests' own PostgreSQL is a real, durable server, and nothing of it stays behind."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from tests.hall_process import Database
from tests.postgres_server import PostgresServer, _is_postgres


async def _fetch(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_postgres_is_durable(postgres_url: str) -> None:
    """The server flushes every commit to the disk."""
    assert await _fetch(postgres_url, "SHOW fsync") == "on"
    assert await _fetch(postgres_url, "SHOW synchronous_commit") == "on"


async def test_each_test_has_its_own_database(postgres_url: str) -> None:
    """A new database is empty."""
    assert await _fetch(postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_committed_rows_survive_a_crash(own_postgres: PostgresServer) -> None:
    """A restart in mode immediate, a kill, and a stop keep the data and the port."""
    asyncio.run(_fetch(own_postgres.url, "CREATE TABLE kept AS SELECT 1 AS one"))
    own_postgres.restart("immediate")
    assert asyncio.run(_fetch(own_postgres.url, "SELECT one FROM kept")) == 1
    own_postgres.kill()
    own_postgres.start()
    assert asyncio.run(_fetch(own_postgres.url, "SELECT one FROM kept")) == 1
    pid = own_postgres.pid
    assert pid is not None
    own_postgres.remove()
    assert not _is_postgres(pid, own_postgres.data)
    assert not own_postgres.folder.exists()


def test_both_databases_are_offered(database: Database) -> None:
    """A test that asks for a database runs once on each kind."""
    assert (database.url is None) == (database.dialect == "sqlite")
    assert "--data" in database.arguments
