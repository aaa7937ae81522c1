"""A request of a worker as it arrived, the name of its route, and whether it fits a pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from msgspec import UNSET

from hiringhall.verify.cases import RequestPattern
from hiringhall.verify.matching import Saved, difference
from hiringhall.verify.numerals import decode

OTHER = "other"
ANY = "any"
# Method and path of each route; `*` is an id.
ROUTES: dict[str, dict[str, tuple[str, str]]] = {
    "services": {
        "login": ("POST", "worker/auth_token"),
        "registration": ("POST", "worker/registration"),
        "drain": ("GET", "worker/messages"),
        "lock": ("PUT", "worker/lock_request/*"),
        "response": ("POST", "worker/response"),
        "feedback": ("POST", "worker/feedback"),
        "heartbeat": ("GET", "worker/heartbeat/*"),
        "goodbye": ("PUT", "worker/notify_worker_shutdown/*"),
    },
    "plans": {
        "register": ("POST", "workers/register"),
        "heartbeat": ("POST", "workers/*/heartbeat"),
        "claim": ("POST", "tasks/claim"),
        "complete": ("POST", "tasks/*/complete"),
        "fail": ("POST", "tasks/*/fail"),
        "release": ("POST", "tasks/*/release"),
    },
}


class Reply(NamedTuple):
    """An answer as it goes out."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(eq=False)
class Heard:
    """One request as it arrived. Times are seconds since the case began."""

    at: float
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    route: str
    id: str | None = None
    taken: bool = False
    status: str = ""
    handed: list[str] = field(default_factory=list)

    @property
    def token(self) -> str:
        """The bearer token; empty without one."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""

    @property
    def query(self) -> dict[str, str]:
        """The parameters behind the path."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """The fields of the body as a form; empty if it is none."""
        if "x-www-form-urlencoded" not in self.headers.get("content-type", ""):
            return {}
        try:
            return dict(parse_qsl(self.body.decode(), keep_blank_values=True))
        except ValueError:
            return {}

    @property
    def json(self) -> Any:
        """The body as JSON; None if it is none."""
        try:
            return decode(self.body) if self.body else None
        except ValueError:
            return None

    @property
    def members(self) -> dict[str, Any]:
        """The members of the body; empty if it is no object."""
        found = self.json
        return found if isinstance(found, dict) else {}


def route_of(protocol: str, method: str, target: str) -> tuple[str, str | None]:
    """The name of a request's route and the id in its path."""
    parts = target.partition("?")[0].strip("/").split("/")
    for name, (wanted, path) in ROUTES[protocol].items():
        pattern = path.split("/")
        if method == wanted and len(pattern) == len(parts):
            ids = [unquote(part) for part, want in zip(parts, pattern, strict=True) if want == "*"]
            if all(want in ("*", part) for part, want in zip(parts, pattern, strict=True)):
                return name, ids[0] if ids else None
    return OTHER, None


def misfit(pattern: RequestPattern, heard: Heard, saved: Saved) -> str | None:
    """What about a request is not as the pattern says; None if it fits, and what it saves is saved."""
    if pattern.request not in (heard.route, ANY):
        return f"expected {pattern.request}, was {heard.route}"
    found: Saved = dict(saved)
    for name, wanted, seen in _parts(pattern, heard):
        if (unlike := difference(wanted, seen, found, name)) is not None:
            return unlike
    saved.update(found)
    return None


def _parts(pattern: RequestPattern, heard: Heard) -> list[tuple[str, Any, Any]]:
    parts: list[tuple[str, Any, Any]] = []
    if pattern.id is not UNSET:
        parts.append(("id", pattern.id, heard.id))
    if pattern.headers:
        parts.append(("headers", {name.lower(): want for name, want in pattern.headers.items()}, heard.headers))
    if pattern.query:
        parts.append(("query", pattern.query, heard.query))
    if pattern.form:
        parts.append(("form", pattern.form, heard.form))
    if pattern.json is not UNSET:
        parts.append(("json", pattern.json, heard.json))
    return parts
