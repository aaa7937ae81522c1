"""How long to wait before the next attempt, as arithmetic on given numbers."""

from __future__ import annotations

import datetime
import email.utils

from .wire import Answer

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 60.0
LONGEST_RETRY_AFTER_SECONDS = 3600.0
DOUBLINGS = 10


def backoff_seconds(attempts: int, dice: float) -> float:
    """The wait after so many failed attempts (1 or more): doubling from half a second, at most 60 s.

    `dice` is a number of [0, 1); it takes away up to half, so that a fleet does not come back in one instant.
    """
    full = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(attempts - 1, DOUBLINGS))
    return full * (1.0 - dice / 2.0)


def retry_after_seconds(answer: Answer) -> float | None:
    """The seconds that the answer's Retry-After asks for; a date is measured against the answer's own Date."""
    text = (answer.header("retry-after") or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        wanted, sent = _moment(text), _moment(answer.header("date") or "")
        if wanted is None or sent is None:
            return None
        seconds = (wanted - sent).total_seconds()
    if not 0.0 <= seconds < float("inf"):
        return None
    return min(seconds, LONGEST_RETRY_AFTER_SECONDS)


def _moment(text: str) -> datetime.datetime | None:
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.timezone.utc)


def wait_seconds(attempts: int, dice: float, answer: Answer | None) -> float:
    """The wait before the next attempt: never shorter than Retry-After, else the back-off."""
    wanted = None if answer is None else retry_after_seconds(answer)
    if wanted is None:
        return backoff_seconds(attempts, dice)
    return wanted + dice * min(1.0, wanted / 10.0)
