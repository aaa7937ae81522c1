"""The body of a client's call, member by member: what it may hold, and what is said about what it may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import Any, Final

import msgspec

from hiringhall.domain.call import (
    DEADLINE_SECONDS_DEFAULT,
    DEADLINE_SECONDS_MAX,
    DEADLINE_SECONDS_MIN,
    NOTHING_REQUIRED,
    PRIORITY_MAX,
    RETRIES_MAX,
    Dispatch,
    Requires,
)
from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX, complaint_about
from hiringhall.domain.plan_members import RUN_LIMIT_SECONDS_LIMIT, edit_distance
from hiringhall.domain.refusals import Refused
from hiringhall.wire.json_bodies import hold_of, invalid, members_of

REQUIRED_MAX: Final = 64
"""How many executors or tags a call may require."""
TYPO_DISTANCE_MAX: Final = 2
MEMBERS: Final = (
    "method", "params", "wait", "deadline_seconds", "dispatch", "priority", "retries", "requires", "if_no_worker",
    "run_limit_seconds",
)  # fmt: skip
REQUIRES_MEMBERS: Final = ("platform", "executors", "interactive_desktop", "browser_runtime", "tags")

_value = msgspec.json.Decoder(float_hook=float).decode  # a number beyond a float's range is infinite, not malformed


class Problem(Exception):
    """A member cannot be what it is. The refusal says why, and never what it is."""

    def __init__(self, field: str, reason: str, refused: Refused | None = None) -> None:
        super().__init__(reason)
        self.refused = refused or invalid(field, reason)


class CallBody(msgspec.Struct, frozen=True):
    """What a client wants done, checked."""

    service: str
    method: str
    params: bytes
    hold_seconds: float = 0.0
    deadline_ms: int = round(DEADLINE_SECONDS_DEFAULT * 1000)
    dispatch: Dispatch | None = None
    priority: int = 0
    retries: int = 0
    requires: Requires = NOTHING_REQUIRED
    fail_without_worker: bool = False
    run_limit_ms: int | None = None

    @property
    def full_method(self) -> str:
        """`SERVICE/METHOD`"""
        return f"{self.service}/{self.method}"


def call_body(body: bytes) -> CallBody | Refused:
    """The body as a call, or what is wrong with it."""
    members = members_of(body)
    if isinstance(members, Refused):
        return members
    try:
        service, method = _method(members)
        values: dict[str, Any] = {"params": _params(members)}
        for name, raw in members.items():
            reader = READERS.get(name)
            if reader is not None:
                value = _value(raw)
                if value is not None:
                    member, read = reader
                    values[member] = read(value)
            elif name not in MEMBERS:
                _refuse_misspelt(name)
        return CallBody(service, method, **values)
    except Problem as problem:
        return problem.refused


def _method(members: Mapping[str, msgspec.Raw]) -> tuple[str, str]:
    raw = members.get("method")
    if raw is None:
        raise Problem("method", "is missing")
    full = _value(raw)
    service, slash, method = full.partition("/") if isinstance(full, str) else ("", "", "")
    if not (service and slash and method):
        raise Problem("method", "must be a text like 'service/method'")
    for part in (service, method):
        complaint = complaint_about(part)
        if complaint is not None:
            raise Problem("method", f"the service and the method {complaint}")
    return service, method


def _params(members: Mapping[str, msgspec.Raw]) -> bytes:
    raw = members.get("params")
    if raw is None:
        raise Problem("params", "is missing; any JSON value will do, also null")
    return bytes(raw)


def _refuse_misspelt(name: str) -> None:
    """Members that nobody knows are left out, but for those that probably are misspelt."""
    if len(name) > IDENTIFIER_CHARACTERS_MAX:
        return
    for known in MEMBERS:
        if len(known) > TYPO_DISTANCE_MAX + 2 and edit_distance(name.lower(), known) <= TYPO_DISTANCE_MAX:
            raise Problem("body", f"a member is not known; did you mean {known}?")


def _hold(value: Any) -> float:
    hold = hold_of(value, 0.0)
    if isinstance(hold, Refused):
        raise Problem("wait", hold.detail, hold)
    return hold


def _number(field: str, least: float, most: float, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise Problem(field, "must be a number")
    if not least <= value <= most:
        raise Problem(field, f"must be from {least:.15g} to {most:.15g}")
    return value


def _whole(field: str, least: int, most: int, value: Any) -> int:
    number = _number(field, least, most, value)
    if number != int(number):
        raise Problem(field, "must be a whole number")
    return int(number)


def _milliseconds(field: str, least: float, most: float, value: Any) -> int:
    return round(_number(field, least, most, value) * 1000)


def _dispatch(value: Any) -> Dispatch:
    if not isinstance(value, str) or value not in set(Dispatch):
        raise Problem("dispatch", f"must be one of {', '.join(Dispatch)}")
    return Dispatch(value)


def _fails(value: Any) -> bool:
    if value not in ("queue", "fail"):
        raise Problem("if_no_worker", "must be queue or fail")
    return bool(value == "fail")


def _requires(value: Any) -> Requires:
    if not isinstance(value, dict):
        raise Problem("requires", "must be an object")
    if not set(value) <= set(REQUIRES_MEMBERS):
        raise Problem("requires", f"may hold {', '.join(REQUIRES_MEMBERS)}, and nothing else")
    platform = value.get("platform")
    return Requires(
        platform=None if platform is None else _text("requires.platform", platform),
        executors=_executors(value.get("executors")),
        interactive_desktop=_yes("requires.interactive_desktop", value.get("interactive_desktop")),
        browser_runtime=_yes("requires.browser_runtime", value.get("browser_runtime")),
        tags=_tags(value.get("tags")),
    )


def _executors(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Problem("requires.executors", "must be a list of texts")
    _check_count("requires.executors", value)
    return tuple(sorted({_text("requires.executors", each) for each in value}))


def _tags(value: Any) -> tuple[tuple[str, str], ...]:
    """Tags by name. Numbers and switches are compared as what a worker's registration makes of them: their text."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise Problem("requires.tags", "must be an object of texts")
    _check_count("requires.tags", value)
    return tuple(sorted((_text("requires.tags", name), _tag(content)) for name, content in value.items()))


