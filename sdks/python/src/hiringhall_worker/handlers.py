"""Calling the user's handler, sync or async, and telling it that its result is no longer wanted."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Union

from .task import Task

Handler = Callable[[Task], Union[Awaitable[None], None]]


class LoopThread:
    """One event loop in a thread of its own, started when the first async handler needs it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="hiringhall-loop", daemon=True
                )
                self._thread.start()
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()

    def stop(self, timeout_seconds: float) -> None:
        """End the loop; a handler that blocks it is left behind with its thread."""
        with self._guard:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout_seconds)


class Run:
    """One run of a function of the user, sync or async. `cancelled` is the event that the function may look at."""

    def __init__(self, function: Callable[[], object], cancelled: threading.Event, loops: LoopThread) -> None:
        self.cancelled = cancelled
        self._function = function
        self._loops = loops
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._inner: asyncio.Task[object] | None = None

    def run(self) -> object:
        """Run it to its end in this thread, or in the event loop if it is async; what it raises comes out."""
        result = self._function()
        if inspect.isawaitable(result):
            loop = self._loops.loop()
            return asyncio.run_coroutine_threadsafe(self._await(result), loop).result()
        return result

    async def _await(self, result: Awaitable[object]) -> object:
        inner = asyncio.ensure_future(_completed(result))
        with self._guard:
            self._loop, self._inner = asyncio.get_running_loop(), inner
            if self.cancelled.is_set():
                inner.cancel()
        return await inner

    def cancel(self) -> None:
        """Tell the function to stop: sets `cancelled`, and cancels the coroutine of an async one."""
        with self._guard:
            if self.cancelled.is_set():
                return
            self.cancelled.set()
            if self._loop is not None and self._inner is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is left to cancel
                    self._loop.call_soon_threadsafe(self._inner.cancel)


class Call(Run):
    """One run of the handler for one task."""

    def __init__(self, handler: Handler, task: Task, loops: LoopThread) -> None:
        super().__init__(lambda: handler(task), task.cancelled, loops)
        self.task = task


async def _completed(result: Awaitable[object]) -> object:
    try:
        return await result
    except (SystemExit, KeyboardInterrupt) as error:
        # These two would end the event loop, and with it the handlers of all other tasks.
        raise RuntimeError(reason_of(error)) from error


def reason_of(error: BaseException) -> str:
    """The text of an exception, as the reason of a failure; its type's name where the text says nothing by itself."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return f"{kind} (its text cannot be read)"
    if not text.strip():
        return kind
    return f"{kind}: {text}" if isinstance(error, (KeyError, SystemExit)) else text
