"""Bring the database to the schema that this version speaks, however many replicas start at once."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from hiringhall.storage.schema import SchemaTooNew, check_not_newer
from hiringhall.storage.statements import load_migrations

LOCK: Final = 0x48414C4C  # "HALL"
MIGRATION_SECONDS: Final = 600.0


async def migrate(connection: asyncpg.Connection[Any]) -> None:
    """Apply the migrations that are missing, all in one transaction; other replicas that start meanwhile wait for it.

    Raises:
        SchemaTooNew: the database is at a higher number than the newest migration.
    """
    migrations = load_migrations("postgres")
    newest = migrations[-1][0]
    if await _present(connection) == newest:
        return
    async with connection.transaction():
        await connection.execute(
            f"SET LOCAL statement_timeout = {round(MIGRATION_SECONDS * 1000)}", timeout=MIGRATION_SECONDS
        )
        await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})", timeout=MIGRATION_SECONDS)
        present = await _present(connection)
        check_not_newer(present, newest)
        if not present:
            await connection.execute(
                "CREATE TABLE hall_schema (number integer NOT NULL); INSERT INTO hall_schema VALUES (0)"
            )
        for number, text in migrations:
            if number > present:
                await connection.execute(text, timeout=MIGRATION_SECONDS)
        await connection.execute(f"UPDATE hall_schema SET number = {newest}")


async def _present(connection: asyncpg.Connection[Any]) -> int:
    """The schema's number; 0 for an empty database."""
    # Asked of the catalogue as a table: a look-up of the name may answer from what was cached before the lock.
    found = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'hall_schema' AND pg_table_is_visible(oid))"
    if not await connection.fetchval(found):
        return 0
    return int(await connection.fetchval("SELECT number FROM hall_schema"))


__all__ = ["SchemaTooNew", "migrate"]
