"""Counts failed secrets: "10 a minute, then 429", for each pair of a source and a service or client."""

from __future__ import annotations

from collections import OrderedDict, deque
from math import ceil
from typing import Final, TypeAlias

FAILURES_MAX: Final = 10
PERIOD_SECONDS: Final = 60.0
PAIRS_MAX: Final = 20_000

Who: TypeAlias = tuple[str, str, str]
"""The source, the role and the owner of the secret."""


class Attempts:
    """Times are seconds of the event loop's clock. Those who have not failed for longest are forgotten first."""

    def __init__(self) -> None:
        self._failures: OrderedDict[Who, deque[float]] = OrderedDict()

    def wait_seconds(self, who: Who, now: float) -> int:
        """How many whole seconds there must be no further attempt; 0 if there may be one now."""
        failures = self._failures.get(who)
        if failures is None:
            return 0
        while failures and failures[0] <= now - PERIOD_SECONDS:
            failures.popleft()
        if len(failures) < FAILURES_MAX:
            return 0
        return max(1, ceil(failures[-FAILURES_MAX] + PERIOD_SECONDS - now))

    def begin(self, who: Who, now: float) -> None:
        """An attempt counts as failed until it succeeds, so that many at once are no way around the limit."""
        self._failures.setdefault(who, deque()).append(now)
        self._failures.move_to_end(who)
        if len(self._failures) > PAIRS_MAX:
            self._failures.popitem(last=False)

    def succeeded(self, who: Who, begun_at: float) -> None:
        """The attempt that began then was none to be counted."""
        failures = self._failures.get(who)
        if failures is not None and begun_at in failures:
            failures.remove(begun_at)
            if not failures:
                del self._failures[who]
