"""The re-check: about once a second one question for all lanes in which somebody waits, and one for all calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from hiringhall.domain.call import parts_of_lane
from hiringhall.domain.topics import topic_of_service
from hiringhall.operations.hall import Hall
from hiringhall.ports.questions import ReadyLanes
from hiringhall.ports.store import StoreUnavailable

INTERVAL_SECONDS: Final = 1.0


class Recheck:
    """Looks at all that is waited for, in case a ring was lost. A database that is away ends the parked calls."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; only once."""
        self._again()

    async def stop(self) -> None:
        """End, and return when it has ended."""
        task, self._task = self._task, None
        if self._timer is not None:
            self._timer.cancel()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _again(self) -> None:
        self._timer = self._hall.loop.call_later(INTERVAL_SECONDS * (1.0 + 0.3 * self._hall.jitter()), self._look)

    def _look(self) -> None:
        self._task = self._hall.loop.create_task(self.run_once())
        self._task.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        if task is self._task:
            self._again()

    async def run_once(self) -> None:
        """Ask once about lanes and once about calls, unless nobody waits. Clients whose login ended wait no longer."""
        hall = self._hall
        hall.identities.look_after(hall.followers.sessions(), hall.followers.login_ended)
        keys = hall.wakeups.waited_for()
        if keys:
            try:
                ready = await hall.store.read(ReadyLanes(tuple(keys)))
            except StoreUnavailable as failure:
                hall.unavailable(failure)
                return
            except Exception as bug:  # noqa: BLE001 - the next re-check may succeed
                hall.loop.call_exception_handler({"message": "the re-check failed", "exception": bug})
            else:
                hall.wakeups.found_ready(ready)
                self._tell_of_new_lanes(set(ready).difference(keys))
        await hall.followers.recheck()

    def _tell_of_new_lanes(self, keys: Iterable[str]) -> None:
        """Lanes in which nobody waits may be so new that the workers who fit them have not heard of them."""
        services = {parts[0] for parts in map(parts_of_lane, keys) if parts is not None}
        for service in services:
            self._hall.wakeups.ring(topic_of_service(service))
