"""Follows a call: its feedback as it comes, until it has an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from hiringhall.cli.connection import Connection, Refusal, Unreachable

SILENCE_SECONDS: Final = 45.0
"""The server says something every 15 s."""
PAUSE_SECONDS: Final = (0.2, 5.0)


class Event(NamedTuple):
    """One of Server-Sent Events."""

    kind: str
    data: bytes
    number: str


class StillPending(Exception):
    """The time to wait is over, and the call goes on."""


def request_path(request_id: str) -> str:
    """The path of a call's routes."""
    return f"/client/requests/{quote(request_id, safe='')}"


def follow(
    connection: Connection,
    request_id: str,
    *,
    on_item: Callable[[bytes], None],
    on_lost: Callable[[bool], None],
    wait_seconds: float | None = None,
) -> bytes:
    """The outcome of a call as it came; `on_item` is given each item of feedback once, `on_lost` whether the server
    does not answer at present.

    Raises:
        StillPending: there is none within `wait_seconds`.
        Refusal: there is no such call, or it is not to be seen.
    """
    ends_at = None if wait_seconds is None else time.monotonic() + wait_seconds
    last = ""
    pause, longest = PAUSE_SECONDS
    while True:
        try:
            for event in _events(connection, request_id, last, ends_at):
                pause = PAUSE_SECONDS[0]
                on_lost(False)
                if event.kind == "outcome":
                    return event.data
                if event.kind == "feedback":
                    last = event.number
                    on_item(event.data)
        except Unreachable:
            _check(ends_at)
            on_lost(True)
        except Refusal as refusal:
            if refusal.http_status < 500:
                raise
        _check(ends_at)
        time.sleep(pause if ends_at is None else max(0.0, min(pause, ends_at - time.monotonic())))
        pause = min(2 * pause, longest)


def _check(ends_at: float | None) -> None:
    if ends_at is not None and time.monotonic() >= ends_at:
        raise StillPending


def _events(connection: Connection, request_id: str, last: str, ends_at: float | None) -> Iterator[Event]:
    headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
    silence = SILENCE_SECONDS if ends_at is None else max(0.01, min(SILENCE_SECONDS, ends_at - time.monotonic()))
    with connection.stream(f"{request_path(request_id)}/feedback", headers=headers, read_seconds=silence) as pieces:
        for event in parse_events(pieces):
            yield event
            _check(ends_at)


def parse_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """The events in a stream. Texts in JSON may hold what Python takes for an end of line, so bytes are split."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n\n")
        for block in whole:
            fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n") if not line.startswith(b":"))
            if b"data" in fields:
                kind, number = fields.get(b"event", b"message"), fields.get(b"id", b"")
                yield Event(kind.decode(), fields[b"data"], number.decode())
