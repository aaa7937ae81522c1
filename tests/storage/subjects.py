"""The stores that sit the exam: how each is opened, and how a picture of everything in it is taken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from hiringhall.domain.lease import Terms
from hiringhall.ports.store import Store
from hiringhall.storage.model import ModelStore
from hiringhall.storage.model.call_picture import call_picture
from hiringhall.storage.postgres.store import PostgresStore
from hiringhall.storage.sqlite.store import SqliteStore
from tests.storage.call_snapshot import take_call_snapshot
from tests.storage.snapshot import Rows, take_snapshot

KINDS = ("model", "sqlite", "postgres")


@dataclass(slots=True)
class Subject:
    """A store that is examined."""

    kind: str
    store: Store
    rows: Rows | None = None

    async def snapshot(self, *, histories: bool = True) -> dict[str, Any]:
        """A picture of everything in the store."""
        if isinstance(self.store, ModelStore):
            return self.store.snapshot()
        assert self.rows is not None
        return await take_snapshot(self.store, self.rows, histories=histories)

    async def call_snapshot(self, *, histories: bool = True) -> dict[str, Any]:
        """A picture of everything in the store, service calls included."""
        pictures = [await self.snapshot(histories=histories)]
        if isinstance(self.store, ModelStore):
            pictures.append(call_picture(self.store.hall))
        else:
            assert self.rows is not None
            pictures.append(await take_call_snapshot(self.store, self.rows, histories=histories))
        return {part: content for picture in pictures for part, content in picture.items()}


@asynccontextmanager
async def open_subject(kind: str, terms: Terms, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    """Open an empty store of a kind for the time of a `with` block."""
    opened = {"model": _model, "sqlite": _sqlite, "postgres": _postgres}[kind]
    async with opened(terms, request) as subject:
        yield subject


@asynccontextmanager
async def _model(terms: Terms, _request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    yield Subject("model", ModelStore(terms))


@asynccontextmanager
async def _sqlite(terms: Terms, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    folder: Path = request.getfixturevalue("tmp_path")
    path = folder / "examined.sqlite"
    store = await SqliteStore.open(path, terms=terms)
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    async def rows(text: str) -> list[tuple[Any, ...]]:
        return list(reader.execute(text))

    try:
        yield Subject("sqlite", store, rows)
    finally:
        reader.close()
        await store.close()


@asynccontextmanager
async def _postgres(terms: Terms, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    url: str = request.getfixturevalue("postgres_url")
    store = await PostgresStore.open(url, terms=terms, connections=8)
    reader = await asyncpg.connect(url)

    async def rows(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await reader.fetch(text)]

    try:
        yield Subject("postgres", store, rows)
    finally:
        await reader.close()
        await store.close()
