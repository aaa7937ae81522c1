"""The audit log of a unit told in plain words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from hiringhall.domain.lifecycle import Move, State
from hiringhall.operations.call_story import CALL_TELLERS, OFFER
from hiringhall.operations.story import TELLERS, tell
from hiringhall.ports.asks import TaskView
from hiringhall.ports.questions import HistoryLine, TaskRow

VIEW = TaskView(work=1, plan="P", task_id="T-1", state=State.READY, started=False, version=1, priority=1, detail="")
ROW = TaskRow(VIEW, 0, 0, None, None, 0, 0, None)


def in_state(state: State, **members: object) -> TaskRow:
    """The unit in another state."""
    return replace(ROW, view=structs.replace(VIEW, state=state), **members)  # type: ignore[arg-type]


def test_a_second_hand_over_says_who_had_it_and_why_it_came_back() -> None:
    """Who got it, why it was taken back, and who got it then stand in order, dated."""
    story = tell(
        in_state(State.DONE),
        [
            HistoryLine(0, 1, "submit", "ready"),
            HistoryLine(1_000, 2, "hold", "held", "plan:w-1", "first"),
            HistoryLine(62_000, 3, "release", "ready", "plan:w-1", "lease_expired"),
            HistoryLine(63_000, 4, "hold", "held", "plan:w-2", "lease_expired"),
            HistoryLine(64_000, 5, "complete", "done", "plan:w-2"),
        ],
    )
    silent = "the worker before was not heard of for longer than the visibility timeout"
    assert story == [
        "1970-01-01 00:00:00 UTC: Added to the plan, ready to be taken.",
        "1970-01-01 00:00:01 UTC: Handed to worker w-1 for the first time, as version 2.",
        "1970-01-01 00:01:02 UTC: Taken back: worker w-1 was not heard of for longer than the visibility timeout.",
        f"1970-01-01 00:01:03 UTC: Handed to worker w-2 again, as version 4, because {silent}.",
        "1970-01-01 00:01:04 UTC: Done: worker w-2 completed it.",
        "Now: done. Nothing more will happen to it by itself.",
    ]


def test_a_sweep_that_names_nobody_takes_it_from_the_last_holder() -> None:
    """A line without a worker is about whoever was handed the unit last."""
    lines = [
        HistoryLine(0, 2, "hold", "held", "plan:w-9", "first"),
        HistoryLine(0, 3, "release", "ready", None, "worker_offline"),
    ]
    assert "worker w-9 went offline" in tell(ROW, lines)[1]


def test_a_reason_is_told() -> None:
    """What a worker said when it failed or gave the unit back is part of the story."""
    lines = [
        HistoryLine(0, 2, "fail", "failed", "plan:w-1", None, "exit status 3"),
        HistoryLine(0, 3, "release", "ready", "plan:w-1", "released", "going home"),
    ]
    failed, released, _ = tell(ROW, lines)
    assert failed.endswith("Failed: worker w-1 said 'exit status 3'.")
    assert released.endswith(": Worker w-1 gave it back, saying 'going home'.")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (in_state(State.WAITING, waiting_on=1), "1 task that it depends on is not done yet"),
        (in_state(State.WAITING, waiting_on=2, blocked_by="T-0"), "blocked, because task 'T-0' failed; 2 tasks"),
        (in_state(State.READY), "ready (priority high)"),
        (in_state(State.HELD, holder="plan:w-1", handed_at=0), "held at worker w-1 since 1970-01-01 00:00:00 UTC"),
        (in_state(State.FAILED, retry_at=5_000, attempts=2), "failed 2 times; the next attempt is due at 1970-01-01"),
        (in_state(State.FAILED), "failed for good"),
        (in_state(State.SKIPPED), "Now: skipped"),
    ],
)
def test_the_last_sentence_tells_how_it_stands(row: TaskRow, words: str) -> None:
    """What it waits for, who holds it, or that it is over."""
    assert words in tell(row, [])[-1]


def test_a_paused_plan_explains_why_nobody_gets_it() -> None:
    """Ready work of a paused plan says that the plan is paused."""
    assert "paused" in tell(ROW, [], paused=True)[-1]


def test_every_move_of_a_task_has_a_sentence() -> None:
    """No move that a task can make is told by its bare name."""
    assert set(Move) - set(TELLERS) == set(CALL_TELLERS) - set(TELLERS) - {OFFER}
    for move in TELLERS:
        told = tell(ROW, [HistoryLine(0, 1, move, "ready", "plan:w-1", "operator", "reason")])[0]
        assert told.endswith(".")
