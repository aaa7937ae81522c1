"""The one shape of every refusal on the wire: `{"error_code", "detail", "task_id"}`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from hiringhall.domain.refusals import CODES
from hiringhall.ports.store import Overloaded, StoreUnavailable
from hiringhall.wire.exchange import Reply

RETRY_AFTER: Final = ((b"retry-after", b"1"),)

_encode = msgspec.json.Encoder().encode


def refusal(
    code: str,
    detail: str,
    *,
    task_id: str | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    **extra: Any,
) -> Reply:
    """The answer for a code of the closed list, with that code's status; `extra` members follow the three fixed ones.

    An unknown code is a `KeyError`: the list is closed.
    """
    status = CODES[code]
    members = {"error_code": code, "detail": detail, "task_id": task_id, **extra}
    return Reply(status, _encode(members), headers)


def excuse(failure: StoreUnavailable) -> str:
    """What a caller is told about the database, without the driver's own words."""
    if isinstance(failure, Overloaded):
        return "more is asked than the database gets done; nothing has changed"
    return "the database does not answer; nothing is known to have changed"
