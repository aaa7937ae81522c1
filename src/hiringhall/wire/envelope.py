"""The one shape of every refusal on the wire: `{"error_code", "detail", "task_id"}`."""

from __future__ import annotations

from typing import Any

import msgspec

from hiringhall.domain.refusals import CODES
from hiringhall.wire.exchange import Reply

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