def _tag(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    return _text("requires.tags", value, least=0)


def _text(field: str, value: Any, least: int = 1) -> str:
    if not isinstance(value, str):
        raise Problem(field, "must be a text")
    if value or least:
        complaint = complaint_about(value) if value not in (".", "..") else None
        if complaint is not None:
            raise Problem(field, complaint)
    return str(value)


def _yes(field: str, value: Any) -> bool:
    if value is not None and not isinstance(value, bool):
        raise Problem(field, "must be true or false")
    return bool(value)


def _check_count(field: str, values: Any) -> None:
    if len(values) > REQUIRED_MAX:
        raise Problem(field, f"must have at most {REQUIRED_MAX} entries")


READERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "wait": ("hold_seconds", _hold),
    "deadline_seconds": (
        "deadline_ms", partial(_milliseconds, "deadline_seconds", DEADLINE_SECONDS_MIN, DEADLINE_SECONDS_MAX),
    ),
    "dispatch": ("dispatch", _dispatch),
    "priority": ("priority", partial(_whole, "priority", -PRIORITY_MAX, PRIORITY_MAX)),
    "retries": ("retries", partial(_whole, "retries", 0, RETRIES_MAX)),
    "requires": ("requires", _requires),
    "if_no_worker": ("fail_without_worker", _fails),
    "run_limit_seconds": ("run_limit_ms", partial(_milliseconds, "run_limit_seconds", 0, RUN_LIMIT_SECONDS_LIMIT)),
}  # fmt: skip
"""By the name of a member: which member of `CallBody` it becomes, and how. Of one that is null the default counts."""
