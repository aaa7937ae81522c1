"""SQLite connections: how one is opened, what it is set to, and how a step of a procedure is carried out on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import apsw

from hiringhall.storage.procedure import Fetch, FetchMany, Many, Parameters, Procedure, Row, Step
from hiringhall.storage.statements import Statement, load_statements

BUSY_MS: Final = 10_000
CHECKPOINT_PAGES: Final = 1_000


def any_of(name: str, _element: str) -> str:
    """SQL for "is one of the list", which travels as a JSON array."""
    return f"IN (SELECT value FROM json_each(:{name}))"


def load() -> dict[str, Statement]:
    """The statements in SQLite's words."""
    return load_statements("sqlite", any_of)


def open_connection(path: Path, *, read_only: bool) -> apsw.Connection:
    """Open the database file for the one writer, or for reading.

    `synchronous=FULL`: what was acknowledged survives a power cut. The writer alone checkpoints.
    """
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=200)
    connection.set_busy_timeout(BUSY_MS)
    # Else a statement is planned anew whenever another value is bound to it, which costs more than running it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    if not read_only and connection.readonly("main"):  # SQLite would fall back to reading without a word
        raise apsw.ReadOnlyError("it is write-protected")
    if not read_only:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
    connection.pragma("cache_size", -64_000)
    connection.pragma("temp_store", "memory")
    return connection


class Runner:
    """Carries out procedures on one connection."""

    __slots__ = ("_cursor", "_statements", "statements_run")

    def __init__(self, connection: apsw.Connection, statements: Mapping[str, Statement]) -> None:
        self._cursor = connection.cursor()
        self._statements = {name: statement.text for name, statement in statements.items()}
        self.statements_run = 0

    def run(self, procedure: Procedure) -> Any:
        """Drive a procedure to its end and return its result."""
        rows: list[Row] | None = None
        try:
            while True:
                step = procedure.send(rows)  # type: ignore[arg-type]
                rows = self._carry_out(step)
        except StopIteration as end:
            return end.value

    def _carry_out(self, step: Step) -> list[Row]:
        text = self._statements[step.statement]
        if isinstance(step, Fetch):
            self.statements_run += 1
            return list(self._cursor.execute(text, _bound(step.parameters)).fetchall())
        self.statements_run += len(step.rows)
        if isinstance(step, FetchMany):
            return list(self._cursor.executemany(text, step.rows).fetchall())
        assert isinstance(step, Many)
        self._cursor.executemany(text, step.rows)
        return []


def _bound(parameters: Parameters) -> Parameters:
    if any(isinstance(value, list) for value in parameters.values()):
        return {name: json.dumps(value) if isinstance(value, list) else value for name, value in parameters.items()}
    return parameters
