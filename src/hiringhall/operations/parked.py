"""The parked calls of this process, by when they end: one timer serves all that end in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hiringhall.operations.waiting import Waiting

MOMENT_SECONDS: Final = 0.05
"""So much later than it was meant to may a call end. A timer for each would take more memory than the call."""


class Moment:
    """Calls that end together, at `at` by the event loop's clock."""

    __slots__ = ("at", "calls")

    def __init__(self, at: float) -> None:
        self.at = at
        self.calls: dict[Waiting, None] = {}


class ParkedCalls:
    """All parked calls, also those that were rung and look just now. Belongs to the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._moments: dict[int, Moment] = {}

    def __len__(self) -> int:
        return sum(len(moment.calls) for moment in self._moments.values())

    def __iter__(self) -> Iterator[Waiting]:
        for moment in self._moments.values():
            yield from moment.calls

    def add(self, call: Waiting, ends_at: float) -> Moment:
        """Have the call hear when its time is over; returns the moment to which it belongs until it is removed."""
        number = ceil(ends_at / MOMENT_SECONDS)
        moment = self._moments.get(number)
        if moment is None:
            moment = self._moments[number] = Moment(number * MOMENT_SECONDS)
            self._loop.call_at(moment.at, self._over, number)
        moment.calls[call] = None
        return moment

    def remove(self, call: Waiting, moment: Moment) -> None:
        """The call ended."""
        moment.calls.pop(call, None)

    def _over(self, number: int) -> None:
        for call in list(self._moments.pop(number).calls):
            call.time_over()
