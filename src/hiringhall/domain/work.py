"""A unit of work and the decisions about it.

Every decision is a function on a `Unit`: it changes the unit in place and returns the `Event` to be recorded, or
returns a refusal and leaves the unit as it was. What follows for other units (dependents) is for a store to carry out.
Every change that shows on the wire raises the version by at least one. Times are milliseconds by the database's
clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import msgspec

from hiringhall.domain.call import Answer
from hiringhall.domain.lease import ABANDONING, Cause, Terms
from hiringhall.domain.lifecycle import FINAL, MOVES, Move, State, settled_or_blocked, target
from hiringhall.domain.names import unit_path
from hiringhall.domain.retry import DEFAULT_POLICY, Policy
from hiringhall.domain.topics import plan_of_lane

VERSION_MAX: Final = 2**53 - 1
REASON_CHARACTERS_MAX: Final = 2048
CUT_MARKER: Final = " … (cut)"
WORKER_LOST: Final = "worker lost"
RETRYING: Final = "retrying"
"""Not a state, but counted like one: failed, and another attempt is due."""
ANSWERS: Final = frozenset({Move.COMPLETE, Move.FAIL, Move.COMPLETE_LATE, Move.FAIL_LATE})
"""Moves by which a worker finishes a unit."""


class Unit(msgspec.Struct):
    """What the hall knows of one unit of work, apart from its contents and its dependencies."""

    id: int
    lane: int
    lane_key: str
    name: str  # of a task within its plan, of a call everywhere
    state: State
    priority: int
    seq: int
    waiting_on: int = 0
    version: int = 1
    handed_version: int = 0  # the version under which the present or last holder got it
    started: bool = False
    holder: str | None = None
    last_holder: str | None = None  # who had it last or, once it is finished, whose answer finished it
    handed_at: int | None = None
    run_until: int | None = None
    retry_at: int | None = None
    attempts: int = 0
    abandoned: int = 0
    cause: Cause = Cause.FIRST  # of the next hand-over
    policy: Policy = DEFAULT_POLICY
    cancelling: bool = False  # its holder was told to stop: it is not handed on any more
    deadline_at: int | None = None
    parent: int | None = None  # the broadcast of which it is a child

    @property
    def plan(self) -> str:
        """The plan of a task; empty for a call."""
        return plan_of_lane(self.lane_key)

    @property
    def target(self) -> str:
        """How a worker that has to stop it is told so."""
        plan = plan_of_lane(self.lane_key)
        return unit_path(plan, self.name) if plan else quote(self.name, safe="")

    @property
    def counted_as(self) -> str:
        """What it is counted as: its state, or `RETRYING` if it failed and a retry is due."""
        return RETRYING if self.retry_at is not None else self.state.value

    @property
    def failed_for_good(self) -> bool:
        """Whether it failed and no retry is due."""
        return self.state is State.FAILED and self.retry_at is None

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.state in FINAL and self.retry_at is None


class Event(msgspec.Struct, frozen=True):
    """What happened to a unit: one line of its audit log."""

    work: int
    version: int
    move: Move
    state: State
    worker: str | None = None
    cause: Cause | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """The unit is not what the asker believes it to be. All `actual` members are None if it exists nowhere."""

    task_id: str
    expected_version: int
    actual_version: int | None = None
    actual_state: State | None = None
    started: bool = False
    finished_by_self: bool | None = None  # None unless it is finished


def place(unit: Unit) -> tuple[int, int, int]:
    """Where the unit stands in the order in which ready units are taken."""
    return (unit.priority, unit.seq, unit.id)


def cut_reason(reason: str) -> str:
    """A reason within the limit; a longer one is cut with a marker, since a failure must always be reportable."""
    if len(reason) <= REASON_CHARACTERS_MAX:
        return reason
    return reason[: REASON_CHARACTERS_MAX - len(CUT_MARKER)] + CUT_MARKER


def conflict(unit: Unit, worker: str, expected_version: int) -> Conflict:
    """The refusal that tells `worker` what the unit is now."""
    finished_by_self = unit.last_holder == worker if unit.finished else None
    return Conflict(unit.name, expected_version, unit.version, unit.state, unit.started, finished_by_self)


def may_settle(unit: Unit, worker: str, version: int, *, any_holder: bool) -> bool:
    """Whether `worker` holds the unit under `version`.

    The version of the hand-over stays valid while the hold lasts, even if an operator's start raised the version since.
    `any_holder`: the asker bears the shared token, with which a matching version settles.
    """
    may = unit.state is State.HELD and (any_holder or unit.holder == worker)
    return may and version in (unit.handed_version, unit.version)


def move_to(
    unit: Unit, move: Move, *, worker: str | None = None, cause: Cause | None = None, reason: str | None = None
) -> Event:
    """Make a move that is allowed, and what goes with it whoever decides it."""
    after = settled_or_blocked(unit.state, move, unit.waiting_on)
    assert after is not None, f"{move} is not allowed from {unit.state}"
    if unit.state is State.HELD and after is not State.HELD:
        unit.last_holder, unit.holder, unit.run_until, unit.started = unit.holder, None, None, False
    if after in FINAL:
        unit.last_holder = worker if move in ANSWERS else None
        unit.cancelling = False
    unit.state = after
    unit.version += 1
    return Event(unit.id, unit.version, move, after, worker, cause, reason)


def hold(unit: Unit, worker: str, *, version_floor: int, now: int, terms: Terms, limited: bool) -> Cause:
    """Hand the unit to `worker` and return the cause of the hand-over.

    `version_floor` is the highest version under which the worker was ever handed a task of this id: no worker is ever
    handed the same (task id, version) twice, so the version is raised above it. `limited`: the run limit applies, since
    the worker does not say what it holds.
    """
    after = target(unit.state, Move.HOLD)
    assert after is not None, f"{Move.HOLD} is not allowed from {unit.state}"
    cause = unit.cause
    unit.state = after
    unit.version = next_version(unit.version, version_floor)
    unit.handed_version = unit.version
    unit.holder, unit.handed_at, unit.started = worker, now, False
    usual_ms = terms.run_limit_ms if unit.plan else terms.call_run_limit_ms
    unit.run_until = run_until(unit.policy.run_limit_ms, usual_ms, now, limited=limited)
    return cause


def next_version(version: int, floor: int) -> int:
    """The version under which a unit is handed over; `floor` is the highest of its worker's earlier hand-overs."""
    return max(version, floor) + 1


