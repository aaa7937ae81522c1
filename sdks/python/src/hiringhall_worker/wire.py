"""What goes over the wire: requests and answers as values, and the encodings of their headers and bodies."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union
from urllib.parse import quote, unquote, urlencode

from . import jsontext

FORM = "application/x-www-form-urlencoded"
# The shortest interval that is obeyed, so that no answer makes a worker beat without a pause.
LEAST_INTERVAL_SECONDS = 0.05


@dataclass(frozen=True)
class Request:
    """One request. Its token, headers and body stay out of its repr, and so out of every log."""

    verb: str
    path: str
    token: str = field(repr=False)
    body: bytes = field(repr=False)
    timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    repeatable: bool = True
    method: str = "POST"
    content_type: str = "application/json"


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
            found = jsontext.decode(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Lost:
    """No answer came: the request may or may not have been carried out."""

    why: str


Reply = Union[Answer, Lost]


def body(members: Mapping[str, object]) -> bytes:
    """Members as JSON in ASCII; the same members give the same bytes."""
    return json.dumps(members, separators=(",", ":")).encode("ascii")


def form(fields: Mapping[str, str]) -> bytes:
    """Fields as the body of a form."""
    return urlencode(fields).encode("ascii")


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
    cancel_requests: frozenset[str] = frozenset()


def directive(text: str | None) -> Directive:
    """Read `Hall-Directive`; unknown and malformed parts are ignored."""
    parts = [piece.strip() for piece in (text or "").split(";")]
    cancel, requests = set(), set()
    for piece in parts:
        name, _, ids = piece.partition("=")
        if name != "cancel":
            continue
        for one in ids.split(","):
            first, slash, task = one.strip().partition("/")
            if slash:
                cancel.add((unquote(first), unquote(task)))
            elif first:
                requests.add(unquote(first))
    return Directive("quiet" in parts, "terminate" in parts, frozenset(cancel), frozenset(requests))


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


def moment(text: str) -> datetime.datetime | None:
    """A time of RFC 3339; None if it is none."""
    try:
        return datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        return None
