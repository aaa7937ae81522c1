"""Reading on SQLite: a connection with a thread of its own, and an end to questions that take too long."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import apsw

from hiringhall.domain.lease import Terms
from hiringhall.ports.questions import Query
from hiringhall.ports.store import StoreUnavailable
from hiringhall.storage.procedure import Context
from hiringhall.storage.procedures.registry import QUERIES
from hiringhall.storage.sqlite.connection import Runner, open_connection
from hiringhall.storage.sqlite.thread import CallThread
from hiringhall.storage.statements import Statement

READ_SECONDS_MAX: Final = 2.0
STEPS_BETWEEN_LOOKS: Final = 20_000
"""How many steps of SQLite's machine pass between two looks at the clock: about a millisecond."""


class Reading:
    """Answers questions one after the other, each from one committed state."""

    def __init__(self, name: str, path: Path, statements: Mapping[str, Statement], terms: Terms) -> None:
        self._connection = open_connection(path, read_only=True)
        self._connection.set_progress_handler(self._is_late, STEPS_BETWEEN_LOOKS)
        self.runner = Runner(self._connection, statements)
        self._terms = terms
        self._thread = CallThread(name)
        self._ends_at = 0.0

    async def read(self, query: Query) -> Any:
        """Answer a query.

        Raises:
            StoreUnavailable: the file cannot be read, or the answer takes longer than `READ_SECONDS_MAX`.
        """
        return await self._thread.call(lambda: self.answer(query))

    def answer(self, query: Query) -> Any:
        """Answer a query in the calling thread."""
        context = Context(time.time_ns() // 1_000_000, self._terms)
        self._ends_at = time.monotonic() + READ_SECONDS_MAX
        try:
            self._connection.execute("BEGIN")
            try:
                return self.runner.run(QUERIES[type(query)](context, query))
            finally:
                self._connection.execute("ROLLBACK")
        except apsw.InterruptError:
            raise StoreUnavailable(f"a question took longer than {READ_SECONDS_MAX:g} s") from None
        except (apsw.IOError, apsw.CantOpenError, apsw.BusyError, apsw.CorruptError) as error:
            raise StoreUnavailable(f"the database file cannot be read: {error}") from error

    async def close(self) -> None:
        """Finish what is under way and close the connection."""
        await self._thread.stop()
        self._connection.close()

    def _is_late(self) -> bool:
        return time.monotonic() > self._ends_at
