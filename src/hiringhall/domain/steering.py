"""What operators tell a unit to do. Each verb changes the unit in place, or is refused and leaves it as it was."""

from __future__ import annotations

from typing import Final

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State, target
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Event, Unit, move_to, release

CANCELLED_BY_OPERATOR: Final = "cancelled by operator"


def start(unit: Unit) -> Event | Refused:
    """CLAIMED → IN_PROGRESS, told by an operator; the hand-over stays valid."""
    if unit.started or target(unit.state, Move.START) is None:
        return wrong_state(unit, Move.START)
    event = move_to(unit, Move.START, cause=Cause.OPERATOR)
    unit.started = True
    return event


def skip(unit: Unit, *, force: bool) -> Event | Refused:
    """PENDING, FAILED → SKIPPED, which satisfies dependents; a held unit only by force."""
    if target(unit.state, Move.SKIP) is None:
        return wrong_state(unit, Move.SKIP)
    if unit.state is State.HELD and not force:
        return wrong_state(unit, Move.SKIP, "a worker holds it: force=true takes it away")
    unit.retry_at = None
    return move_to(unit, Move.SKIP, cause=Cause.OPERATOR)


def cancel(unit: Unit) -> Event | Refused:
    """PENDING, CLAIMED, IN_PROGRESS → FAILED; no retry follows."""
    if target(unit.state, Move.CANCEL) is None:
        return wrong_state(unit, Move.CANCEL)
    return move_to(unit, Move.CANCEL, cause=Cause.OPERATOR, reason=CANCELLED_BY_OPERATOR)


def retry(unit: Unit) -> Event | Refused:
    """FAILED → PENDING, attempts from zero."""
    if target(unit.state, Move.RETRY) is None:
        return wrong_state(unit, Move.RETRY)
    unit.attempts, unit.abandoned, unit.retry_at, unit.cause = 0, 0, None, Cause.OPERATOR
    return move_to(unit, Move.RETRY, cause=Cause.OPERATOR)


def reset(unit: Unit) -> Event | Refused:
    """DONE, FAILED, SKIPPED → PENDING: it is to be done again."""
    if target(unit.state, Move.RESET) is None:
        return wrong_state(unit, Move.RESET)
    unit.attempts, unit.abandoned, unit.retry_at, unit.cause = 0, 0, None, Cause.OPERATOR
    return move_to(unit, Move.RESET, cause=Cause.OPERATOR)


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
    return move_to(unit, Move.REPRIORITISE, cause=Cause.OPERATOR)


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
    kind = "task" if unit.plan else "call"
    remark = f" ({hint})" if hint else ""
    detail = f"{kind} {unit.name!r} is {unit.state.value}: it cannot be {PAST[move]} now{remark}"
    return Refused("wrong_state", detail, unit.name if unit.plan else None)


PAST: Final[dict[Move, str]] = {
    Move.START: "started",
    Move.SKIP: "skipped",
    Move.CANCEL: "cancelled",
    Move.RETRY: "retried",
    Move.RESET: "reset",
    Move.RELEASE: "released",
    Move.REPRIORITISE: "reprioritised",
}
