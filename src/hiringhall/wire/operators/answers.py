"""Answers to operators: JSON, never stored by a cache, and refusals in the one envelope."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.responses import Response

from hiringhall.domain.refusals import Refused
from hiringhall.wire.envelope import refusal

encode = msgspec.json.Encoder().encode
NO_STORE = {"cache-control": "no-store"}


class Stop(Exception):
    """Ends the handling of a request with a refusal."""

    def __init__(self, code: str, detail: str, *, headers: dict[str, str] | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.refused = Refused(code, detail, extra.pop("task_id", None), extra)
        self.headers = headers or {}


def json_answer(value: object, status: int = 200) -> Response:
    """`value` as JSON."""
    return Response(encode(value), status, NO_STORE, "application/json")


def refused_answer(refused: Refused, headers: dict[str, str] | None = None) -> Response:
    """The refusal in its envelope."""
    reply = refusal(refused.code, refused.detail, task_id=refused.task_id, **refused.extra)
    return Response(reply.body, reply.status, {**NO_STORE, **(headers or {})}, "application/json")


def agreed(outcome: Any) -> Any:
    """The outcome of an ask, unless it is a refusal: that ends the request."""
    if isinstance(outcome, Refused):
        raise Stop(outcome.code, outcome.detail, task_id=outcome.task_id, **outcome.extra)
    return outcome


def rfc3339(at_ms: int) -> str:
    """A time of the store on the wire: RFC 3339, UTC, milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