def run_until(own_ms: int | None, usual_ms: int | None, now: int, *, limited: bool) -> int | None:
    """When the run limit of a unit that is handed over now is over: its own limit if it has one, 0 being none."""
    limit_ms = usual_ms if own_ms is None else own_ms
    return now + limit_ms if limited and limit_ms else None


def complete(unit: Unit, worker: str) -> Event:
    """The worker did it. "Terminal: → DONE"."""
    event = move_to(unit, Move.COMPLETE, worker=worker)
    unit.abandoned = 0
    return event


def fail(unit: Unit, worker: str, reason: str, *, now: int, jitter: float, move: Move = Move.FAIL) -> Event:
    """The worker could not do it. "Terminal: → FAILED", unless the policy grants another attempt at `retry_at`."""
    event = move_to(unit, move, worker=worker, reason=cut_reason(reason))
    unit.abandoned = 0
    unit.attempts += 1
    if unit.policy.tries_again(unit.attempts):
        unit.retry_at = now + unit.policy.backoff.delay_ms(unit.attempts, jitter)
    return event


def settle(unit: Unit, move: Move, worker: str, reason: str | None, *, now: int, jitter: float) -> Event:
    """What the worker says of the unit: complete, fail or release."""
    if move is Move.COMPLETE:
        return complete(unit, worker)
    if move is Move.FAIL:
        return fail(unit, worker, reason or "", now=now, jitter=jitter)
    return release(unit, worker, release_cause(reason), reason)


def release_cause(reason: str | None) -> Cause:
    """Why a worker gives a unit back: published workers that are told to stop say "shutdown"."""
    return Cause.SHUTDOWN if reason == "shutdown" else Cause.RELEASED


