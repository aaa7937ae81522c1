"""What operators put into paths, queries and bodies, checked: every complaint names the parameter."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from starlette.requests import Request

from hiringhall.domain.names import complaint_about
from hiringhall.wire.operators.answers import Stop

PAGE_LIMIT_DEFAULT: Final = 100
PAGE_LIMIT_MAX: Final = 1_000
NESTING_MAX: Final = 100
BODY_BYTES_MAX: Final = 1024 * 1024
DROPPED_BYTES_MAX: Final = 8 * 1024 * 1024
YES: Final = frozenset({"1", "true", "yes"})
TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
NO: Final = frozenset({"0", "false", "no", ""})

_decode = msgspec.json.Decoder(float_hook=float).decode  # a number beyond a float's range is no malformed JSON


def invalid(field: str, reason: str) -> Stop:
    """The refusal of a value that was understood but cannot be."""
    return Stop("validation_error", f"{field}: {reason}")


def decoded(part: str, field: str) -> str:
    """A percent-encoded part of a path, decoded once."""
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise Stop("malformed_request", f"{field} in the path is not percent-encoded UTF-8") from None


def path_id(request: Request, name: str) -> str:
    """An identifier in the path, decoded once, whatever it contains."""
    found = decoded(request.path_params[name], name)
    complaint = complaint_about(found)
    if complaint is not None:
        raise invalid(name, complaint)
    return found


class Query:
    """The parameters after the question mark; those that the route does not know are refused, so that a misspelt
    one does not pass for obeyed."""

    def __init__(self, request: Request, known: Collection[str]) -> None:
        self._values: dict[str, list[str]] = {}
        text = request.scope["query_string"].decode("latin-1")
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError:
            raise Stop("validation_error", "the query is not percent-encoded UTF-8") from None
        for name, value in pairs:
            if name not in known:
                allowed = f"this route knows {', '.join(sorted(known))}" if known else "this route takes none"
                raise Stop("validation_error", f"the query holds an unknown parameter; {allowed}")
            self._values.setdefault(name, []).append(value)

    def text(self, name: str) -> str | None:
        """The one value of a parameter, None if it is absent."""
        values = self._values.get(name)
        if values is None:
            return None
        if len(values) > 1:
            raise invalid(name, "is given more than once")
        return values[0]

    def texts(self, name: str) -> list[str]:
        """All values of a parameter, whether repeated or comma-separated."""
        return [part for value in self._values.get(name, ()) for part in value.split(",")]

    def yes(self, name: str) -> bool:
        """Whether a switch is on; off by default."""
        value = (self.text(name) or "").lower()
        if value not in YES and value not in NO:
            raise invalid(name, "must be true or false")
        return value in YES

    def limit(self, default: int | None = PAGE_LIMIT_DEFAULT, longest: int = PAGE_LIMIT_MAX) -> int | None:
        """How many entries are wanted."""
        value = self.text("limit")
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= longest):
            raise invalid("limit", f"must be a whole number from 1 to {longest}")
        return int(value)

    def identifier(self, name: str) -> str | None:
        """An identifier, None if it is absent."""
        value = self.text(name)
        complaint = None if value is None else complaint_about(value)
        if complaint is not None:
            raise invalid(name, complaint)
        return value


async def read_body(request: Request, limit_bytes: int = BODY_BYTES_MAX) -> bytes:
    """The body within its limit. Of a longer one nothing is kept; a little of it is read so that the answer arrives."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit_bytes:
            chunks.append(chunk)
            continue
        chunks.clear()
        if size > limit_bytes + DROPPED_BYTES_MAX:
            raise Stop("payload_too_large", _too_large(limit_bytes), headers={"connection": "close"})
    if size > limit_bytes:
        raise Stop("payload_too_large", _too_large(limit_bytes))
    return b"".join(chunks)


def _too_large(limit_bytes: int) -> str:
    return f"the body is longer than {limit_bytes // (1024 * 1024)} MiB"


def decode_json(body: bytes) -> Any:
    """A body as a value. UTF-8 is checked first; NaN, lone surrogates and nesting over 100 are malformed."""
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        raise Stop("malformed_json", f"the body is not UTF-8 (byte {wrong.start})") from None
    try:
        value = _decode(body)
    except msgspec.DecodeError as wrong:
        raise Stop("malformed_json", _where_malformed(body, wrong)) from None
    except RecursionError:
        value = None
        deep = True
    else:
        deep = _deeper_than(value, NESTING_MAX)
    if deep:
        raise Stop("malformed_json", f"the body nests deeper than {NESTING_MAX} levels")
    return value


def _where_malformed(body: bytes, wrong: msgspec.DecodeError) -> str:
    """The line and column, which a person with a file in an editor needs; they cost a second look at the body."""
    try:
        json.loads(body, parse_constant=_no_constant)
    except json.JSONDecodeError as found:
        return f"the body is not JSON: {found.msg} (line {found.lineno}, column {found.colno})"
    except (ValueError, RecursionError):
        pass
    return f"the body is not JSON: {wrong}"


def _no_constant(_name: str) -> None:
    raise ValueError


def _deeper_than(value: object, levels: int) -> bool:
    containers = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        if not containers:
            return False
        containers = [
            child
            for container in containers
            for child in (container.values() if type(container) is dict else container)
            if type(child) in (dict, list)
        ]
    return bool(containers)


def refuse_multipart(request: Request) -> None:
    """JSON routes take any content type except forms with parts."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise Stop("unsupported_media_type", "this route takes JSON, not a multipart form")


def read_traceparent(request: Request) -> str | None:
    """The trace context of the request; one of another form than the W3C's is as good as none."""
    text = request.headers.get("traceparent", "").strip().lower()
    return text if TRACEPARENT.fullmatch(text) else None
