"""The PostgreSQL server to measure on: empty databases for halls, its first process, its count of transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg

from bench.processes import parent_of
from tests.postgres_binaries import find_binaries
from tests.postgres_server import DatabaseAdministrator, PostgresServer, clean_leftovers

SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB"}
"""As on a machine that a server has for itself; whatever decides about durability stays as it is."""


class Databases:
    """Makes databases on a running server and looks at it from outside."""

    def __init__(self, url: str, pid: int | None, description: str) -> None:
        self.url = url
        self.pid = pid
        self.description = description
        self.administrator = DatabaseAdministrator(url)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[str]:
        """The URL of an empty database, which is dropped after the block."""
        url = await asyncio.to_thread(self.administrator.create_database)
        try:
            yield url
        finally:
            await asyncio.to_thread(self.administrator.drop_database, url)

    async def transactions(self, url: str) -> int:
        """Transactions that a database has ended so far; asked from another one, so that asking does not count."""
        connection = await asyncpg.connect(self.url)
        try:
            ended: int = await connection.fetchval(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", urlsplit(url).path[1:]
            )
            return ended
        finally:
            await connection.close()


async def look_at(url: str) -> tuple[int | None, str]:
    """The server's first process (None: on another machine), and its version with what decides about durability."""
    connection = await asyncpg.connect(url)
    try:
        pid = parent_of(connection.get_server_pid(), "postgres")
        names = ("server_version", "fsync", "synchronous_commit", "shared_buffers", "max_wal_size")
        shown = [f"{name} {await connection.fetchval('SELECT current_setting($1)', name)}" for name in names]
        return pid, ", ".join(shown)
    finally:
        await connection.close()


@asynccontextmanager
async def postgres(given_url: str | None, *, wanted: bool) -> AsyncIterator[Databases | None]:
    """The server at `given_url`, else one of our own while the block runs; None if unwanted or not installed."""
    server = None
    if not wanted:
        yield None
        return
    if given_url is None:
        binaries = await asyncio.to_thread(find_binaries)
        if binaries is None:
            yield None
            return
        await asyncio.to_thread(clean_leftovers)
        server = await asyncio.to_thread(PostgresServer, binaries, SETTINGS)
    url = given_url or (server.url if server else "")
    databases = Databases(url, *await look_at(url))
    try:
        yield databases
    finally:
        databases.administrator.close()
        if server is not None:
            await asyncio.to_thread(server.remove)
