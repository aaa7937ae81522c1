"""Tells the audit log of one call in plain words: who was offered it, who got it, why again, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State
from hiringhall.operations.story import TELLERS, WHY_BACK, Teller, times, when, worker_named
from hiringhall.ports.calls import RequestView
from hiringhall.ports.questions import HistoryLine

OFFER: Final = "offer"
SUBMIT: Final = "submit"


def tell_call(view: RequestView, history: Sequence[HistoryLine]) -> list[str]:
    """What happened to the call, a dated sentence for each line of its log, and last how it stands now."""
    story = []
    holder: str | None = None
    for line in history:
        story.append(f"{when(line.at)}: {_sentence(view, line, holder)}")
        if line.move == Move.HOLD:
            holder = line.worker
    return [*story, _now(view)]


def _sentence(view: RequestView, line: HistoryLine, last_holder: str | None) -> str:
    worker = worker_named(line.worker or last_holder)
    if line.move == SUBMIT:
        return _submitted(view)
    if line.move == Move.HOLD and view.dispatch is Dispatch.RACE:
        return _locked(line, worker)
    teller = CALL_TELLERS.get(line.move) or TELLERS.get(line.move)
    return teller(line, worker) if teller else f"{line.move}: it is {line.state} now."


def _submitted(view: RequestView) -> str:
    how = {
        Dispatch.EXCLUSIVE: "for one worker",
        Dispatch.RACE: "for the first worker that locks it",
        Dispatch.BROADCAST: "for every worker that is there",
    }[view.dispatch]
    return f"Called by client {view.client!r}: {view.service}/{view.method}, {how}."


def _offered(_line: HistoryLine, worker: str) -> str:
    return f"Offered to {worker}."


def _locked(line: HistoryLine, worker: str) -> str:
    if line.cause in (None, Cause.FIRST):
        return f"Locked by {worker}, the first of those that it was offered to, as version {line.version}."
    why = WHY_BACK.get(str(line.cause), str(line.cause)).format(worker="the worker before")
    return f"Locked by {worker}, as version {line.version}; it was on offer again because {why}."


def _completed(_line: HistoryLine, worker: str) -> str:
    return f"Answered: {worker} did it."


def _completed_late(_line: HistoryLine, worker: str) -> str:
    return f"Answered late: {worker} had lost it, but nobody else had it yet, so its answer counts."


def _failed(line: HistoryLine, worker: str) -> str:
    return f"Failed: {worker} said {line.reason!r}." if line.reason else f"Failed: {worker} gave no reason."


def _failed_late(line: HistoryLine, worker: str) -> str:
    said = f": {line.reason!r}" if line.reason else ""
    return f"Answered late: {worker} had lost it, but nobody else had it yet, and could not do it{said}."


def _withdrawn(line: HistoryLine, worker: str) -> str:
    if line.cause is None:
        return "Cancelled: its client took it back."
    why = WHY_BACK.get(line.cause, line.cause).format(worker=worker)
    return f"Cancelled: its client had taken it back, and {why}."


def _cancelled(_line: HistoryLine, _worker: str) -> str:
    return "An operator cancelled it."


def _expired(_line: HistoryLine, _worker: str) -> str:
    return "Its deadline passed."


def _gathered(_line: HistoryLine, _worker: str) -> str:
    return "Every worker that it was meant for has answered, or is lost."


def _lost(line: HistoryLine, _worker: str) -> str:
    return f"The worker that it was meant for will not come for it{': ' + line.reason if line.reason else ''}."


CALL_TELLERS: Final[dict[str, Teller]] = {
    OFFER: _offered,
    Move.COMPLETE: _completed,
    Move.COMPLETE_LATE: _completed_late,
    Move.FAIL: _failed,
    Move.FAIL_LATE: _failed_late,
    Move.WITHDRAW: _withdrawn,
    Move.CANCEL: _cancelled,
    Move.EXPIRE: _expired,
    Move.GATHER: _gathered,
    Move.LOSE: _lost,
}
"""Where a call is told of otherwise than a task."""


def _now(view: RequestView) -> str:
    if view.answer is not None:
        return f"Now: {ENDED[view.answer]}. Nothing more will happen to it by itself."
    if view.state is State.HELD:
        stop = "; its client wants it stopped" if view.cancelling else ""
        return f"Now: held by {worker_named(view.holder)}, version {view.version}{stop}."
    if view.state is State.FAILED and view.retry_at is not None:
        return f"Now: failed {times(view.attempts)}; the next attempt is due at {when(view.retry_at)}."
    if view.state is State.WAITING:
        return "Now: waiting for the answers of the workers that it was handed to."
    if view.lane_paused:
        return "Now: queued, but its service is paused, so nobody gets it."
    if view.offered:
        return "Now: offered; the first worker that locks it gets it."
    return f"Now: queued; the next free worker that can do it gets it. Its deadline is {when(view.deadline_at)}."


ENDED: Final[dict[Answer, str]] = {
    Answer.SUCCESS: "it succeeded",
    Answer.FAILED: "the method refused",
    Answer.ERROR: "it ended with an error",
    Answer.CANCELLED: "it was cancelled",
    Answer.EXPIRED: "it was not done before its deadline",
}
