"""The store on SQLite: one writer thread that alone writes and checkpoints, and reading connections apart.

A batch is one transaction, so that one wait for the disk serves all who asked for something meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import apsw

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Apply, Ask, Settle, Take
from hiringhall.ports.calls import FindRequests, ReadFeedback
from hiringhall.ports.identity import FindSecrets, FindSessions, FindSigningKeys
from hiringhall.ports.questions import Alive, FindWorkers, KnownTasks, Query, ReadyLanes
from hiringhall.ports.store import Committed, StoreUnavailable
from hiringhall.storage.batch import carry_out
from hiringhall.storage.procedure import Context, Procedure
from hiringhall.storage.procedures import staging
from hiringhall.storage.procedures.new_tasks import Layout
from hiringhall.storage.procedures.registry import PROCEDURES
from hiringhall.storage.sqlite import hot_verbs
from hiringhall.storage.sqlite.connection import Runner, load, open_connection
from hiringhall.storage.sqlite.reading import Reading
from hiringhall.storage.sqlite.schema import migrate
from hiringhall.storage.sqlite.thread import CallThread

CHANNEL: Final = "writer"
PLANS_CHANNEL: Final = "plans"
PROCEDURES_HERE: Final[Mapping[type[Any], Callable[..., Procedure]]] = {
    **PROCEDURES,
    Settle: hot_verbs.settle,
    Take: hot_verbs.take,
}
QUICK: Final[frozenset[type[Any]]] = frozenset(
    {Alive, FindRequests, FindSecrets, FindSessions, FindSigningKeys, FindWorkers, KnownTasks, ReadFeedback, ReadyLanes}
)
"""Questions that requests wait for; each is answered by index."""


class SqliteStore:
    """A store in one file. Open it with `open`."""

    def __init__(self, path: Path, terms: Terms) -> None:
        self.terms = terms
        statements = load()
        try:
            self._writing = open_connection(path, read_only=False)
            migrate(self._writing)
            self._quick = Reading("hall-reader", path, statements, terms)
            self._lists = Reading("hall-lists", path, statements, terms)
        except apsw.Error as error:
            raise StoreUnavailable(f"the database file {path} cannot be used: {error}") from error
        self._writer = Runner(self._writing, statements)
        self._transaction(lambda _: staging.abandon_all(), None)
        self._write_thread = CallThread("hall-writer")

    @classmethod
    async def open(cls, path: Path | str, *, terms: Terms | None = None) -> SqliteStore:
        """Open the file, making it if there is none, and bring it to the present schema.

        Raises:
            SchemaTooNew: the file was written by a newer version.
            StoreUnavailable: it cannot be read and written, or is no database.
        """
        return await asyncio.to_thread(cls, Path(path), terms or Terms())

    @property
    def statements_run(self) -> int:
        """How many statements were run since the store was opened."""
        return sum(runner.statements_run for runner in (self._writer, self._quick.runner, self._lists.runner))

    def channel(self, ask: Ask) -> str:
        """All asks share the one writer; plan files do not make the others wait until a whole one is stored."""
        return PLANS_CHANNEL if type(ask) is Apply else CHANNEL

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        """Carry out the asks in one transaction; if that fails, each in one of its own."""
        if len(asks) == 1 and isinstance(asks[0], Apply) and staging.worth_staging(asks[0]):
            staged = await self._stage(asks[0], now)
            if staged is not None:
                return staged
        return await self._write_thread.call(lambda: self._commit(asks, now))

    async def _stage(self, ask: Apply, now: int | None) -> Committed | None:
        """Store a big new plan in portions, between which others are served; None if it has to go the ordinary way."""

        async def short(procedure: Callable[[Context], Procedure]) -> tuple[Any, dict[str, int]]:
            return await self._write_thread.call(lambda: self._transaction(procedure, now))

        file = ask.file
        begun, _ = await short(lambda context: staging.begin(context, file))
        if begun is None:
            return None
        stage: staging.Stage = begun
        try:
            layout = await asyncio.to_thread(staging.rows_of, stage, file)
            for start in range(0, len(file.tasks), staging.PORTION_TASKS):
                await short(partial(_add, layout, start))
            applied, rings = await short(lambda context: staging.finish(context, ask, stage, layout))
        except BaseException:
            with contextlib.suppress(StoreUnavailable):
                await short(lambda _: staging.abandon(stage))
            raise
        return None if applied is None else Committed([applied], rings)

    async def read(self, query: Query) -> Any:
        """Answer a query from the last committed state. What requests wait for does not wait for long lists."""
        return await (self._quick if type(query) in QUICK else self._lists).read(query)

    async def close(self) -> None:
        """Finish what is under way and close the file."""
        await self._write_thread.stop()
        await self._quick.close()
        await self._lists.close()
        self._writing.close()

    def _commit(self, asks: Sequence[Ask], now: int | None) -> Committed:
        try:
            return Committed(*self._transaction(lambda context: carry_out(context, asks, PROCEDURES_HERE), now))
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one ask poisons the batch: find out which
            if len(asks) == 1:
                return Committed([error])
            return self._one_by_one(asks, now)

    def _one_by_one(self, asks: Sequence[Ask], now: int | None) -> Committed:
        together = Committed([])
        rings: dict[str, int] = {}
        for ask in asks:
            try:
                alone = self._commit([ask], now)
            except StoreUnavailable as error:
                alone = Committed([error])  # those before it are done, and their callers shall know
            together.outcomes += alone.outcomes
            for topic, count in alone.rings.items():
                rings[topic] = rings.get(topic, 0) + count
        together.rings = rings
        return together

    def _transaction(self, procedure: Callable[[Context], Procedure], now: int | None) -> tuple[Any, dict[str, int]]:
        """The result of a procedure that was made durable, and its rings."""
        context = Context(time.time_ns() // 1_000_000 if now is None else now, self.terms)
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            try:
                result = self._writer.run(procedure(context))
                self._writing.execute("COMMIT")
            except BaseException:
                if not self._writing.get_autocommit():
                    self._writing.execute("ROLLBACK")
                raise
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.BusyError, apsw.ReadOnlyError) as error:
            raise StoreUnavailable(f"the database file cannot be written: {error}") from error
        return result, context.rings


def _add(layout: Layout, start: int, _context: Context) -> Procedure:
    return staging.add(layout, start)
