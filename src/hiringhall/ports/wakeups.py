"""Wake-ups: who waits for what, and how they are told. A ring is a hint, never the truth: whoever is rung looks again.

Three laws. Take a generation (`Lane.rings`) before looking, so that a ring during the look is not lost. Whoever is rung
and finds nothing, or is gone, passes the ring on, unless the lane is known to be drained. A lane that was seen drained
stays so until it is rung.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

HOPS_MAX: Final = 64
"""How often a ring may be passed on by those to whom it is of no use; the re-check does the rest."""


class Waiter(Protocol):
    """Waits on a lane."""

    def rung(self, lane: Lane, hops: int) -> None:
        """Look again; the waiter is off that lane. `hops`: how often the ring may still be passed on.

        Who stands in several lanes may be rung in more than one of them."""


class Lane(Protocol):
    """Where the waiters of one lane stand in line."""

    @property
    def key(self) -> str:
        """The lane's key in the store."""

    @property
    def alone(self) -> tuple[Lane, ...]:
        """The lane as a tuple of one, the same object every time: many wait in one lane only."""

    @property
    def rings(self) -> int:
        """The generation: it changes with every ring."""

    @property
    def waiting(self) -> int:
        """How many stand in line; as long as anybody does, a lost ring is noticed by the re-check."""

    @property
    def drained(self) -> bool:
        """Whether the lane was seen with nothing ready and has not been rung since."""

    def mark_drained(self, rings: int) -> None:
        """A look that began at generation `rings` found that nothing more is ready."""

    def park(self, waiter: Waiter) -> None:
        """Stand in line."""

    def leave(self, waiter: Waiter) -> None:
        """Stand in line no longer; nothing happens to one who does not."""

    def pass_on(self, hops: int) -> None:
        """Hand a ring that was of no use to the next in line."""


class Wakeups(Protocol):
    """All lanes and topics of this process."""

    def lane(self, key: str) -> Lane:
        """The lane of that key; it stays the same object while anybody uses it."""

    def done_with(self, lane: Lane) -> None:
        """One who asked for the lane no longer uses it."""

    def before(self, hook: Callable[[str], None]) -> None:
        """Call `hook` with the topic of every ring, before anybody is woken by it."""

    def after_commit(self, hook: Callable[[Mapping[str, int]], None]) -> None:
        """Call `hook` with the rings of each commit of this process, after those who wait here have been woken."""

    def ring(self, topic: str, count: int = 1) -> None:
        """Wake up to `count` waiters of a topic. The topic "*" is all topics, and all waiters."""

    def ring_committed(self, rings: Mapping[str, int]) -> None:
        """Ring what follows from a commit of this process."""

    def waited_for(self) -> list[str]:
        """The keys of the lanes in which somebody stands in line."""

    def found_ready(self, keys: Iterable[str]) -> None:
        """These lanes have something ready, although somebody waits there: their ring was lost."""
