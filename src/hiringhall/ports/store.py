"""The store: everything that is kept, and the only way to change it.

A batch of asks goes in, is made durable as a whole, and every ask gets an outcome of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hiringhall.ports.asks import Ask
from hiringhall.ports.questions import Query


class StoreUnavailable(Exception):
    """The database cannot be reached or does not answer; nothing is known to have changed."""


class Overloaded(StoreUnavailable):
    """More is asked of the database than it gets done; nothing has changed."""


@dataclass(slots=True)
class Committed:
    """The outcomes of a batch, in the order of its asks, and the rings that follow from it.

    An outcome that is an exception says that this ask alone failed. `rings` maps topics to the number of units that
    became ready there, or to 1 for a worker that has to be told something.
    """

    outcomes: list[Any]
    rings: Mapping[str, int] = field(default_factory=dict)


class Store(Protocol):
    """Where everything is kept."""

    def channel(self, ask: Ask) -> str:
        """Asks of one channel are committed together; channels work beside each other."""
        ...

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        """Make the asks durable together and answer each. All asks are of one channel.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        ...

    async def read(self, query: Query) -> Any:
        """Answer a question about what is stored; the result's type stands at the query.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Finish what is under way and let go of the database."""
        ...
