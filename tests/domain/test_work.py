"""Decisions about single units, where the exam of the stores does not look."""

from __future__ import annotations

import pytest

from hiringhall.domain import steering, work
from hiringhall.domain.lease import Cause, Terms
from hiringhall.domain.lifecycle import State
from hiringhall.domain.retry import Policy
from hiringhall.domain.work import CUT_MARKER, REASON_CHARACTERS_MAX, Unit


def unit(state: State = State.HELD, **members: object) -> Unit:
    """A unit, held by worker w unless said otherwise."""
    made = Unit(1, 1, "plan:p", "a", state, 2, 0)
    if state is State.HELD:
        made.holder, made.version, made.handed_version, made.handed_at = "w", 2, 2, 0
    for name, value in members.items():
        setattr(made, name, value)
    return made


def test_a_long_reason_is_cut() -> None:
    """A reason longer than the limit is cut with a marker, not refused."""
    assert work.cut_reason("x" * REASON_CHARACTERS_MAX) == "x" * REASON_CHARACTERS_MAX
    cut = work.cut_reason("x" * (REASON_CHARACTERS_MAX + 1))
    assert len(cut) == REASON_CHARACTERS_MAX
    assert cut.endswith(CUT_MARKER)


def test_a_version_floor_is_jumped_over() -> None:
    """The version is raised above every version under which the worker had a task of that id."""
    found = unit(State.READY, version=3)
    work.hold(found, "w", version_floor=7, now=5, terms=Terms(), limited=True)
    assert (found.version, found.handed_version, found.handed_at) == (8, 8, 5)


@pytest.mark.parametrize(
    ("policy_ms", "limited", "expected"),
    [(None, True, 5 + 14_400_000), (9, True, 14), (0, True, None), (9, False, None)],
)
def test_run_limits(policy_ms: int | None, limited: bool, expected: int | None) -> None:
    """The task's own run limit goes before the hall's, 0 is none, and who says what it holds has none."""
    found = unit(State.READY, policy=Policy(run_limit_ms=policy_ms))
    work.hold(found, "w", version_floor=0, now=5, terms=Terms(), limited=limited)
    assert found.run_until == expected


@pytest.mark.parametrize("cause", list(Cause))
def test_only_lost_leases_count_as_abandoned(cause: Cause) -> None:
    """A lease that expired counts; a shutdown, restart, outage or operator does not."""
    found = unit(policy=Policy(max_abandoned=1))
    work.release(found, "w", cause)
    abandoned = cause in (Cause.LEASE_EXPIRED, Cause.RUN_LIMIT, Cause.WORKER_OFFLINE)
    assert found.state is (State.FAILED if abandoned else State.READY)


def test_a_settled_hand_over_resets_what_was_abandoned() -> None:
    """An answer, even a failure, ends the count of lost leases."""
    completed, failed = unit(abandoned=3), unit(abandoned=3)
    work.complete(completed, "w")
    work.fail(failed, "w", "", now=0, jitter=0)
    assert completed.abandoned == failed.abandoned == 0


def test_whose_answer_finished_it() -> None:
    """A unit was finished by the worker whose answer did it, and by none if anybody else ended it."""
    answered, cancelled, abandoned = unit(), unit(), unit(policy=Policy(max_abandoned=1))
    work.complete(answered, "w")
    steering.cancel(cancelled)
    work.release(abandoned, "w", Cause.LEASE_EXPIRED)
    told = [work.conflict(each, "w", 2).finished_by_self for each in (answered, cancelled, abandoned, unit())]
    assert told == [True, False, False, None]


def test_a_shutdown_is_told_from_another_release() -> None:
    """Published workers that are told to stop say so."""
    assert work.release_cause("shutdown") is Cause.SHUTDOWN
    assert work.release_cause("other") is work.release_cause(None) is Cause.RELEASED


def test_due_retries() -> None:
    """A retry is due only at its time, and only for a failed unit."""
    failed = unit(State.FAILED, retry_at=10)
    assert work.retry_due(failed, 9) is None
    assert work.retry_due(unit(State.READY), 9) is None
    assert work.retry_due(failed, 10) is not None
    assert (failed.state, failed.retry_at, failed.cause) == (State.READY, None, Cause.RETRY)
