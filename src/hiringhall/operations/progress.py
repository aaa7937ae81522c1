"""How far a plan is: whether it goes on by itself, is finished, or waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import RETRYING
from hiringhall.ports.questions import PlanView

COUNTED: Final[tuple[State, ...]] = (
    State.WAITING, State.READY, State.HELD, State.DONE, State.FAILED, State.SKIPPED,
)  # fmt: skip
PlanState: TypeAlias = Literal["active", "paused", "finished", "blocked"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a plan is.

    `state`: `active`, `paused`, `finished` (nothing is left to do) or `blocked` (what is left waits for failed tasks).
    `counts` has every state of a task, `retrying` (failed, another attempt is due: not among the failed) and `total`.
    """

    state: PlanState
    counts: dict[str, int]


def progress_of(plan: PlanView) -> Progress:
    """The progress of a plan."""
    counts = {state.value: plan.counts.get(state, 0) for state in COUNTED}
    counts[RETRYING] = plan.counts.get(RETRYING, 0)
    counts["total"] = sum(counts.values())
    moving = counts[State.READY] + counts[State.HELD] + counts[RETRYING]
    state: PlanState
    if not moving and not counts[State.WAITING]:
        state = "finished"
    elif not moving and counts[State.FAILED]:
        state = "blocked"
    else:
        state = "paused" if plan.paused else "active"
    return Progress(state, counts)
