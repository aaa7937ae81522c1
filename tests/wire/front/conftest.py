"""The tests of the HTTP front run on both event loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
import uvloop

from hiringhall.asgi.front_settings import FrontSettings
from tests.wire.front.stage import Stage, staged


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """uvloop, and the loop of the standard library, which serves where uvloop is not available."""
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A front with the handlers of the tests and the usual settings."""
    async with staged(FrontSettings()) as ready:
        yield ready


@pytest.fixture
async def stages() -> AsyncIterator[Callable[..., Any]]:
    """Starts fronts with settings of the test's own."""
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> Stage:
            return await stack.enter_async_context(staged(FrontSettings(**settings)))

        yield start
