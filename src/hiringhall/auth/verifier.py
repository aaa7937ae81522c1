"""The one thread that computes slow hashes, with a queue that is bounded as a whole and for each source."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar

WAITING_MAX: Final = 64
WAITING_OF_A_SOURCE_MAX: Final = 16

Result = TypeVar("Result")


class Busy(Exception):
    """Too much waits to be computed."""


class Verifier:
    """Computes one thing after the other, off the event loop, to whose thread it belongs otherwise."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]] | None] = queue.SimpleQueue()
        self._waiting: Counter[str] = Counter()
        self._thread: threading.Thread | None = None

    def compute(self, job: Callable[[], Result], source: str, done: Callable[[Result | Exception], None]) -> bool:
        """Have `job` computed and call `done` with its result, later. False: there is no room."""
        if self._waiting.total() >= WAITING_MAX or self._waiting[source] >= WAITING_OF_A_SOURCE_MAX:
            return False
        self._waiting[source] += 1

        def deliver(result: Result | Exception) -> None:
            self._waiting[source] -= 1
            if self._waiting[source] <= 0:
                del self._waiting[source]
            done(result)

        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="hall-secrets", daemon=True)
            self._thread.start()
        self._jobs.put((job, deliver))
        return True

    async def result(self, job: Callable[[], Result], source: str) -> Result:
        """The result of `job`.

        Raises:
            Busy: there is no room.
        """
        future: asyncio.Future[Result] = self._loop.create_future()

        def done(result: Result | Exception) -> None:
            if future.done():
                return
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

        if not self.compute(job, source, done):
            raise Busy("too many secrets wait to be hashed")
        return await future

    def stop(self) -> None:
        """End the thread when it has done what waits."""
        if self._thread is not None:
            self._jobs.put(None)

    def _work(self) -> None:
        while (entry := self._jobs.get()) is not None:
            job, deliver = entry
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - it belongs to the caller, not to the thread
                result = error
            try:
                self._loop.call_soon_threadsafe(deliver, result)
            except RuntimeError:  # the loop is closed: nobody waits
                return
