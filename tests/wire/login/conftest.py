"""A gatehouse on each database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.domain.lease import Terms
from hiringhall.ports.store import Store
from tests.storage.subjects import open_subject
from tests.wire.login.gatehouse import Gatehouse, gatehouse


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """An empty store."""
    async with open_subject(request.param, Terms(), request) as subject:
        yield subject.store


@pytest.fixture
async def house(store: Store) -> AsyncIterator[Gatehouse]:
    """A gatehouse on an empty store."""
    async with gatehouse(store) as made:
        yield made
