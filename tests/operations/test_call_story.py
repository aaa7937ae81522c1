"""The story of a call: what happened to it, in words that need no manual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import Move, State
from hiringhall.operations.call_story import CALL_TELLERS, tell_call
from hiringhall.ports.calls import RequestView
from hiringhall.ports.questions import HistoryLine

WORKER = "service:math/w-1"
VIEW = RequestView(
    work=1, request_id="r-1", client="shop", service="math", method="add", state=State.READY, cancelling=False,
    offered=False, version=1, made_at=0, deadline_at=86_400_000, first_handed_at=None, finished_at=None, answer=None,
    result=None, error_text=None,
)  # fmt: skip


def a_call(**members: Any) -> RequestView:
    return replace(VIEW, **members)


def line(move: str, *, worker: str | None = WORKER, cause: str | None = None, reason: str | None = None) -> HistoryLine:
    return HistoryLine(0, 2, move, "held", worker, cause, reason)


def test_a_plain_call_is_told() -> None:
    """Who called what, who got it, and that it was answered."""
    view = a_call(state=State.DONE, answer=Answer.SUCCESS)
    told = tell_call(view, [line("submit", worker=None), line("hold", cause="first"), line("complete")])
    assert told == [
        "1970-01-01 00:00:00 UTC: Called by client 'shop': math/add, for one worker.",
        "1970-01-01 00:00:00 UTC: Handed to worker w-1 for the first time, as version 2.",
        "1970-01-01 00:00:00 UTC: Answered: worker w-1 did it.",
        "Now: it succeeded. Nothing more will happen to it by itself.",
    ]


def test_offers_and_locks_are_told() -> None:
    """Of a race it is told who was offered it, and who locked it."""
    view = a_call(dispatch=Dispatch.RACE)
    _, offered, locked, again, _ = tell_call(
        view, [line("submit"), line("offer"), line("hold", cause="first"), line("hold", cause="worker_offline")]
    )
    assert offered.endswith("Offered to worker w-1.")
    assert locked.endswith("Locked by worker w-1, the first of those that it was offered to, as version 2.")
    assert again.endswith("as version 2; it was on offer again because the worker before went offline.")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (line("release", cause="lease_expired"), "Taken back: worker w-1 was not heard of"),
        (line("hold", cause="retry"), "Handed to worker w-1 again, as version 2, because another attempt was due"),
        (line("fail", reason="no such file"), "Failed: worker w-1 said 'no such file'"),
        (line("complete_late"), "Answered late: worker w-1 had lost it"),
        (line("withdraw", worker=None), "Cancelled: its client took it back"),
        (line("withdraw", cause="worker_offline"), "its client had taken it back, and worker w-1 went offline"),
        (line("expire", worker=None), "Its deadline passed"),
        (line("gather", worker=None), "Every worker that it was meant for has answered"),
        (line("lose", worker=None, reason="worker lost"), "will not come for it: worker lost"),
    ],
)
def test_what_happened_is_told(told: HistoryLine, words: str) -> None:
    """Retries with their cause, late answers, the end by its client or by its deadline."""
    assert words in tell_call(VIEW, [told])[0]


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (VIEW, "queued; the next free worker that can do it gets it. Its deadline is 1970-01-02 00:00:00 UTC"),
        (a_call(offered=True), "offered; the first worker that locks it gets it"),
        (a_call(lane_paused=True), "its service is paused"),
        (a_call(state=State.HELD, holder=WORKER, version=4), "held by worker w-1, version 4."),
        (a_call(state=State.HELD, holder=WORKER, cancelling=True), "; its client wants it stopped"),
        (a_call(state=State.FAILED, retry_at=5_000, attempts=1), "failed once; the next attempt is due at 1970-01-01"),
        (a_call(state=State.WAITING, dispatch=Dispatch.BROADCAST), "waiting for the answers of the workers"),
        (a_call(state=State.FAILED, answer=Answer.ERROR), "ended with an error"),
    ],
)
def test_the_last_sentence_tells_how_it_stands(view: RequestView, words: str) -> None:
    """What it waits for, who holds it, or how it ended."""
    assert words in tell_call(view, [])[-1]


def test_every_move_of_a_call_has_a_sentence() -> None:
    """No move is told by its bare name."""
    for move in {*Move, *CALL_TELLERS}:
        told = tell_call(VIEW, [line(move, cause="operator", reason="reason")])[0]
        assert told.endswith(".")
        assert not told.startswith(f"1970-01-01 00:00:00 UTC: {move}:")
