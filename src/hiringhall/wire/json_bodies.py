"""JSON bodies of workers and clients: decoded, or refused with what is wrong and where; never with what it was.

A payload stays the text that it is: `members_of` and `msgspec.Raw` check it whole, and numbers keep every digit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, TypeVar

import msgspec

from hiringhall.domain.names import complaint_about
from hiringhall.domain.refusals import Refused

NESTING_MAX: Final = 100
WAIT_SECONDS_MAX: Final = 55.0
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_AT = re.compile(r" - at `\$\.?(.*)`$")
_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

Body = TypeVar("Body")

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode(decoder: Callable[[bytes], Body], body: bytes) -> Body | Refused:
    """The body as the decoder has it. Unknown members are ignored, of duplicate ones the last counts."""
    try:
        if not body.isascii():
            body.decode("utf-8")
        if body.count(b"[") + body.count(b"{") > NESTING_MAX and _depth(body) > NESTING_MAX:
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


def members_of(body: bytes) -> dict[str, msgspec.Raw] | Refused:
    """The members of the body, an object, each as the JSON text that it came as."""
    return decode(_members, body)


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


def _depth(body: bytes) -> int:
    """How deeply the containers of a JSON text are nested."""
    outside_texts = _TEXTS.sub(b"", body).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, outside_texts)), default=0)


def complaint_about_id(field: str, identifier: str) -> Refused | None:
    """Why a member cannot be an id; None if it can."""
    complaint = complaint_about(identifier)
    return None if complaint is None else invalid(field, complaint)


def hold_of(wait: Any, default_seconds: float) -> float | Refused:
    """How many seconds a call is held: `wait` is clamped to 0..55."""
    if wait is msgspec.UNSET:
        return default_seconds
    if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not wait >= 0:
        return Refused("invalid_wait", f"wait must be a number of seconds from 0 to {WAIT_SECONDS_MAX:g}")
    return float(min(wait, WAIT_SECONDS_MAX))
