"""The one place where a test waits: for a condition, with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")
LOOK_EVERY_SECONDS = 0.01


def until(condition: Callable[[], Found | None], *, within_seconds: float = 10.0, waiting_for: str = "") -> Found:
    """Return the first true value of `condition`; when the deadline has passed, fail and say what was waited for."""
    deadline = time.monotonic() + within_seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_seconds:g} s in vain for {waiting_for or condition}")
        time.sleep(LOOK_EVERY_SECONDS)
    return found


async def until_async(
    condition: Callable[[], Awaitable[Found | None]], *, within_seconds: float = 10.0, waiting_for: str = ""
) -> Found:
    """The same for a condition that has to be awaited."""
    deadline = time.monotonic() + within_seconds
    while not (found := await condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_seconds:g} s in vain for {waiting_for or condition}")
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    return found
