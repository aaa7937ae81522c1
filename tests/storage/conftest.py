"""The stores that sit the exam."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from hiringhall.domain.lease import Terms
from hiringhall.storage.postgres.store import PostgresStore
from tests.storage.call_desk import CallDesk
from tests.storage.call_replicas import CallReplicas
from tests.storage.desk import Desk
from tests.storage.subjects import KINDS, open_subject

TERMS = Terms(visibility_timeout_ms=60_000, heartbeat_delay_ms=30_000, run_limit_ms=4 * 3_600_000)


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """Runs the test on the oracle and on each database: a desk at which a store is asked one thing at a time."""
    async with open_subject(request.param, TERMS, request) as subject:
        yield Desk(subject, TERMS)


@pytest.fixture(params=KINDS)
async def calls(request: pytest.FixtureRequest) -> AsyncIterator[CallDesk]:
    """The same, for service calls."""
    async with open_subject(request.param, TERMS, request) as subject:
        yield CallDesk(subject, TERMS)


@pytest.fixture
async def halls(postgres_url: str) -> AsyncIterator[CallReplicas]:
    """Two replicas on an empty database."""
    one, other = await PostgresStore.open(postgres_url), await PostgresStore.open(postgres_url)
    observer = await asyncpg.connect(postgres_url)
    yield CallReplicas(postgres_url, one, other, observer)
    await observer.close()
    await one.close()
    await other.close()
