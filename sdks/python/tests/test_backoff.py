"""The waits between attempts, as arithmetic."""

from __future__ import annotations

import pytest

from hiringhall_worker.backoff import backoff_seconds, retry_after_seconds, wait_seconds
from hiringhall_worker.wire import Answer

DATE = ("date", "Mon, 30 Nov 2026 17:00:00 GMT")


def test_backoff_doubles_up_to_a_minute_for_ever() -> None:
    """Half a second doubles up to 60 s, after any number of attempts."""
    waits = [backoff_seconds(attempts, 0.0) for attempts in (1, 2, 3, 7, 8, 9, 10, 100, 100_000)]
    assert waits == [0.5, 1.0, 2.0, 32.0, 60.0, 60.0, 60.0, 60.0, 60.0]


def test_dice_take_away_at_most_half() -> None:
    """Jitter spreads the waits over the upper half."""
    assert [backoff_seconds(3, dice) for dice in (0.0, 0.5, 0.999)] == pytest.approx([2.0, 1.5, 1.001])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("999999", 3600.0),
        ("Mon, 30 Nov 2026 17:00:20 GMT", 20.0),
        ("Mon, 30 Nov 2026 16:00:00 GMT", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after(value: str, expected: float | None) -> None:
    """Seconds and dates are understood, a date by the server's own clock; nonsense is as if it were not there."""
    assert retry_after_seconds(Answer(503, (DATE, ("retry-after", value)))) == expected


def test_retry_after_is_a_lower_bound() -> None:
    """Jitter on Retry-After only adds, and never more than a second."""
    answer = Answer(429, (("retry-after", "20"),))
    assert wait_seconds(1, 0.0, answer) == 20.0
    assert 20.0 < wait_seconds(1, 0.999, answer) < 21.0
    assert wait_seconds(1, 0.0, Answer(503, (("retry-after", "Mon, 30 Nov 2026 17:00:20 GMT"),))) == 0.5
