"""How a change or a question is put into words that either database can carry out.

A procedure is a generator that yields steps and receives rows. It is written once; the SQLite adapter runs it in its
writer thread, the PostgreSQL adapter awaits each step inside a transaction.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hiringhall.domain.lease import Terms

Row: TypeAlias = Sequence[Any]
Parameters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Run a statement and receive all its rows."""

    statement: str
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Many:
    """Run a statement once for each row of parameters; receives nothing."""

    statement: str
    rows: Sequence[Parameters]


@dataclass(frozen=True, slots=True)
class FetchMany:
    """Run a statement once for each row of parameters and receive all rows of all runs, in order.

    Which run a row belongs to is for the statement to say, by returning its `:ordinal`.
    """

    statement: str
    rows: Sequence[Parameters]


Step: TypeAlias = Fetch | FetchMany | Many
Procedure: TypeAlias = Generator[Step, list[Row], Any]


@dataclass(slots=True)
class Context:
    """What a procedure knows besides its asks, and where it leaves its rings.

    `now` is the database's clock in milliseconds, read once for the transaction.
    """

    now: int
    terms: Terms
    rings: dict[str, int] = field(default_factory=dict)

    def ring(self, topic: str, count: int = 1) -> None:
        """Wake `count` waiters on the topic once the transaction is durable."""
        self.rings[topic] = self.rings.get(topic, 0) + count
