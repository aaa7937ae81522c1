"""What goes over the wire: requests and answers as values, and the encodings of their headers and bodies."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Union
from urllib.parse import quote, unquote

# Python refuses to convert longer decimal texts to int.
INT_DIGITS = 4300
# The shortest interval that is obeyed, so that no answer makes a worker beat without a pause.
LEAST_INTERVAL_SECONDS = 0.05


@dataclass(frozen=True)
class Request:
    """One POST. Its token, headers and body stay out of its repr, and so out of every log."""

    verb: str
    path: str
    token: str = field(repr=False)
    body: bytes = field(repr=False)
    timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    repeatable: bool = True


@dataclass(frozen=True)
class Answer:
    """A complete answer. Header names are lower-case."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str | None:
        """All values of a header joined by `; `, or None without any."""
        found = [value for known, value in self.headers if known == name]
        return "; ".join(found) if found else None

    def members(self) -> dict[str, Any]:
        """The members of the JSON object in the body; empty if it is anything else."""
        try:
            found = json.loads(self.body.decode("utf-8"), parse_int=_integer, parse_float=_fraction)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Lost:
    """No answer came: the request may or may not have been carried out."""

    why: str


Reply = Union[Answer, Lost]


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= INT_DIGITS else Decimal(text)


def _fraction(text: str) -> float | Decimal:
    value = float(text)
    return value if math.isfinite(value) else Decimal(text)


def body(members: Mapping[str, object]) -> bytes:
    """Members as JSON in ASCII; the same members give the same bytes."""
    return json.dumps(members, separators=(",", ":")).encode("ascii")


def part(text: str) -> str:
    """A text percent-encoded by itself, fit to stand between slashes."""
    return quote(text, safe="", errors="replace")


def holding(held: Iterable[tuple[str, str, int]]) -> str:
    """The value of `Hall-Holding`: PLAN/TASK@version of everything held, comma-separated; empty if nothing is."""
    return ",".join(f"{part(plan)}/{part(task)}@{version}" for plan, task, version in held)


@dataclass(frozen=True)
class Directive:
    """What the hall asks of this worker, from the header `Hall-Directive`."""

    quiet: bool = False
    terminate: bool = False
    cancel: frozenset[tuple[str, str]] = frozenset()


def directive(text: str | None) -> Directive:
    """Read `Hall-Directive`; unknown and malformed parts are ignored."""
    parts = [piece.strip() for piece in (text or "").split(";")]
    cancel = set()
    for piece in parts:
        name, _, ids = piece.partition("=")
        if name != "cancel":
            continue
        for one in ids.split(","):
            plan, slash, task = one.strip().partition("/")
            if slash:
                cancel.add((unquote(plan), unquote(task)))
    return Directive("quiet" in parts, "terminate" in parts, frozenset(cancel))


def interval(text: str | None) -> float | None:
    """Read `Hall-Heartbeat`, the seconds between two heartbeats; None if it is missing or no positive number."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return max(seconds, LEAST_INTERVAL_SECONDS) if math.isfinite(seconds) and seconds > 0 else None


def reportable(text: str) -> str:
    """A text that JSON in UTF-8 can carry: surrogates are joined to characters where they pair, else replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sendable(token: str) -> bool:
    """A token that a header can carry: visible ASCII, not empty."""
    return bool(token) and all("!" <= character <= "~" for character in token)
