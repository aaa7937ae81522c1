"""A hall on SQLite for the tests of the wire of plans."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hiringhall.storage.sqlite.store import SqliteStore
from tests.operations.parts import Office, office


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Office]:
    """A hall on a database file."""
    async with office(await SqliteStore.open(tmp_path / "hall.sqlite")) as made:
        yield made
