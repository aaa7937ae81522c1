"""Plays many cases, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

AnyCase = TypeVar("AnyCase")
AnyResult = TypeVar("AnyResult")


async def play_all(
    cases: Sequence[AnyCase], play: Callable[[AnyCase], Awaitable[AnyResult]], at_once: int
) -> AsyncIterator[AnyResult]:
    """The results as they come. The first exception ends the whole."""
    waiting = list(reversed(cases))
    running: set[asyncio.Future[AnyResult]] = set()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.add(asyncio.ensure_future(play(waiting.pop())))
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                running.discard(one)
                yield one.result()
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
