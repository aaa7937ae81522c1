"""How a call ended, as it is told to the hall."""

from __future__ import annotations

from typing import NamedTuple

from .. import wire

# What the hall and the client do with a longer text is cut it; this is enough for people.
ERROR_CHARACTERS = 8192


class Outcome(NamedTuple):
    """`status` is success, failed or error; `result` is JSON, and null unless it is a success."""

    status: str
    error_text: str | None = None
    result: bytes = b"null"


def failed(text: str) -> Outcome:
    """The method ran and refused; the client sees the text."""
    return Outcome("failed", wire.reportable(text)[:ERROR_CHARACTERS])


def error(text: str) -> Outcome:
    """The worker could not run the method, or the method broke."""
    return Outcome("error", wire.reportable(text)[:ERROR_CHARACTERS])
