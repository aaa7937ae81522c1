"""The sweeps: which there are, how often each is made, and what makes one due before its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Ask, Beaten, FoldTallies, Forget, SweepRetries, SweepRunLimit, SweepSilent, Unblock

RECENT_MS: Final = 60_000
SLOW_INTERVAL_SECONDS: Final = 60.0
TIDY_INTERVAL_SECONDS: Final = 5.0
ORPHANS_INTERVAL_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Sweeper:
    """A background correction: idempotent, bounded per pass, safe when many replicas make it."""

    name: str
    ask: Callable[[], Ask]
    interval_seconds: float


def tidying(*, keep_plans_ms: int | None) -> tuple[Sweeper, ...]:
    """The sweeps that are made at their own pace."""
    return (
        Sweeper("orphans", SweepSilent, ORPHANS_INTERVAL_SECONDS),
        Sweeper("unblock_recent", lambda: Unblock(applied_within_ms=RECENT_MS), TIDY_INTERVAL_SECONDS),
        Sweeper("unblock", Unblock, SLOW_INTERVAL_SECONDS),
        Sweeper("tallies", FoldTallies, TIDY_INTERVAL_SECONDS),
        Sweeper("forget", lambda: Forget(keep_plans_ms=keep_plans_ms), TIDY_INTERVAL_SECONDS),
    )


def due_after(beaten: Beaten) -> list[tuple[str, Ask]]:
    """What the pulse found to be due, so that a hall in which nothing happens costs one statement per pulse."""
    due: list[tuple[str, Ask]] = []
    if beaten.silent_due:
        due.append(("silent", SweepSilent(orphans=False)))
    if beaten.overrun_due:
        due.append(("run_limit", SweepRunLimit()))
    if beaten.retry_in_ms == 0:
        due.append(("retries", SweepRetries()))
    return due


def pulse_interval_seconds(terms: Terms) -> float:
    """Sweeps look at least every min(1 s, timeout / 4)."""
    return terms.sweep_interval_ms / 1000
