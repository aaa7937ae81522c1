"""The limits of the HTTP front, with their units."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """What a connection may cost and how long it may dawdle."""

    keep_alive_seconds: float = 75.0
    """A connection without a request is closed after this long."""
    head_timeout_seconds: float = 20.0
    """A request whose headers are not complete after this long is dropped."""
    body_timeout_seconds: float = 60.0
    """A body of which nothing came for this long is dropped."""
    full_timeout_seconds: float = 30.0
    """A peer that takes nothing of what is written to it for this long is cut off."""
    linger_seconds: float = 2.0
    """A connection that is refused is still read this long, or the refusal would be lost in a reset."""
    request_line_limit_bytes: int = 8192
    head_limit_bytes: int = 64 * 1024
    """All headers together; noticed within one read."""
    drop_limit_bytes: int = 8 * MEBIBYTE
    """A refused body is read and dropped up to this size; beyond it the connection is closed."""
    bodies_limit_bytes: int = 128 * MEBIBYTE
    """So much of large bodies may be in memory at once while they are received; one beyond it is refused."""
    backlog_limit_bytes: int = 64 * 1024
    """Reading pauses once this much of pipelined requests waits."""
    max_connections: int | None = None
    """More are turned away with 503; None: what the open-files limit allows."""
    user_timeout_seconds: float = 15.0
    """A connection whose peer acknowledges nothing for this long is reset by the kernel (Linux)."""
