"""The table of moves: what it allows, what it forbids, and what is read from it."""

from __future__ import annotations

import itertools

import pytest

from hiringhall.domain.lifecycle import (
    FINAL,
    MOVES,
    SATISFIED,
    Move,
    State,
    diagram,
    settled_or_blocked,
    sources,
    target,
)

# Written out by hand, a second time, so that a slip in the table shows.
ALLOWED = {
    State.WAITING: "unblock skip cancel reprioritise revise withdraw expire gather",
    State.READY: "block hold skip cancel reprioritise revise withdraw expire complete_late fail_late lose",
    State.HELD: "start complete fail release abandon skip cancel withdraw expire",
    State.DONE: "reset",
    State.FAILED: "retry skip reset withdraw expire lose",
    State.SKIPPED: "reset",
    State.CANCELLED: "",
    State.EXPIRED: "",
}
ENDS = {
    Move.UNBLOCK: State.READY,
    Move.BLOCK: State.WAITING,
    Move.HOLD: State.HELD,
    Move.START: State.HELD,
    Move.COMPLETE: State.DONE,
    Move.FAIL: State.FAILED,
    Move.RELEASE: State.READY,
    Move.ABANDON: State.FAILED,
    Move.RETRY: State.READY,
    Move.SKIP: State.SKIPPED,
    Move.CANCEL: State.FAILED,
    Move.RESET: State.READY,
    Move.WITHDRAW: State.CANCELLED,
    Move.EXPIRE: State.EXPIRED,
    Move.COMPLETE_LATE: State.DONE,
    Move.FAIL_LATE: State.FAILED,
    Move.GATHER: State.DONE,
    Move.LOSE: State.FAILED,
}


@pytest.mark.parametrize(("state", "move"), list(itertools.product(State, Move)))
def test_every_pair_is_allowed_or_not(state: State, move: Move) -> None:
    """Each move is allowed from exactly the states from which it makes sense, and leads where it says."""
    expected = ENDS.get(move, state) if move.value in ALLOWED[state].split() else None
    assert target(state, move) is expected
    assert (state in sources(move)) is (expected is not None)


def test_every_move_is_possible_and_every_state_reached() -> None:
    """No move is forbidden everywhere, and no state but the first two is out of reach."""
    assert all(sources(move) for move in Move)
    assert set(MOVES.values()) == set(State)


def test_nobody_works_on_what_is_final() -> None:
    """From a final state only an operator leads on, or what may happen while a retry is due."""
    leading_on = {Move.RETRY, Move.SKIP, Move.RESET}
    assert {move for state, move in MOVES if state in FINAL - {State.FAILED}} <= leading_on
    while_retrying = {Move.WITHDRAW, Move.EXPIRE, Move.LOSE}
    assert {move for state, move in MOVES if state is State.FAILED} == leading_on | while_retrying
    assert SATISFIED < FINAL


@pytest.mark.parametrize("waiting_on", [0, 2])
def test_what_comes_back_waits_if_a_dependency_is_open(waiting_on: int) -> None:
    """Moves that lead back to ready lead to waiting while a dependency is open; others are as they are."""
    back = State.WAITING if waiting_on else State.READY
    assert settled_or_blocked(State.HELD, Move.RELEASE, waiting_on) is back
    assert settled_or_blocked(State.DONE, Move.RESET, waiting_on) is back
    assert settled_or_blocked(State.HELD, Move.COMPLETE, waiting_on) is State.DONE
    assert settled_or_blocked(State.DONE, Move.COMPLETE, waiting_on) is None


def test_the_diagram_shows_every_edge() -> None:
    """The diagram has one line for each edge of the table and nothing else."""
    first, *lines = diagram().splitlines()
    assert first == "stateDiagram-v2"
    assert [line.strip() for line in lines] == [
        f"{before} --> {after}: {move}" for (before, move), after in MOVES.items()
    ]
