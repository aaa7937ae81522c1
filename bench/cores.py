"""Which processor core serves, which one generates load, and what is left to share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Cores:
    """Where things run. None means: not pinned."""

    server: frozenset[int] | None
    generator: frozenset[int] | None

    def note(self) -> str:
        """What is pinned and what shares cores, for the head of the report."""
        if self.server is None or self.generator is None:
            return "one core for the server, the load generator and the database: believe CPU per pair, not pairs/s"
        return (
            f"the server is pinned to core {min(self.server)}, the load generator to core {min(self.generator)}; "
            f"PostgreSQL, and halls of which two run at once, are not pinned: they share the {os.cpu_count()} cores"
        )


def shared_out() -> Cores:
    """Deal out the cores that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return Cores(None, None)
    return Cores(frozenset(usable[:1]), frozenset(usable[1:2]))


def pin_generator(cores: Cores) -> None:
    """Keep this process on its core."""
    if cores.generator is not None:
        os.sched_setaffinity(0, cores.generator)


@contextmanager
def children_on(cores: frozenset[int] | None) -> Iterator[None]:
    """Processes that are started in the block run on these cores, or on any for None."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores if cores is not None else range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
