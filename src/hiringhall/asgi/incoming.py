"""A request while it is being read, and the reader that builds it from the parser's callbacks."""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING, Final

import httptools

from hiringhall.asgi.answers import VISIBLE
from hiringhall.wire.exchange import Request, Route

if TYPE_CHECKING:
    from hiringhall.asgi.hot_front import HotFront

_WEBSOCKET_KEY: Final = re.compile(rb"[A-Za-z0-9+/]{22}==").fullmatch
_SHARED_PER_NAME: Final = 64
_SHARED_VALUE_BYTES: Final = 128


def _spellings(name: bytes) -> tuple[bytes, bytes]:
    return name, b"-".join(part.capitalize() for part in name.split(b"-"))


# Most clients send these with few different values: one copy serves all their parked requests. No secrets here.
_shared: Final[dict[bytes, tuple[bytes, dict[bytes, tuple[bytes, bytes]]]]] = {
    spelling: (name, shared)
    for name in (
        b"accept",
        b"accept-encoding",
        b"accept-language",
        b"connection",
        b"content-length",
        b"content-type",
        b"host",
        b"user-agent",
    )
    for shared in [dict[bytes, tuple[bytes, bytes]]()]
    for spelling in _spellings(name)
}


class Malformed(Exception):
    """The bytes are no request that can be answered; the text says what is wrong."""


class Incoming(Request):
    """A request being read. To uvicorn it also plays the parser, which has moved on by the time that it is asked."""

    __slots__ = ("expects", "keep_alive", "pieces", "request_id", "route", "size", "upgrade", "url", "version")

    url: bytes
    version: str
    keep_alive: bool
    upgrade: bool
    expects: bool
    """The client waits for `100 Continue` before it sends the body."""
    request_id: bytes | None
    route: Route | None
    size: int
    pieces: list[bytes] | None

    def get_http_version(self) -> str:
        return self.version

    def get_method(self) -> bytes:
        return self.method

    def should_keep_alive(self) -> bool:
        return self.keep_alive

    def should_upgrade(self) -> bool:
        return self.upgrade

    def is_websocket_handshake(self) -> bool:
        """Whether a WebSocket can be opened by it: one that cannot would leave the client without any answer."""
        return (
            self.method == b"GET"
            and (self.header(b"upgrade") or b"").lower() == b"websocket"
            and self.header(b"sec-websocket-version") == b"13"
            and _WEBSOCKET_KEY(self.header(b"sec-websocket-key") or b"") is not None
            and self.header(b"transfer-encoding") is None
            and not self.declared_bytes()
        )

    def declared_bytes(self) -> int:
        """The length that the body is said to have; 0 if nothing is said."""
        return int(self.header(b"content-length") or 0)

    def add(self, piece: bytes, limit_bytes: int) -> None:
        """Keep a piece of the body; nothing at all is kept once it is larger than the limit."""
        self.size += len(piece)
        if self.size > limit_bytes:
            self.drop_body()
        elif not self.body:
            self.body = piece
        elif self.pieces is None:
            self.pieces = [self.body, piece]
        else:
            self.pieces.append(piece)

    def drop_body(self) -> None:
        """Keep nothing of the body."""
        self.body = b""
        self.pieces = None

    def close_body(self) -> None:
        if self.pieces is not None:
            self.body = b"".join(self.pieces)
            self.pieces = None


class Reader:
    """One parser and the request in it. Lent to a connection only while it is in the middle of a request."""

    __slots__ = (
        "begun", "begun_at", "expects", "fed_at", "front", "head_bytes", "headers", "live", "message", "parser",
        "request_id", "spent", "upgraded", "url",
    )  # fmt: skip

    front: HotFront
    message: Incoming | None

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.begun = False
        self.begun_at = 0.0
        self.fed_at = 0.0
        self.head_bytes = 0
        self.live = False
        """The request is passed on to the ASGI application while it is read."""
        self.spent = False
        """The parser has seen the last request that it can read."""
        self.upgraded = False
        """The request was granted another protocol."""
        self.message = None

    def discard(self) -> None:
        """Break the ring of parser and reader, which would else wait for the garbage collector."""
        self.message = None
        del self.parser
        del self.front

    def head_without_upgrade(self) -> bytes:
        """The head of the last request once more, without its wish for a protocol: the parser skipped its body."""
        lines = [b"%b %b HTTP/1.1\r\n" % (self.parser.get_method(), self.url)]
        dropped = (b"upgrade", b"http2-settings", b"connection")
        lines += [b"%b: %b\r\n" % header for header in self.headers if header[0] not in dropped]
        return b"".join(lines) + b"\r\n"

    def on_message_begin(self) -> None:
        self.begun = True
        self.begun_at = self.front.state.now
        self.head_bytes = 0
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.request_id: bytes | None = None
        self.expects = False

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.message is not None:  # a trailer: nobody asked for it
            return
        known = _shared.get(name)
        if known is not None:
            lower, shared = known
            pair = shared.get(value)
            if pair is None:
                pair = (lower, value)
                if len(shared) < _SHARED_PER_NAME and len(value) <= _SHARED_VALUE_BYTES:
                    shared[value] = pair
            self.headers.append(pair)
            return
        name = name.lower()
        if name == b"x-request-id":
            self.request_id = value if VISIBLE(value) else None
        elif name == b"expect":
            self.expects = value.lower() == b"100-continue"
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        parser = self.parser
        front = self.front
        message = Incoming.__new__(Incoming)
        message.method = parser.get_method()
        message.version = version = intern(parser.get_http_version())
        message.keep_alive = parser.should_keep_alive()
        if version != "1.1":
            if version != "1.0":
                raise Malformed(f"HTTP/{version} is not spoken here; use HTTP/1.1")
            message.keep_alive = False
        if not message.keep_alive:
            self.spent = True
        message.url = url = self.url
        if len(url) > front.state.settings.request_line_limit_bytes:
            raise Malformed("the request line is too long")
        if message.method == b"CONNECT":
            raise Malformed("this is no proxy: CONNECT is refused")
        if url[:1] == b"/":
            message.path, _, message.query = url.partition(b"?")
        else:
            message.path, message.query = _split_absolute(url)
        message.headers = self.headers
        message.body = b""
        message.pieces = None
        message.size = 0
        message.request_id = self.request_id
        message.expects = self.expects
        message.upgrade = parser.should_upgrade()
        message.route = None
        if message.upgrade:
            self.upgraded = front.upgrades(message)
            if not self.upgraded:
                return  # it is read again as an ordinary request, see `head_without_upgrade`
        else:
            message.route = front.state.router.match(message.method, message.path)
        self.message = message
        self.live = False
        front.head_complete(self, message)

    def on_body(self, piece: bytes) -> None:
        message = self.message
        if message is None:
            return
        if self.live:
            self.front.on_body(piece)
            return
        self.front.body_came(message, piece)

    def on_message_complete(self) -> None:
        self.begun = False
        message = self.message
        if message is None:
            return
        self.message = None
        if self.live:
            self.live = False
            self.front.on_message_complete()
            return
        if message.pieces is not None:
            message.close_body()
        self.front.request_complete(message)


def _split_absolute(url: bytes) -> tuple[bytes, bytes]:
    """Path and query of `http://host/path?query`, which clients send to proxies."""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        raise Malformed("the request line names no path") from None
    return parsed.path or b"/", parsed.query or b""
