"""The parked claims of this process, by when they end: one timer serves all that end in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hiringhall.operations.claim import Claim

MOMENT_SECONDS: Final = 0.05
"""So much later than it was meant to may a claim end. A timer for each would take more memory than the claim."""


class Moment:
    """Claims that end together, at `at` by the event loop's clock."""

    __slots__ = ("at", "claims")

    def __init__(self, at: float) -> None:
        self.at = at
        self.claims: dict[Claim, None] = {}


class ParkedClaims:
    """All parked claims, also those that were rung and look just now. Belongs to the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._moments: dict[int, Moment] = {}

    def __len__(self) -> int:
        return sum(len(moment.claims) for moment in self._moments.values())

    def __iter__(self) -> Iterator[Claim]:
        for moment in self._moments.values():
            yield from moment.claims

    def add(self, claim: Claim, ends_at: float) -> Moment:
        """Have the claim hear when its time is over; returns the moment to which it belongs until it is removed."""
        number = ceil(ends_at / MOMENT_SECONDS)
        moment = self._moments.get(number)
        if moment is None:
            moment = self._moments[number] = Moment(number * MOMENT_SECONDS)
            self._loop.call_at(moment.at, self._over, number)
        moment.claims[claim] = None
        return moment

    def remove(self, claim: Claim, moment: Moment) -> None:
        """The claim ended."""
        moment.claims.pop(claim, None)

    def _over(self, number: int) -> None:
        for claim in list(self._moments.pop(number).claims):
            claim.time_over()
