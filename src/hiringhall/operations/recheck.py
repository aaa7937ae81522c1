"""The re-check: about once a second one question for all lanes in which somebody waits, in case a ring was lost."""

from __future__ import annotations

import asyncio
from typing import Final

from hiringhall.operations.hall import Hall
from hiringhall.ports.store import ReadyLanes, StoreUnavailable

INTERVAL_SECONDS: Final = 1.0


class Recheck:
    """Looks at all waited-for lanes together. A database that is away ends the parked calls."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; only once."""
        self._task = self._hall.loop.create_task(self._run())

    async def stop(self) -> None:
        """End, and return when it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS * (0.8 + 0.4 * self._hall.jitter()))
            await self.run_once()

    async def run_once(self) -> None:
        """Ask once, unless nobody waits."""
        hall = self._hall
        keys = hall.wakeups.waited_for()
        if not keys:
            return
        try:
            ready = await hall.store.read(ReadyLanes(tuple(keys)))
        except StoreUnavailable as failure:
            hall.unavailable(failure)
        except Exception as bug:  # noqa: BLE001 - the next re-check may succeed
            hall.loop.call_exception_handler({"message": "the re-check failed", "exception": bug})
        else:
            hall.wakeups.found_ready(ready)
