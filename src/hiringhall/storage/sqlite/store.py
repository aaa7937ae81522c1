"""The store on SQLite: one writer thread that alone writes and checkpoints, and reading connections apart.

A batch is one transaction, so that one wait for the disk serves all who asked for something meanwhile.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Ask
from hiringhall.ports.questions import Query
from hiringhall.ports.store import Committed, StoreUnavailable
from hiringhall.storage.batch import carry_out
from hiringhall.storage.procedure import Context
from hiringhall.storage.procedures.registry import QUERIES
from hiringhall.storage.sqlite.connection import Runner, load, open_connection
from hiringhall.storage.sqlite.schema import migrate

CHANNEL: Final = "writer"


class SqliteStore:
    """A store in one file. Open it with `open`."""

    def __init__(self, path: Path, terms: Terms) -> None:
        self.terms = terms
        statements = load()
        self._writing = open_connection(path, read_only=False)
        migrate(self._writing)
        self._reading = open_connection(path, read_only=True)
        self._writer = Runner(self._writing, statements)
        self._reader = Runner(self._reading, statements)
        self._write_thread = _Thread("hall-writer")
        self._read_thread = _Thread("hall-reader")

    @classmethod
    async def open(cls, path: Path | str, *, terms: Terms | None = None) -> SqliteStore:
        """Open the file, making it if there is none, and bring it to the present schema.

        Raises:
            SchemaTooNew: the file was written by a newer version.
        """
        return await asyncio.to_thread(cls, Path(path), terms or Terms())

    @property
    def statements_run(self) -> int:
        """How many statements were run since the store was opened."""
        return self._writer.statements_run + self._reader.statements_run

    def channel(self, ask: Ask) -> str:
        """All asks share the one writer."""
        return CHANNEL

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        """Carry out the asks in one transaction; if that fails, each in one of its own."""
        committed: Committed = await self._write_thread.call(lambda: self._commit(asks, now))
        return committed

    async def read(self, query: Query) -> Any:
        """Answer a query from the last committed state."""
        return await self._read_thread.call(lambda: self._read(query))

    async def close(self) -> None:
        """Finish what is under way and close the file."""
        await self._write_thread.stop()
        await self._read_thread.stop()
        self._reading.close()
        self._writing.close()

    def _commit(self, asks: Sequence[Ask], now: int | None) -> Committed:
        try:
            return self._transaction(asks, now)
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.BusyError, apsw.ReadOnlyError) as error:
            raise StoreUnavailable(f"the database file cannot be written: {error}") from error
        except Exception as error:  # one ask poisons the batch: find out which
            if len(asks) == 1:
                return Committed([error])
            return self._one_by_one(asks, now)

    def _one_by_one(self, asks: Sequence[Ask], now: int | None) -> Committed:
        together = Committed([])
        rings: dict[str, int] = {}
        for ask in asks:
            alone = self._commit([ask], now)
            together.outcomes += alone.outcomes
            for topic, count in alone.rings.items():
                rings[topic] = rings.get(topic, 0) + count
        together.rings = rings
        return together

    def _transaction(self, asks: Sequence[Ask], now: int | None) -> Committed:
        context = Context(time.time_ns() // 1_000_000 if now is None else now, self.terms)
        self._writing.execute("BEGIN IMMEDIATE")
        try:
            outcomes = self._writer.run(carry_out(context, asks))
            self._writing.execute("COMMIT")
        except BaseException:
            if not self._writing.get_autocommit():
                self._writing.execute("ROLLBACK")
            raise
        return Committed(outcomes, context.rings)

    def _read(self, query: Query) -> Any:
        context = Context(time.time_ns() // 1_000_000, self.terms)
        self._reading.execute("BEGIN")
        try:
            return self._reader.run(QUERIES[type(query)](context, query))
        finally:
            self._reading.execute("ROLLBACK")


class _Thread:
    """A thread that carries out calls in the order in which they come."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any], Any] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def call(self, function: Any) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._thread.is_alive():
            raise StoreUnavailable("the store is closed")
        self._calls.put((loop, future, function))
        return await future

    async def stop(self) -> None:
        self._calls.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            loop, future, function = call
            try:
                result, error = function(), None
            except Exception as problem:
                result, error = None, problem
            loop.call_soon_threadsafe(_deliver, future, result, error)


def _deliver(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
