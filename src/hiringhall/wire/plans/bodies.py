"""Request bodies of the plan dialect: what they hold, and what is made of it."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import VERSION_MAX
from hiringhall.operations.claim import MAX_TASKS_LIMIT
from hiringhall.wire.json_bodies import invalid

_WHOLE = re.compile(r"[0-9]{1,16}")


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


def limit_of(max_tasks: int | None) -> int | Refused:
    """How many tasks a claim may be answered with."""
    if max_tasks is None:
        return 1
    if 1 <= max_tasks <= MAX_TASKS_LIMIT:
        return max_tasks
    return invalid("max_tasks", f"must be from 1 to {MAX_TASKS_LIMIT}")
