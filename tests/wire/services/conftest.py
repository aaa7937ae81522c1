"""A bureau: on the oracle, or on each database for the tests that say so."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.config import Settings
from hiringhall.operations.hall import terms_of
from tests.storage.subjects import open_subject
from tests.wire.services.bureau import Bureau, bureau


@pytest.fixture
async def made(request: pytest.FixtureRequest) -> AsyncIterator[Bureau]:
    """A bureau on an empty store; `on_databases` has a test run on both databases instead of the oracle."""
    kind = getattr(request, "param", "model")
    terms = terms_of(Settings(data="unused"))
    async with open_subject(kind, terms, request) as subject, bureau(subject.store) as made:
        yield made
