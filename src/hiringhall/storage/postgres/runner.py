"""How the steps of a procedure are carried out on a PostgreSQL connection, in as few round trips as they allow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from hiringhall.storage.postgres.connection import Connection
from hiringhall.storage.postgres.prepared import Prepared, composed
from hiringhall.storage.procedure import Fetch, FetchMany, Many, Procedure, Row, Step

KEPT_ROWS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class _Bound:
    """A statement with its parameters in order: those of its one run, or those of each of `many` runs or rows."""

    statement: Prepared
    step: Step
    arguments: Sequence[Any]
    many: bool


@dataclass(frozen=True, slots=True)
class _End:
    """What a procedure returned."""

    result: Any


class Runner:
    """Carries out procedures on connections, and counts statements.

    Nobody waits for the outcome of a `Many`. Those that follow each other are kept until somebody asks for rows or the
    procedure ends, and are then sent as one statement, as far as no two of them are about the same table: the parts of
    a statement do not see what the others change.
    """

    __slots__ = ("_composed", "statements", "statements_run")

    def __init__(self, statements: Mapping[str, Prepared]) -> None:
        self.statements = statements
        self.statements_run = 0
        self._composed: dict[tuple[str, ...], str] = {}

    async def run(self, connection: Connection, procedure: Procedure, *, aside: bool = False) -> Any:
        """Drive a procedure to its end and return its result.

        `aside`: it computes much, so that a thread does that, while the database stores what it said before.
        """
        kept: list[_Bound] = []
        following = await self._advance(procedure, None, aside)
        while True:
            if isinstance(following, _Bound) and _may_be_kept(following):
                if not _go_together(kept, following):
                    await self._send(connection, kept)
                    kept = []
                kept.append(following)
                following = await self._advance(procedure, [], aside)
                continue
            if kept:
                await self._send(connection, kept)
                kept = []
            if isinstance(following, _End):
                return following.result
            if aside and isinstance(following.step, Many):
                following = await self._advance_meanwhile(connection, following, procedure)
            else:
                rows = await self._execute(connection, following)
                following = await self._advance(procedure, rows, aside)

    async def carry_out(self, connection: Connection, step: Step) -> list[Row]:
        """Run the statement of one step."""
        return await self._execute(connection, self._bind(step))

    async def together(self, connection: Connection, changes: Sequence[Many]) -> bool:
        """Run changes as one statement, the last of which may be anything; False, and nothing is done, if they do not
        go together."""
        kept: list[_Bound] = []
        for change in changes:
            bound = self._bind(change)
            if not (_may_be_kept(bound) and _go_together(kept, bound)):
                return False
            kept.append(bound)
        await self._send(connection, kept)
        return True

    async def _advance(self, procedure: Procedure, rows: list[Row] | None, aside: bool) -> _Bound | _End:
        return await asyncio.to_thread(self._next, procedure, rows) if aside else self._next(procedure, rows)

    async def _advance_meanwhile(self, connection: Connection, change: _Bound, procedure: Procedure) -> _Bound | _End:
        """Carry out a change of which nobody waits for rows, and learn what comes after it meanwhile."""
        executed, following = await asyncio.gather(
            self._execute(connection, change), self._advance(procedure, [], aside=True), return_exceptions=True
        )
        if isinstance(executed, BaseException):
            raise executed
        if isinstance(following, BaseException):
            raise following
        return following

    def _next(self, procedure: Procedure, rows: list[Row] | None) -> _Bound | _End:
        try:
            return self._bind(procedure.send(rows))  # type: ignore[arg-type]
        except StopIteration as end:
            return _End(end.value)

    def _bind(self, step: Step) -> _Bound:
        statement = self.statements[step.statement]
        names = statement.parameters
        if isinstance(step, Fetch):
            given = step.parameters
            return _Bound(statement, step, [given[name] for name in names], many=False)
        if statement.fills and isinstance(step, Many) and len(step.rows) > KEPT_ROWS_MAX:
            return _Bound(statement, step, list(map(itemgetter(*names), step.rows)), many=True)
        if statement.whole:
            return _Bound(statement, step, [[row[name] for row in step.rows] for name in names], many=False)
        if len(step.rows) == 1:
            (given,) = step.rows
            return _Bound(statement, step, [given[name] for name in names], many=False)
        return _Bound(statement, step, [[row[name] for name in names] for row in step.rows], many=True)

    async def _send(self, connection: Connection, kept: Sequence[_Bound]) -> None:
        if len(kept) == 1:
            await self._execute(connection, kept[0])
            return
        names = tuple(bound.statement.name for bound in kept)
        text = self._composed.get(names)
        if text is None:
            text = self._composed[names] = composed([bound.statement for bound in kept])
        self.statements_run += 1
        await connection.fetch(text, *(argument for bound in kept for argument in bound.arguments))

    async def _execute(self, connection: Connection, bound: _Bound) -> list[Row]:
        text = bound.statement.text
        if not bound.many:
            self.statements_run += 1
            return await connection.fetch(text, *bound.arguments)
        if bound.statement.fills is not None:
            return await self._fill(connection, bound.statement.fills, bound)
        self.statements_run += len(bound.arguments)
        if isinstance(bound.step, FetchMany):
            return await connection.fetchmany(text, bound.arguments)
        await connection.executemany(text, bound.arguments)
        return []

    async def _fill(self, connection: Connection, table: str, bound: _Bound) -> list[Row]:
        """Copy many rows into their table, which costs about half of what inserting them does."""
        self.statements_run += 1
        columns = bound.statement.parameters
        await connection.copy_records_to_table(table, records=bound.arguments, columns=columns)
        return []


def _may_be_kept(bound: _Bound) -> bool:
    """Whether nobody waits for rows of it. To a change of many rows a round trip adds little: it is sent at once."""
    return isinstance(bound.step, Many) and not bound.many and len(bound.step.rows) <= KEPT_ROWS_MAX


def _go_together(kept: Sequence[_Bound], following: _Bound) -> bool:
    """Whether a change may be part of one statement with those before it."""
    tables = following.statement.tables
    return all(bound.statement.writes and tables.isdisjoint(bound.statement.tables) for bound in kept)
