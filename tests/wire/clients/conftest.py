"""A counter on each store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.config import Settings
from hiringhall.operations.hall import terms_of
from tests.storage.subjects import open_subject
from tests.wire.clients.counter import Counter, counter


@pytest.fixture(params=["model", "sqlite", "postgres"])
async def made(request: pytest.FixtureRequest) -> AsyncIterator[Counter]:
    """A counter on an empty store, with its service."""
    terms = terms_of(Settings(data="unused"))
    async with open_subject(request.param, terms, request) as subject, counter(subject.store) as made:
        await made.service()
        yield made
