"""Answers as bytes: the head that every answer of the hot front carries."""

from __future__ import annotations

import http
import itertools
import os
import re
import time
from email.utils import formatdate
from typing import Final

from hiringhall.wire.exchange import Reply

VISIBLE = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_COMMON: Final = (
    b"%bcache-control: no-store\r\ncontent-type: application/json\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b%b"
)
BODILESS: Final = frozenset({204, 304})

_UNSAFE = re.compile(rb"[\r\n\0]").search
_prefix = os.urandom(6).hex().encode()
_numbers = itertools.count(1)


def new_request_id() -> bytes:
    """Unique over all processes, cheap: drawn once per process, then counted."""
    return b"%b-%x" % (_prefix, next(_numbers))


def status_line(status: int) -> bytes:
    try:
        phrase = http.HTTPStatus(status).phrase.encode()
    except ValueError:
        phrase = b""
    return b"HTTP/1.1 %d %b\r\n" % (status, phrase)


class Heads:
    """The opening lines of an answer per status, made anew once a second because of the date in them."""

    __slots__ = ("_date", "_known")

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._date = b""
        self.strike()

    def strike(self) -> bytes:
        """Look at the clock; returns the value of a date header."""
        self._date = formatdate(time.time(), usegmt=True).encode()
        self._known.clear()
        return self._date

    def opening(self, status: int) -> bytes:
        known = self._known.get(status)
        if known is None:
            known = b"%bdate: %b\r\n" % (status_line(status), self._date)
            self._known[status] = known
        return known


def render(opening: bytes, reply: Reply, request_id: bytes, *, head_only: bool, close: bool) -> bytes:
    """The whole answer. Header values with line breaks are a `ValueError`: they would forge headers."""
    status, body, headers = reply
    ending = b"connection: close\r\n\r\n" if close else b"\r\n"
    if not headers and body and not head_only:
        return _COMMON % (opening, len(body), request_id, ending, body)
    lines = [opening]
    lines += [b"%b: %b\r\n" % header for header in full_headers(reply, request_id)]
    lines.append(ending)
    if not head_only and status not in BODILESS:
        lines.append(body)
    return b"".join(lines)


def full_headers(reply: Reply, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """All headers of an answer but date and connection."""
    names = {name.lower() for name, _ in reply.headers}
    headers = [(b"x-request-id", request_id)]
    if b"cache-control" not in names:
        headers.append((b"cache-control", b"no-store"))
    if reply.status not in BODILESS:
        headers.append((b"content-length", b"%d" % len(reply.body)))
        if reply.body and b"content-type" not in names:
            headers.append((b"content-type", b"application/json"))
    for header in reply.headers:
        if _UNSAFE(header[0]) or _UNSAFE(header[1]):
            raise ValueError(f"header {header[0]!r} holds a line break")
        headers.append(header)
    return headers
