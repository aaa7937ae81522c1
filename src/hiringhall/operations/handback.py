"""Gives back hand-overs whose answer did not arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from hiringhall.domain.lease import Cause
from hiringhall.operations.coalescer import Coalescer
from hiringhall.ports.asks import Return, TaskView
from hiringhall.ports.calls import Message
from hiringhall.ports.store import StoreUnavailable

REPEAT_WAIT_SECONDS: Final = 10.0
"""A claim with an Idempotency-Key may be repeated for what it was handed; only then is it given back."""
TRY_AGAIN_SECONDS: Final = 1.0
TRIES_MAX: Final = 30
"""With the database away for longer than this, the lease is the backstop."""


class HandBack:
    """Hand-overs that are on their way back. Belongs to the event loop's thread."""

    def __init__(self, coalescer: Coalescer) -> None:
        self._coalescer = coalescer
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[tuple[int, int], tuple[Return, asyncio.TimerHandle]] = {}
        self.returned = 0
        """How many hand-overs were given back."""

    def lost(self, handed: Iterable[TaskView | Message], worker: str, *, repeatable: bool) -> None:
        """The answer that handed these over certainly did not arrive."""
        for unit in handed:
            delivery = unit.delivery if isinstance(unit, TaskView) else 1
            ask = Return(unit.work, unit.version, worker, Cause.CONNECTION_LOST, delivery)
            if repeatable:
                name = (unit.work, unit.version)
                self._forget(name)  # the answer to a repetition may be lost too
                handle = self._loop.call_later(REPEAT_WAIT_SECONDS, self._waited, name)
                self._waiting[name] = (ask, handle)
            else:
                self._send(ask, 1)

    def answered(self, tasks: Iterable[TaskView]) -> None:
        """A repeated claim is answered with the same hand-overs: they are not given back."""
        for task in tasks:
            self._forget((task.work, task.version))

    def _forget(self, name: tuple[int, int]) -> None:
        found = self._waiting.pop(name, None)
        if found is not None:
            found[1].cancel()

    def _waited(self, name: tuple[int, int]) -> None:
        ask, _ = self._waiting.pop(name)
        self._send(ask, 1)

    def _send(self, ask: Return, tries: int) -> None:
        def done(outcome: Any) -> None:
            if isinstance(outcome, StoreUnavailable) and tries < TRIES_MAX:
                self._loop.call_later(TRY_AGAIN_SECONDS, self._send, ask, tries + 1)
            elif isinstance(outcome, Exception):
                context = {"message": "a hand-over could not be given back", "exception": outcome}
                self._loop.call_exception_handler(context)
            elif outcome is True:
                self.returned += 1

        self._coalescer.ask(ask, done)

    async def close(self) -> None:
        """Give back now what still waits for a repeated claim."""
        waiting, self._waiting = self._waiting, {}
        for ask, handle in waiting.values():
            handle.cancel()
            self._send(ask, 1)
        await self._coalescer.idle()
