"""A server and data that another version wrote."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import asyncpg

from tests.conftest import StartHall
from tests.hall_process import Database

NEWER = 99


def write_as_a_newer_version(database: Database) -> None:
    """Give the data the number of a schema that is yet to come."""
    if database.url is None:
        with contextlib.closing(sqlite3.connect(database.directory / "hall.sqlite")) as connection:
            connection.execute(f"PRAGMA user_version = {NEWER}")
        return

    async def write(url: str) -> None:
        connection = await asyncpg.connect(url)
        await connection.execute("UPDATE hall_schema SET number = $1", NEWER)
        await connection.close()

    asyncio.run(write(database.url))


def test_data_of_a_newer_version_is_refused(start_hall: StartHall, database: Database) -> None:
    """A server that finds data of a newer version ends with status 1 and one line that says what to do."""
    hall = start_hall(database)
    assert hall.stop() == 0
    write_as_a_newer_version(database)
    hall.launch()
    assert hall.wait() == 1
    assert f"has schema {NEWER}" in hall.stderr
    assert "start the version that wrote it, or a newer one" in hall.stderr
    assert len(hall.stderr.splitlines()) == 1
