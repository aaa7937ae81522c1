"""When a failed unit is tried again."""

from __future__ import annotations

import pytest

from hiringhall.domain.retry import Backoff, Policy


@pytest.mark.parametrize(
    ("attempts", "jitter", "expected_ms"),
    [(1, 0, 1_000), (2, 0, 2_000), (3, 0, 4_000), (7, 0, 60_000), (1_000, 0, 60_000), (3, 1, 2_000), (3, 0.5, 3_000)],
)
def test_back_off(attempts: int, jitter: float, expected_ms: int) -> None:
    """base * factor ** (attempt - 1), at most the maximum, jittered down by up to half."""
    assert Backoff().delay_ms(attempts, jitter) == expected_ms


def test_back_off_of_one_member_alone() -> None:
    """A factor of 1 waits the same each time, and a base of 0 not at all."""
    assert [Backoff(3.0, 1.0, 9.0).delay_ms(attempts, 0) for attempts in (1, 2, 500)] == [3_000] * 3
    assert Backoff(0.0, 2.0, 9.0).delay_ms(5, 0.3) == 0


def test_attempts() -> None:
    """Retries are off unless asked for, and end when the attempts are used up."""
    assert not Policy().tries_again(1)
    assert [Policy(max_attempts=3).tries_again(attempts) for attempts in (1, 2, 3)] == [True, True, False]
