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
_NO_STORE: Final = (b"cache-control", b"no-store")
_JSON: Final = (b"content-type", b"application/json")
BODILESS: Final = frozenset({204, 304})

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
    lines = [opening, b"x-request-id: ", request_id, b"\r\n"]
    for name, value in _completed(reply):
        lines += (name, b": ", value, b"\r\n")
    lines.append(ending)
    if not head_only and status not in BODILESS:
        lines.append(body)
    return b"".join(lines)


def full_headers(reply: Reply, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """All headers of an answer but date and connection."""
    return [(b"x-request-id", request_id), *_completed(reply)]


def _completed(reply: Reply) -> list[tuple[bytes, bytes]]:
    """The headers of a reply, and those that every answer has besides."""
    status, body, given = reply
    headers = list(given)
    stored = typed = False
    for name, value in given:
        if b"\r" in value or b"\n" in value or b"\n" in name:
            raise ValueError(f"header {name!r} holds a line break")
        lower = name.lower()
        if lower == b"cache-control":
            stored = True
        elif lower == b"content-type":
            typed = True
    if not stored:
        headers.append(_NO_STORE)
    if status not in BODILESS:
        headers.append((b"content-length", b"%d" % len(body)))
        if body and not typed:
            headers.append(_JSON)
    return headers
