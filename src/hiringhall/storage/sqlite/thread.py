"""A thread that carries out calls of the event loop in the order in which they come."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from hiringhall.ports.store import StoreUnavailable

Result = TypeVar("Result")


class CallThread:
    """One thread, one queue. What a call returns or raises is delivered to the loop from which it came."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def call(self, function: Callable[[], Result]) -> Result:
        """The result of `function`, called in the thread.

        Raises:
            StoreUnavailable: the thread was told to end.
        """
        if self._stopped:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def carry_out() -> None:
            try:
                result = function()
            except Exception as error:  # noqa: BLE001 - it belongs to the caller, not to the thread
                loop.call_soon_threadsafe(_deliver, future, None, error)
            else:
                loop.call_soon_threadsafe(_deliver, future, result, None)

        self._calls.put(carry_out)
        return await future

    async def stop(self) -> None:
        """Finish what was asked for and end."""
        self._stopped = True
        self._calls.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (carry_out := self._calls.get()) is not None:
            carry_out()


def _deliver(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
