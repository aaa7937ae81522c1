"""Calls as clients see them: outcomes, and where a call stands. Results are the JSON text that the worker sent."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.ports.calls import FeedbackRow, RequestView

ENDED_BY_ITSELF: Final[dict[Answer, str]] = {
    Answer.CANCELLED: "it was cancelled",
    Answer.EXPIRED: "its deadline passed",
}
"""What stands in `error_text` if nobody said anything."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode


def rfc3339(at_ms: int | None) -> str | None:
    """A time of the store on the wire: RFC 3339, UTC, milliseconds."""
    if at_ms is None:
        return None
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


@lru_cache(maxsize=256)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def outcome(view: RequestView) -> bytes:
    """The outcome of a call that has one."""
    assert view.answer is not None
    succeeded = view.answer is Answer.SUCCESS
    members: dict[str, Any] = {
        "request_id": view.request_id,
        "status": view.answer.value,
        "result": msgspec.Raw(view.result) if succeeded and view.result is not None else None,
        "error_text": None if succeeded else view.error_text or ENDED_BY_ITSELF.get(view.answer, view.error_text),
        **(_gathered(view) if view.dispatch is Dispatch.BROADCAST else {}),
        "created_at": rfc3339(view.made_at),
        "started_at": rfc3339(view.first_handed_at),
        "finished_at": rfc3339(view.finished_at),
        "deadline_at": rfc3339(view.deadline_at),
    }
    return _encode(members)


def _gathered(view: RequestView) -> dict[str, Any]:
    """The answers of a broadcast. A child of one is told like any call: it was some worker's."""
    if view.answer is not Answer.SUCCESS or view.last_holder is not None or view.result is None:
        return {}
    return {"result": None, **_members(view.result)}


def pending(request_id: str, status: str) -> bytes:
    """Where a call stands that has no outcome yet."""
    return _encode({"request_id": request_id, "status": status})


def feedback_item(row: FeedbackRow) -> bytes:
    """An item of feedback, with the document's short keys and when it came."""
    item = row.item
    members: dict[str, Any] = {
        "rid": item.rid,
        "st": item.st,
        "sn": item.sn,
        "ft": msgspec.Raw(item.ft),
        "pr": item.pr,
        "fc": msgspec.Raw(item.fc),
        "at": rfc3339(row.at),
    }
    return _encode(members)
