"""What large bodies take in memory while they are being received, over all connections of a process."""

from __future__ import annotations

from typing import Final

from hiringhall.wire.envelope import RETRY_AFTER, refusal
from hiringhall.wire.exchange import Reply

FREE_BYTES: Final = 64 * 1024
"""A body up to this size is not counted: it costs a peer a connection, which are counted themselves."""


class Bodies:
    """The account. A body that is larger than `FREE_BYTES` is counted from its first byte until it is handed on."""

    __slots__ = ("held_bytes", "limit_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.held_bytes = 0
        self.limit_bytes = limit_bytes


def counted(size: int, limit_bytes: int) -> int:
    """How much of a body of this size is in the account: one over its own limit is not kept at all."""
    return size if FREE_BYTES < size <= limit_bytes else 0


def too_many() -> Reply:
    """The refusal of a body for which there is no room."""
    detail = "too many large request bodies are being received; try again soon"
    return refusal("unavailable", detail, headers=RETRY_AFTER)
