"""The sweeps: which there are, how often each is made, and what makes one due before its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from hiringhall.domain.call import PASSING_FEEDBACK_MS
from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import (
    Apply,
    Ask,
    Beaten,
    DeletePlan,
    FoldTallies,
    Forget,
    Reconcile,
    RetryPlan,
    Return,
    Settle,
    Steer,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Take,
    Unblock,
)
from hiringhall.ports.calls import AddFeedback, Drain, ForgetCalls, Lock, Respond, Submit, SweepDeadlines, Withdraw
from hiringhall.ports.identity import ForgetLogins

RECENT_MS: Final = 60_000
KEEP_CALLS_MS: Final = 86_400_000
IDLE_SECONDS: Final = 150.0
"""How often a hall in which nothing happens looks for what time alone, or a server that is gone, has left to do."""
CHANGES_COUNTS: Final = frozenset(
    {
        Apply, Drain, Lock, Reconcile, Respond, RetryPlan, Return, Settle, Steer, Submit, SweepRetries, SweepRunLimit,
        Take, Withdraw,
    }
)  # fmt: skip
"""Not the search for the silent, which goes on all the time and seldom finds anybody: what it adds is folded later."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """A background correction: idempotent, bounded per pass, safe when many replicas make it."""

    name: str
    ask: Callable[[], Ask]
    interval_seconds: float
    after: frozenset[type[Ask]] = field(default_factory=frozenset)
    """It is left out unless this process has committed one of these since, or the pass before found something; empty:
    it is always made."""
    lasting_seconds: float = 0.0
    """For how long after such an ask it is made, at least once."""
    idle_seconds: float | None = None
    """How often it is made although nothing calls for it; None: never."""


def tidying(*, keep_plans_ms: int | None, keep_calls_ms: int = KEEP_CALLS_MS) -> tuple[Sweeper, ...]:
    """The sweeps that are made at their own pace."""
    forget_calls = partial(ForgetCalls, keep_calls_ms=keep_calls_ms)
    return (
        _seldom_if_idle("orphans", SweepSilent, 15.0, after=CHANGES_COUNTS),
        Sweeper(
            "unblock_recent", lambda: Unblock(applied_within_ms=RECENT_MS), 10.0,
            after=frozenset({Apply}), lasting_seconds=RECENT_MS / 1000,
        ),
        Sweeper("unblock", Unblock, 60.0),
        Sweeper("deadlines", SweepDeadlines, 15.0, after=frozenset({Submit})),
        Sweeper("tallies", FoldTallies, 5.0, after=CHANGES_COUNTS),
        _seldom_if_idle("forget", lambda: Forget(keep_plans_ms=keep_plans_ms), 30.0, after=CHANGES_COUNTS),
        Sweeper("logins", ForgetLogins, 300.0),
        Sweeper("forget_deleted", Forget, 5.0, after=frozenset({DeletePlan})),
        _seldom_if_idle("forget_calls", forget_calls, 15.0, after=CHANGES_COUNTS),
        Sweeper(
            "forget_feedback", forget_calls, 15.0,
            after=frozenset({AddFeedback}), lasting_seconds=2 * PASSING_FEEDBACK_MS / 1000,
        ),
    )  # fmt: skip


def _seldom_if_idle(
    name: str, ask: Callable[[], Ask], interval_seconds: float, *, after: frozenset[type[Ask]]
) -> Sweeper:
    return Sweeper(name, ask, interval_seconds, after, idle_seconds=IDLE_SECONDS)


def due_after(beaten: Beaten) -> list[tuple[str, Ask]]:
    """What the pulse found to be due, so that a hall in which nothing happens costs one statement per pulse."""
    due: list[tuple[str, Ask]] = []
    if beaten.silent_due:
        due.append(("silent", SweepSilent(orphans=False)))
    if beaten.overrun_due:
        due.append(("run_limit", SweepRunLimit()))
    if beaten.retry_in_ms == 0:
        due.append(("retries", SweepRetries()))
    if beaten.deadline_in_ms == 0:
        due.append(("deadlines", SweepDeadlines()))
    return due


def pulse_interval_seconds(terms: Terms) -> float:
    """Sweeps look at least every min(1 s, timeout / 4)."""
    return terms.sweep_interval_ms / 1000
