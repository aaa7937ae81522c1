"""Request bodies of the plan dialect: decoded, or refused with what is wrong and where."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from hiringhall.domain.names import complaint_about
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import VERSION_MAX
from hiringhall.operations.claim import MAX_TASKS_LIMIT

NESTING_MAX: Final = 100
WAIT_SECONDS_MAX: Final = 55.0
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHOLE = re.compile(r"[0-9]{1,16}")
_AT = re.compile(r" - at `\$\.?(.*)`$")

Body = TypeVar("Body", bound=msgspec.Struct)


class RegisterBody(msgspec.Struct):
    """`POST /workers/register`"""

    hostname: str


class HeartbeatBody(msgspec.Struct):
    """`POST /workers/{worker_id}/heartbeat`"""

    worker_id: str


class ClaimBody(msgspec.Struct):
    """`POST /tasks/claim`"""

    worker_id: str
    plan_id: str
    wait: Any = msgspec.UNSET
    max_tasks: int | None = None


class SettleBody(msgspec.Struct):
    """`POST /tasks/{task_id}/complete`, `fail`, `release`"""

    worker_id: str
    version: int | float | str
    reason: str | None = None
    plan_id: str | None = None
    task_id: Any = None


register_decoder: Final = msgspec.json.Decoder(RegisterBody).decode
heartbeat_decoder: Final = msgspec.json.Decoder(HeartbeatBody).decode
claim_decoder: Final = msgspec.json.Decoder(ClaimBody).decode
settle_decoder: Final = msgspec.json.Decoder(SettleBody).decode


def decode(decoder: Callable[[bytes], Body], body: bytes) -> Body | Refused:
    """The body as a struct. Unknown members are ignored, of duplicate ones the last counts."""
    try:
        if not body.isascii():
            body.decode("utf-8")
        if body.count(b"[") + body.count(b"{") > NESTING_MAX and _is_nested_too_deeply(body):
            return Refused("malformed_json", f"the body is nested more than {NESTING_MAX} levels deep")
        return decoder(body)
    except UnicodeDecodeError as problem:
        return Refused("malformed_json", f"the body is not UTF-8 at byte {problem.start}")
    except msgspec.ValidationError as problem:
        return _invalid(body, str(problem))
    except msgspec.DecodeError as problem:
        if body.startswith(BYTE_ORDER_MARK):
            return decode(decoder, body[len(BYTE_ORDER_MARK) :])
        return malformed(body, str(problem))


def malformed(body: bytes, problem: str) -> Refused:
    """The refusal of a body that is no JSON."""
    if not body.strip():
        return Refused("malformed_json", "the body is empty; a JSON object is expected")
    return Refused("malformed_json", f"the body is not JSON: {problem}")


def _invalid(body: bytes, problem: str) -> Refused:
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError as syntax:
        if "out of range" not in str(syntax):
            return malformed(body, str(syntax))
    found = _AT.search(problem)
    field = found.group(1) if found else ""
    reason = problem[: found.start()] if found else problem
    return invalid(field or "body", reason.replace("`", "")[:1].lower() + reason.replace("`", "")[1:])


def invalid(field: str, reason: str) -> Refused:
    """The refusal of a member: which one, and why; never what it was."""
    return Refused("validation_error", f"{field}: {reason}")


def _is_nested_too_deeply(body: bytes) -> bool:
    depth = 0
    in_text = escaped = False
    for byte in body:
        if in_text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_text = False
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            if depth > NESTING_MAX:
                return True
        elif byte in b"]}":
            depth -= 1
    return False


def complaint_about_id(field: str, identifier: str) -> Refused | None:
    """Why a member cannot be an id; None if it can."""
    complaint = complaint_about(identifier)
    return None if complaint is None else invalid(field, complaint)


def version_of(version: float | str) -> int | Refused:
    """The version that is meant: a whole number from 0 to 2^53-1.

    Also 1.0 and "1" are accepted: the published server does so, and there are languages that write whole numbers thus.
    True is not: nobody means a version by it.
    """
    if type(version) is int:
        number = version
    elif isinstance(version, float):
        if not version.is_integer():
            return invalid("version", "must be a whole number")
        number = int(version)
    else:
        if not _WHOLE.fullmatch(str(version)):
            return invalid("version", "must be a whole number")
        number = int(version)
    if 0 <= number <= VERSION_MAX:
        return number
    return invalid("version", f"must be from 0 to {VERSION_MAX}")


def hold_of(wait: Any, default_seconds: float) -> float | Refused:
    """How many seconds a claim is held: `wait` is clamped to 0..55."""
    if wait is msgspec.UNSET:
        return default_seconds
    if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not wait >= 0:
        return Refused("invalid_wait", f"wait must be a number of seconds from 0 to {WAIT_SECONDS_MAX:g}")
    return float(min(wait, WAIT_SECONDS_MAX))


def limit_of(max_tasks: int | None) -> int | Refused:
    """How many tasks a claim may be answered with."""
    if max_tasks is None:
        return 1
    if 1 <= max_tasks <= MAX_TASKS_LIMIT:
        return max_tasks
    return invalid("max_tasks", f"must be from 1 to {MAX_TASKS_LIMIT}")
