"""A bureau on each store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.config import Settings
from hiringhall.operations.hall import terms_of
from tests.storage.subjects import open_subject
from tests.wire.services.bureau import Bureau, bureau


@pytest.fixture(params=["model", "sqlite", "postgres"])
async def made(request: pytest.FixtureRequest) -> AsyncIterator[Bureau]:
    """A bureau on an empty store."""
    terms = terms_of(Settings(data="unused"))
    async with open_subject(request.param, terms, request) as subject, bureau(subject.store) as made:
        yield made