def release(unit: Unit, worker: str | None, cause: Cause, reason: str | None = None) -> Event:
    """Give the unit back, or take it back. One abandoned too often fails for good with that reason; one that its client
    no longer wants is cancelled."""
    if unit.cancelling:
        return move_to(unit, Move.WITHDRAW, worker=worker, cause=cause)
    if cause in ABANDONING:
        unit.abandoned += 1
        if unit.abandoned >= unit.policy.max_abandoned:
            reason = f"abandoned {unit.abandoned} times, last because of {cause.value}"
            return move_to(unit, Move.ABANDON, worker=worker, cause=cause, reason=reason)
    unit.cause = cause
    return move_to(
        unit, Move.RELEASE, worker=worker, cause=cause, reason=None if reason is None else cut_reason(reason)
    )


def retry_due(unit: Unit, now: int) -> Event | None:
    """Make a failed unit ready again if its retry is due."""
    if unit.state is not State.FAILED or unit.retry_at is None or unit.retry_at > now:
        return None
    unit.retry_at, unit.cause = None, Cause.RETRY
    return move_to(unit, Move.RETRY, cause=Cause.RETRY)


def skip_after_failure(unit: Unit, failed_task: str) -> Event:
    """A task that it depends on failed for good under `on_failure: skip`."""
    return move_to(unit, Move.SKIP, reason=f"{failed_task} failed")


# --- calls -----------------------------------------------------------------------------------------------------------


def answer(unit: Unit, worker: str, said: Answer, error_text: str | None, *, now: int, jitter: float) -> Event:
    """What the holder of a call says of it, or the last one that had it while it was handed to nobody else.

    "`failed` → the method ran and refused; `error` → worker-side error. No automatic retry of `failed`; `error` is
    retried if the call asked for it". What its client no longer wants is not retried.
    """
    late, final = unit.state is State.READY, said is Answer.FAILED or unit.cancelling
    if said is Answer.SUCCESS:
        event = move_to(unit, Move.COMPLETE_LATE if late else Move.COMPLETE, worker=worker)
        unit.abandoned = 0
        return event
    event = fail(unit, worker, error_text or "", now=now, jitter=jitter, move=Move.FAIL_LATE if late else Move.FAIL)
    if final:
        unit.retry_at = None
    return event


def gather(unit: Unit) -> Event:
    """Every child of a broadcast has ended."""
    return move_to(unit, Move.GATHER)


def withdraw(unit: Unit) -> Event:
    """The client no longer wants a call that nobody holds, or that is taken from its holder."""
    unit.retry_at = None
    return move_to(unit, Move.WITHDRAW)


def expire(unit: Unit) -> Event:
    """The deadline of a call passed."""
    unit.retry_at = None
    return move_to(unit, Move.EXPIRE)


def lose_worker(unit: Unit) -> Event:
    """The worker for which alone a call was, and which does not hold it, will not come for it."""
    unit.retry_at = None
    return move_to(unit, Move.LOSE, reason=WORKER_LOST)


# --- plan files and dependencies -------------------------------------------------------------------------------------


def revise(unit: Unit, priority: int, seq: int, policy: Policy) -> Event:
    """A changed plan file gives a PENDING unit other contents."""
    unit.priority, unit.seq, unit.policy = priority, seq, policy
    return move_to(unit, Move.REVISE, cause=Cause.OPERATOR)


def satisfy_dependencies(unit: Unit, closed: int) -> bool:
    """Count `closed` dependencies less; tell whether that made the unit ready.

    Waiting and ready are one status on the wire, so neither this nor `reopen_dependencies` raises the version.
    """
    unit.waiting_on -= closed
    assert unit.waiting_on >= 0, f"unit {unit.id} waits on {unit.waiting_on} dependencies"
    if unit.waiting_on or unit.state is not State.WAITING:
        return False
    unit.state = MOVES[unit.state, Move.UNBLOCK]
    return True


def reopen_dependencies(unit: Unit, opened: int) -> None:
    """Count `opened` dependencies more; a ready unit waits again."""
    unit.waiting_on += opened
    if opened and unit.state is State.READY:
        unit.state = MOVES[unit.state, Move.BLOCK]


def rewire(unit: Unit, waiting_on: int) -> None:
    """Count the open dependencies of a PENDING unit anew, since a changed plan file gives it others."""
    unit.waiting_on = waiting_on
    move = Move.BLOCK if waiting_on else Move.UNBLOCK
    unit.state = target(unit.state, move) or unit.state
