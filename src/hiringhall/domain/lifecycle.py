"""The lifecycle of a unit of work: one table of moves, read by everything that needs to know one.

Two laws. Everything about which move is allowed from which state stands in `MOVES`; nothing else repeats it:
decisions look moves up here, SQL receives states from here as constants when its statements are loaded, the diagram
is drawn from here. A state says who may act next; details that do not change that (started, waiting for a retry) are
members of the unit.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a unit of work stands."""

    WAITING = "waiting"  # on dependencies
    READY = "ready"  # to be handed to a worker
    HELD = "held"  # by one worker, under a lease
    DONE = "done"
    FAILED = "failed"  # for good, or until `retry_at`
    SKIPPED = "skipped"  # not needed; satisfies its dependents
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Move(StrEnum):
    """What may happen to a unit of work."""

    UNBLOCK = "unblock"  # the last open dependency is satisfied
    BLOCK = "block"  # a dependency is open again
    HOLD = "hold"  # handed to a worker
    START = "start"  # the holder is known to be at it
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"  # given back, or taken back by a sweep
    ABANDON = "abandon"  # its leases ran out too often
    RETRY = "retry"
    SKIP = "skip"
    CANCEL = "cancel"
    RESET = "reset"  # a finished unit is to be done again
    REPRIORITISE = "reprioritise"
    REVISE = "revise"  # a changed plan file gives it other contents
    WITHDRAW = "withdraw"  # its client no longer wants it
    EXPIRE = "expire"  # its deadline passed
    COMPLETE_LATE = "complete_late"  # by the one that had it last, while nobody else has it
    FAIL_LATE = "fail_late"
    GATHER = "gather"  # all children of a broadcast have ended
    LOSE = "lose"  # the worker for which alone it is will not come for it


MOVES: Final[dict[tuple[State, Move], State]] = {
    (State.WAITING, Move.UNBLOCK): State.READY,
    (State.READY, Move.BLOCK): State.WAITING,
    (State.READY, Move.HOLD): State.HELD,
    (State.HELD, Move.START): State.HELD,
    (State.HELD, Move.COMPLETE): State.DONE,
    (State.HELD, Move.FAIL): State.FAILED,
    (State.HELD, Move.RELEASE): State.READY,
    (State.HELD, Move.ABANDON): State.FAILED,
    (State.FAILED, Move.RETRY): State.READY,
    (State.WAITING, Move.SKIP): State.SKIPPED,
    (State.READY, Move.SKIP): State.SKIPPED,
    (State.HELD, Move.SKIP): State.SKIPPED,
    (State.FAILED, Move.SKIP): State.SKIPPED,
    (State.WAITING, Move.CANCEL): State.FAILED,
    (State.READY, Move.CANCEL): State.FAILED,
    (State.HELD, Move.CANCEL): State.FAILED,
    (State.DONE, Move.RESET): State.READY,
    (State.FAILED, Move.RESET): State.READY,
    (State.SKIPPED, Move.RESET): State.READY,
    (State.WAITING, Move.REPRIORITISE): State.WAITING,
    (State.READY, Move.REPRIORITISE): State.READY,
    (State.WAITING, Move.REVISE): State.WAITING,
    (State.READY, Move.REVISE): State.READY,
    (State.WAITING, Move.WITHDRAW): State.CANCELLED,
    (State.READY, Move.WITHDRAW): State.CANCELLED,
    (State.HELD, Move.WITHDRAW): State.CANCELLED,
    (State.FAILED, Move.WITHDRAW): State.CANCELLED,
    (State.WAITING, Move.EXPIRE): State.EXPIRED,
    (State.READY, Move.EXPIRE): State.EXPIRED,
    (State.HELD, Move.EXPIRE): State.EXPIRED,
    (State.FAILED, Move.EXPIRE): State.EXPIRED,
    (State.READY, Move.COMPLETE_LATE): State.DONE,
    (State.READY, Move.FAIL_LATE): State.FAILED,
    (State.WAITING, Move.GATHER): State.DONE,
    (State.READY, Move.LOSE): State.FAILED,
    (State.FAILED, Move.LOSE): State.FAILED,
}

SATISFIED: Final[frozenset[State]] = frozenset({State.DONE, State.SKIPPED})
"""States that satisfy a dependency: "every dependency DONE or SKIPPED"."""

FINAL: Final[frozenset[State]] = frozenset({State.DONE, State.FAILED, State.SKIPPED, State.CANCELLED, State.EXPIRED})
"""States in which nobody works on the unit any more (a failed one only if no retry is due)."""


def sources(move: Move) -> frozenset[State]:
    """The states from which `move` is allowed."""
    return frozenset(state for state, known in MOVES if known is move)


def target(state: State, move: Move) -> State | None:
    """The state that `move` leads to from `state`, or None if it is not allowed there."""
    return MOVES.get((state, move))


def settled_or_blocked(state: State, move: Move, waiting_on: int) -> State | None:
    """Like `target`, for moves that lead back to ready: a unit with open dependencies waits instead."""
    found = target(state, move)
    return State.WAITING if found is State.READY and waiting_on else found


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {before.value} --> {after.value}: {move.value}" for (before, move), after in MOVES.items()]
    return "\n".join(lines) + "\n"
