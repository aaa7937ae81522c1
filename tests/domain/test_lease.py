"""Leases as arithmetic: when a hold is over, and why."""

from __future__ import annotations

import pytest

from hiringhall.domain.lease import (
    GAP_MS_MAX,
    Cause,
    Pulse,
    Terms,
    ended_by,
    is_offline,
    may_be_silent,
    may_overrun,
    next_gaps,
    offline_after_ms,
    was_deaf,
)

TERMS = Terms(visibility_timeout_ms=60_000, heartbeat_delay_ms=30_000)
DUE = 65_000  # the timeout, and 5 s since signs of life are written late


@pytest.mark.parametrize(
    ("timeout_ms", "sign", "sweep", "deaf", "lost"),
    [
        (60_000, 5_000, 1_000, 4_000, 10_000),
        (20_000, 2_000, 1_000, 4_000, 10_000),
        (2_000, 200, 500, 2_500, 1_000),
        (400, 40, 100, 1_300, 200),
    ],
)
def test_what_follows_from_the_timeout(timeout_ms: int, sign: int, sweep: int, deaf: int, lost: int) -> None:
    """Intervals follow from the visibility timeout, so that short ones in tests behave like long ones."""
    terms = Terms(timeout_ms)
    assert (terms.sign_interval_ms, terms.slack_ms) == (sign, sign)
    assert (terms.sweep_interval_ms, terms.deaf_after_ms, terms.answer_lost_after_ms) == (sweep, deaf, lost)


@pytest.mark.parametrize(
    ("pulse", "expected_ms"),
    [
        (Pulse(0), 60_000),
        (Pulse(0, 0), 60_000),
        (Pulse(0, 0, (10_000, 20_000)), 60_000),
        (Pulse(0, 0, (10_000, 45_000, 20_000)), 90_000),
        (Pulse(0, 0, (GAP_MS_MAX * 9,)), 2 * GAP_MS_MAX),
    ],
)
def test_how_long_a_worker_may_be_silent(pulse: Pulse, expected_ms: int) -> None:
    """2 x max(heartbeat delay, longest of the last five gaps, at most 5 min); without heartbeats the timeout alone."""
    assert offline_after_ms(pulse, TERMS) == expected_ms


@pytest.mark.parametrize(
    ("last_seen", "heard_since", "now", "expected"),
    [
        (1_000, 0, 1_000 + DUE, False),
        (1_000, 0, 1_001 + DUE, True),
        (1_000, 9_000, 1_001 + DUE, False),
        (1_000, 9_000, 9_001 + DUE, True),
    ],
)
def test_offline(last_seen: int, heard_since: int, now: int, expected: bool) -> None:
    """Silence counts from the last sign of life, and not from before the hall could hear."""
    assert is_offline(Pulse(last_seen), heard_since, now, TERMS) is expected


OLD, BEATING = Pulse(1_000), Pulse(1_000, 1_000)


@pytest.mark.parametrize(
    ("pulse", "handed_at", "run_until", "heard_since", "now", "expected"),
    [
        (OLD, 500, None, 0, 1_000 + DUE, None),
        (OLD, 500, None, 0, 1_001 + DUE, Cause.LEASE_EXPIRED),
        (OLD, 7_000, None, 0, 1_001 + DUE, None),
        (OLD, 7_000, None, 0, 7_001 + DUE, Cause.LEASE_EXPIRED),
        (OLD, 500, None, 9_000, 1_001 + DUE, None),
        (OLD, 500, None, 9_000, 9_001 + DUE, Cause.LEASE_EXPIRED),
        (BEATING, 500, None, 0, 1_000 + DUE, None),
        (BEATING, 500, None, 0, 1_001 + DUE, Cause.LEASE_EXPIRED),
        (Pulse(80_000), 500, 10_000, 0, 10_000 + DUE, None),
        (Pulse(80_000), 500, 10_000, 0, 10_001 + DUE, Cause.RUN_LIMIT),
        (Pulse(80_000), 500, 10_000, 40_000, 40_000 + DUE, None),
        (Pulse(80_000), 500, 90_000, 0, 80_000 + DUE, None),
        (Pulse(80_000), 500, 90_000, 0, 80_001 + DUE, Cause.LEASE_EXPIRED),
        (Pulse(80_000), 500, None, 0, 80_000 + DUE, None),
        (None, 500, None, 0, 500 + DUE, None),
        (None, 500, None, 0, 501 + DUE, Cause.WORKER_OFFLINE),
        (None, 500, None, 2_000, 501 + DUE, None),
    ],
)
def test_when_a_hold_is_over(
    pulse: Pulse | None, handed_at: int, run_until: int | None, heard_since: int, now: int, expected: Cause | None
) -> None:
    """A lease ends at max(handed_at, min(last_seen, run_until), heard_since) + timeout, slack included."""
    assert ended_by(pulse, handed_at, run_until, heard_since, now, TERMS) is expected


def test_a_worker_with_short_heartbeats_is_offline_before_a_long_timeout() -> None:
    """Once a worker is offline its leases end at once, though the visibility timeout is longer."""
    terms = Terms(visibility_timeout_ms=600_000, heartbeat_delay_ms=10_000)
    assert ended_by(Pulse(0, 0), 0, None, 0, 25_000, terms) is None
    assert ended_by(Pulse(0, 0), 0, None, 0, 25_001, terms) is Cause.WORKER_OFFLINE
    assert ended_by(Pulse(0), 0, None, 0, 25_001, terms) is None


def test_what_is_worth_a_look() -> None:
    """Whoever is offline, or whose lease has ended, is found by the cheap look first."""
    for terms in (TERMS, Terms(600_000, 10_000), Terms(10_000, 600_000), Terms(400)):
        for last_beat in (None, 0):
            pulse = Pulse(0, last_beat)
            for now in range(0, 700_000, 500):
                if is_offline(pulse, 0, now, terms) or ended_by(pulse, 0, None, 0, now, terms):
                    assert may_be_silent(pulse, now, terms)
                if ended_by(Pulse(now), 0, 1_000, 0, now, terms):
                    assert may_overrun(1_000, now, terms)


@pytest.mark.parametrize(
    ("pulse_at", "expected"), [(0, True), (5_999, True), (6_000, False), (10_000, False), (10_001, True)]
)
def test_deaf(pulse_at: int, expected: bool) -> None:
    """The hall was deaf if its last pulse is older than 3 sweep intervals + 1 s, or of a later time than now."""
    assert was_deaf(pulse_at, 10_000, TERMS) is expected


def test_gaps() -> None:
    """The last five gaps between heartbeats are kept; a late report of an earlier one is none."""
    assert next_gaps(Pulse(0), 500) == ()
    assert next_gaps(Pulse(0, 100, (1, 2, 3, 4, 5)), 400) == (2, 3, 4, 5, 300)
    assert next_gaps(Pulse(0, 100, (1,)), 100) == (1,)
    assert next_gaps(Pulse(0, 100, (1,)), 50) == (1,)
