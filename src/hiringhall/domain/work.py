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

from hiringhall.domain.lease import ABANDONING, Cause, Terms
from hiringhall.domain.lifecycle import FINAL, MOVES, Move, State, settled_or_blocked, target
from hiringhall.domain.names import unit_path
from hiringhall.domain.refusals import Refused
from hiringhall.domain.retry import DEFAULT_POLICY, Policy
from hiringhall.domain.topics import plan_of_lane

VERSION_MAX: Final = 2**53 - 1
REASON_CHARACTERS_MAX: Final = 2048
CUT_MARKER: Final = " … (cut)"
RETRYING: Final = "retrying"
"""Not a state, but counted like one: failed, and another attempt is due."""
CANCELLED_BY_OPERATOR: Final = "cancelled by operator"


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


def _move(
    unit: Unit, move: Move, *, worker: str | None = None, cause: Cause | None = None, reason: str | None = None
) -> Event:
    after = settled_or_blocked(unit.state, move, unit.waiting_on)
    assert after is not None, f"{move} is not allowed from {unit.state}"
    if unit.state is State.HELD and after is not State.HELD:
        unit.last_holder, unit.holder, unit.run_until, unit.started = unit.holder, None, None, False
    if after in FINAL:
        unit.last_holder = worker if move in (Move.COMPLETE, Move.FAIL) else None
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
    unit.version = max(unit.version, version_floor) + 1
    unit.handed_version = unit.version
    unit.holder, unit.handed_at, unit.started = worker, now, False
    limit_ms = terms.run_limit_ms if unit.policy.run_limit_ms is None else unit.policy.run_limit_ms
    unit.run_until = now + limit_ms if limited and limit_ms else None
    return cause


def complete(unit: Unit, worker: str) -> Event:
    """The worker did it. "Terminal: → DONE"."""
    event = _move(unit, Move.COMPLETE, worker=worker)
    unit.abandoned = 0
    return event


def fail(unit: Unit, worker: str, reason: str, *, now: int, jitter: float) -> Event:
    """The worker could not do it. "Terminal: → FAILED", unless the policy grants another attempt at `retry_at`."""
    event = _move(unit, Move.FAIL, worker=worker, reason=cut_reason(reason))
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
    """Give the unit back, or take it back. One abandoned too often fails for good with that reason."""
    if cause in ABANDONING:
        unit.abandoned += 1
        if unit.abandoned >= unit.policy.max_abandoned:
            reason = f"abandoned {unit.abandoned} times, last because of {cause.value}"
            return _move(unit, Move.ABANDON, worker=worker, cause=cause, reason=reason)
    unit.cause = cause
    return _move(unit, Move.RELEASE, worker=worker, cause=cause, reason=None if reason is None else cut_reason(reason))


def retry_due(unit: Unit, now: int) -> Event | None:
    """Make a failed unit ready again if its retry is due."""
    if unit.state is not State.FAILED or unit.retry_at is None or unit.retry_at > now:
        return None
    unit.retry_at, unit.cause = None, Cause.RETRY
    return _move(unit, Move.RETRY, cause=Cause.RETRY)


def skip_after_failure(unit: Unit, failed_task: str) -> Event:
    """A task that it depends on failed for good under `on_failure: skip`."""
    return _move(unit, Move.SKIP, reason=f"{failed_task} failed")


def start(unit: Unit) -> Event | Refused:
    """CLAIMED → IN_PROGRESS, told by an operator; the hand-over stays valid."""
    if unit.started or target(unit.state, Move.START) is None:
        return wrong_state(unit, Move.START)
    event = _move(unit, Move.START, cause=Cause.OPERATOR)
    unit.started = True
    return event


def skip(unit: Unit, *, force: bool) -> Event | Refused:
    """PENDING, FAILED → SKIPPED, which satisfies dependents; a held unit only by force."""
    if target(unit.state, Move.SKIP) is None:
        return wrong_state(unit, Move.SKIP)
    if unit.state is State.HELD and not force:
        return wrong_state(unit, Move.SKIP, "a worker holds it: force=true takes it away")
    unit.retry_at = None
    return _move(unit, Move.SKIP, cause=Cause.OPERATOR)


def cancel(unit: Unit) -> Event | Refused:
    """PENDING, CLAIMED, IN_PROGRESS → FAILED; no retry follows."""
    if target(unit.state, Move.CANCEL) is None:
        return wrong_state(unit, Move.CANCEL)
    return _move(unit, Move.CANCEL, cause=Cause.OPERATOR, reason=CANCELLED_BY_OPERATOR)


def retry(unit: Unit) -> Event | Refused:
    """FAILED → PENDING, attempts from zero."""
    if target(unit.state, Move.RETRY) is None:
        return wrong_state(unit, Move.RETRY)
    unit.attempts, unit.abandoned, unit.retry_at, unit.cause = 0, 0, None, Cause.OPERATOR
    return _move(unit, Move.RETRY, cause=Cause.OPERATOR)


def reset(unit: Unit) -> Event | Refused:
    """DONE, FAILED, SKIPPED → PENDING: it is to be done again."""
    if target(unit.state, Move.RESET) is None:
        return wrong_state(unit, Move.RESET)
    unit.attempts, unit.abandoned, unit.retry_at, unit.cause = 0, 0, None, Cause.OPERATOR
    return _move(unit, Move.RESET, cause=Cause.OPERATOR)


def take_back(unit: Unit) -> Event | Refused:
    """CLAIMED, IN_PROGRESS → PENDING, by an operator."""
    if target(unit.state, Move.RELEASE) is None:
        return wrong_state(unit, Move.RELEASE)
    return release(unit, None, Cause.OPERATOR)


def reprioritise(unit: Unit, priority: int) -> Event | Refused:
    """Give a PENDING unit another place in the order."""
    if target(unit.state, Move.REPRIORITISE) is None:
        return wrong_state(unit, Move.REPRIORITISE)
    unit.priority = priority
    return _move(unit, Move.REPRIORITISE, cause=Cause.OPERATOR)


def revise(unit: Unit, priority: int, seq: int, policy: Policy) -> Event:
    """A changed plan file gives a PENDING unit other contents."""
    unit.priority, unit.seq, unit.policy = priority, seq, policy
    return _move(unit, Move.REVISE, cause=Cause.OPERATOR)


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


def steer(unit: Unit, move: Move, *, force: bool, priority: int | None) -> Event | Refused:
    """An operator's verb on one unit, but for a reset, which may touch others too."""
    match move:
        case Move.START:
            return start(unit)
        case Move.SKIP:
            return skip(unit, force=force)
        case Move.CANCEL:
            return cancel(unit)
        case Move.RETRY:
            return retry(unit)
        case Move.RELEASE:
            return take_back(unit)
        case Move.REPRIORITISE:
            assert priority is not None, "reprioritise needs a priority"
            return reprioritise(unit, priority)
        case _:
            raise ValueError(f"{move} is no operator's verb")


def wrong_state(unit: Unit, move: Move, hint: str | None = None) -> Refused:
    """The refusal of an operator's verb that the unit's state does not allow."""
    detail = f"task {unit.name!r} is {unit.state.value}: it cannot be {PAST[move]} now" + (
        f" ({hint})" if hint else ""
    )
    return Refused("wrong_state", detail, unit.name)


PAST: Final[dict[Move, str]] = {
    Move.START: "started",
    Move.SKIP: "skipped",
    Move.CANCEL: "cancelled",
    Move.RETRY: "retried",
    Move.RESET: "reset",
    Move.RELEASE: "released",
    Move.REPRIORITISE: "reprioritised",
}
