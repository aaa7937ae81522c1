"""PostgreSQL connections: their settings, how they are lent, and how one is replaced."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from hiringhall.ports.store import StoreUnavailable
from hiringhall.storage.postgres.failures import is_away

Connection: TypeAlias = "asyncpg.Connection[Any]"

CONNECT_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 1.0
"""How much longer the client waits for an answer than the server works on it."""
ABANDONED_TRANSACTION_SECONDS: Final = 10.0
STATEMENTS_CACHED_MAX: Final = 400


def settings_for(
    purpose: str,
    *,
    statement_seconds: float,
    fixed_plans: bool = False,
    in_order: bool = False,
    read_only: bool = False,
) -> dict[str, str]:
    """The settings of a session.

    Every statement has an index that bounds it, so that a scan is never right, not even while a table looks empty.
    `fixed_plans`: a statement is planned once, not for each run. `in_order`: an index is walked in its order, rather
    than gathered first.
    """
    settings = {
        "application_name": f"hiringhall {purpose}",
        "synchronous_commit": "on",
        "default_transaction_isolation": "repeatable read" if read_only else "read committed",
        "default_transaction_read_only": "on" if read_only else "off",
        "statement_timeout": str(round(statement_seconds * 1000)),
        "idle_in_transaction_session_timeout": str(round(ABANDONED_TRANSACTION_SECONDS * 1000)),
        "jit": "off",
        "enable_seqscan": "off",
    }
    if fixed_plans:
        settings["plan_cache_mode"] = "force_generic_plan"
    if in_order:
        settings["enable_bitmapscan"] = "off"
    return settings


class Link:
    """One connection that is made when it is needed, and made anew after a failure."""

    __slots__ = ("_connection", "_settings", "_url", "lent", "statement_seconds")

    def __init__(self, url: str, settings: dict[str, str], statement_seconds: float) -> None:
        self._url = url
        self._settings = settings
        self._connection: Connection | None = None
        self.lent = False
        self.statement_seconds = statement_seconds

    async def connection(self) -> Connection:
        """The living connection.

        Raises:
            StoreUnavailable: none can be made.
        """
        if self._connection is None or self._connection.is_closed():
            self._connection = None
            try:
                self._connection = await asyncpg.connect(
                    self._url,
                    timeout=CONNECT_SECONDS,
                    command_timeout=self.statement_seconds + GRACE_SECONDS,
                    statement_cache_size=STATEMENTS_CACHED_MAX,
                    max_cached_statement_lifetime=0,
                    server_settings=self._settings,
                    target_session_attrs=SessionAttribute.primary,
                )
            except Exception as error:
                if is_away(error):
                    raise StoreUnavailable(
                        f"the database cannot be reached: {error or type(error).__name__}"
                    ) from error
                raise
        return self._connection

    def drop(self) -> None:
        """Let go of the connection at once; what it was doing is rolled back, or was committed already."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()

    async def close(self) -> None:
        """Say goodbye to the database."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                with contextlib.suppress(Exception):  # it is given up anyway
                    await connection.close(timeout=GRACE_SECONDS)
            finally:
                connection.terminate()  # which does nothing to one that is closed


class Links:
    """Connections for one purpose, lent to one borrower each."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._all = tuple(links)
        self._free: asyncio.LifoQueue[Link] = asyncio.LifoQueue()
        for link in links:
            self._free.put_nowait(link)

    @contextlib.asynccontextmanager
    async def borrow(self) -> AsyncIterator[Link]:
        """Have a link for the time of a `with` block. One that is left in the middle of something is dropped."""
        link = await self._free.get()
        link.lent = True
        try:
            yield link
        except BaseException:
            link.drop()
            raise
        finally:
            link.lent = False
            self._free.put_nowait(link)

    def drop_idle(self) -> None:
        """Let go of the connections that nobody uses: where one fell silent, each of them would cost a wait."""
        for link in self._all:
            if not link.lent:
                link.drop()

    async def close(self) -> None:
        """Close those that are free, and those that are lent as soon as they come back."""

        async def close_one() -> None:
            link = await self._free.get()
            await link.close()

        await asyncio.gather(*(close_one() for _ in self._all))

    def drop(self) -> None:
        """Let go of all connections at once; those who use them hear that the database is away."""
        for link in self._all:
            link.drop()
