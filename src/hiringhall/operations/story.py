"""Tells the audit log of one unit in plain words: who got it, why again, and what it waits for now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import worker_id_of
from hiringhall.domain.plan import PRIORITY_NAMES
from hiringhall.ports.questions import HistoryLine, TaskRow

WHY_BACK: Final[dict[str, str]] = {
    Cause.RELEASED: "{worker} gave it back",
    Cause.LEASE_EXPIRED: "{worker} was not heard of for longer than the visibility timeout",
    Cause.RUN_LIMIT: "{worker} held it longer than its run limit allows",
    Cause.WORKER_OFFLINE: "{worker} went offline",
    Cause.WORKER_RESTARTED: "{worker} restarted",
    Cause.SHUTDOWN: "{worker} was shutting down",
    Cause.CONNECTION_LOST: "the connection to {worker} broke before it got the answer",
    Cause.ANSWER_LOST: "{worker} never got the answer that handed it over",
    Cause.RETRY: "another attempt was due",
    Cause.OPERATOR: "an operator wanted it so",
}
"""Why a unit came back from a worker, as a clause."""

ADDED: Final[dict[str, str]] = {
    State.WAITING: "Added to the plan, waiting for its dependencies.",
    State.READY: "Added to the plan, ready to be taken.",
}


def when(at_ms: int) -> str:
    """A time as people read it: UTC, to the second."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def tell(row: TaskRow, history: Sequence[HistoryLine], *, paused: bool = False) -> list[str]:
    """What happened to the unit, a dated sentence for each line of its log, and last how it stands now.

    `paused`: its plan hands out nothing at present.
    """
    story = []
    holder: str | None = None
    for line in history:
        story.append(f"{when(line.at)}: {_sentence(line, holder)}")
        if line.move == Move.HOLD:
            holder = line.worker
    return [*story, _now(row, paused=paused)]


def _sentence(line: HistoryLine, last_holder: str | None) -> str:
    teller = TELLERS.get(line.move)
    return teller(line, worker_named(line.worker or last_holder)) if teller else f"{line.move}: it is {line.state} now."


def worker_named(key: str | None) -> str:
    """A worker as the subject of a sentence."""
    return f"worker {worker_id_of(key)}" if key else "its worker"


def _submitted(line: HistoryLine, _worker: str) -> str:
    return ADDED.get(line.state, f"Added to the plan as {line.state}.")


def _held(line: HistoryLine, worker: str) -> str:
    if line.cause in (None, Cause.FIRST):
        return f"Handed to {worker} for the first time, as version {line.version}."
    why = {Cause.RELEASED: "it had been given back", Cause.RETRY: "another attempt was due"}.get(
        Cause(str(line.cause)), WHY_BACK.get(str(line.cause), str(line.cause)).format(worker="the worker before")
    )
    return f"Handed to {worker} again, as version {line.version}, because {why}."


def _started(_line: HistoryLine, worker: str) -> str:
    return f"An operator marked it as in progress at {worker}."


def _completed(_line: HistoryLine, worker: str) -> str:
    return f"Done: {worker} completed it."


def _failed(line: HistoryLine, worker: str) -> str:
    return f"Failed: {worker} said {line.reason!r}." if line.reason else f"Failed: {worker} gave no reason."


def _released(line: HistoryLine, worker: str) -> str:
    if line.cause == Cause.OPERATOR:
        return f"An operator took it back from {worker}."
    why = WHY_BACK.get(line.cause or Cause.RELEASED, str(line.cause)).format(worker=worker)
    saying = f", saying {line.reason!r}" if line.reason else ""
    ahead = "" if line.cause in (None, Cause.RELEASED) else "Taken back: "
    return f"{ahead}{_capital(why) if not ahead else why}{saying}."


def _abandoned(line: HistoryLine, worker: str) -> str:
    why = WHY_BACK.get(line.cause or "", "its worker was lost").format(worker=worker)
    return f"Failed: {why}; it was {line.reason or 'abandoned too often'}."


def _retried(line: HistoryLine, _worker: str) -> str:
    if line.cause == Cause.OPERATOR:
        return "An operator had it tried again; its attempts count from zero."
    return "Ready for another attempt."


def _skipped(line: HistoryLine, _worker: str) -> str:
    return f"Skipped, because {line.reason}." if line.reason else "An operator skipped it."


def _cancelled(_line: HistoryLine, _worker: str) -> str:
    return "An operator cancelled it, so it counts as failed."


def _reset(line: HistoryLine, _worker: str) -> str:
    return f"An operator reset it: it is to be done again, and is {line.state}."


def _reprioritised(_line: HistoryLine, _worker: str) -> str:
    return "An operator gave it another priority."


def _revised(_line: HistoryLine, _worker: str) -> str:
    return "A new version of the plan file changed it."


def _unblocked(_line: HistoryLine, _worker: str) -> str:
    return "Its last open dependency was satisfied: ready to be taken."


def _blocked(_line: HistoryLine, _worker: str) -> str:
    return "A dependency was opened again, so it waits."


Teller: TypeAlias = Callable[[HistoryLine, str], str]
TELLERS: Final[dict[str, Teller]] = {
    "submit": _submitted,
    Move.HOLD: _held,
    Move.START: _started,
    Move.COMPLETE: _completed,
    Move.FAIL: _failed,
    Move.RELEASE: _released,
    Move.ABANDON: _abandoned,
    Move.RETRY: _retried,
    Move.SKIP: _skipped,
    Move.CANCEL: _cancelled,
    Move.RESET: _reset,
    Move.REPRIORITISE: _reprioritised,
    Move.REVISE: _revised,
    Move.UNBLOCK: _unblocked,
    Move.BLOCK: _blocked,
}


def _now(row: TaskRow, *, paused: bool) -> str:
    view = row.view
    if view.state is State.WAITING:
        return _waiting_now(row)
    if view.state is State.READY:
        place = f"priority {PRIORITY_NAMES[view.priority]}"
        if paused:
            return f"Now: ready ({place}), but its plan is paused, so nobody gets it."
        return f"Now: ready ({place}); the next free worker that asks for its plan gets it, if nothing is ahead of it."
    if view.state is State.HELD:
        since = f" since {when(row.handed_at)}" if row.handed_at is not None else ""
        how = "in progress" if view.started else "held"
        return f"Now: {how} at {worker_named(row.holder)}{since}, version {view.version}."
    if view.state is State.FAILED and row.retry_at is not None:
        return f"Now: failed {times(row.attempts)}; the next attempt is due at {when(row.retry_at)}."
    if view.state is State.FAILED:
        return "Now: failed for good. Retry or skip it to let those that depend on it go on."
    return f"Now: {view.state.value}. Nothing more will happen to it by itself."


def _waiting_now(row: TaskRow) -> str:
    tasks = "1 task that it depends on is" if row.waiting_on == 1 else f"{row.waiting_on} tasks that it depends on are"
    if row.blocked_by is None:
        return f"Now: waiting; {tasks} not done yet."
    return f"Now: blocked, because task {row.blocked_by!r} failed; {tasks} not done. Retry or skip {row.blocked_by!r}."


def times(count: int) -> str:
    """How often."""
    return "once" if count == 1 else f"{count} times"


def _capital(clause: str) -> str:
    return clause[:1].upper() + clause[1:]
