"""One keep-alive HTTP connection, used by one thread, which another thread may interrupt."""

from __future__ import annotations

import contextlib
import http.client
import platform
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .wire import Answer, Lost, Reply, Request

CONNECT_SECONDS = 10.0
AGENT = f"hiringhall-worker (Python {platform.python_version()})"
# What a connection may have gone through when it was closed by the other side while it was idle.
STALE = (http.client.RemoteDisconnected, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)

LONGEST_LINE_BYTES = 8 * 1024 * 1024
WITH_BODY = ("POST", "PUT")


@dataclass(frozen=True)
class Address:
    """Where the server is. A path in front of the routes is kept."""

    host: str
    port: int
    prefix: str = ""
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str, tls: ssl.SSLContext | None = None) -> Address:
        """Read an http:// or https:// URL; ValueError says what is wrong with it."""
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the server's address must look like http://HOST:PORT or https://HOST")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the server's address must have no user name, query or fragment; tokens are given apart")
        if parts.scheme == "https":
            return cls(parts.hostname, parts.port or 443, parts.path.rstrip("/"), tls or ssl.create_default_context())
        return cls(parts.hostname, parts.port or 80, parts.path.rstrip("/"))


class Joined(http.client.HTTPConnection):
    """Sends head and body of a request together: one packet, and never a head whose body does not follow."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._pieces: list[bytes] = []

    def send(self, data: Any) -> None:
        self._pieces.append(data)

    def flush(self) -> None:
        together = b"".join(self._pieces)
        self._pieces.clear()
        self.sock.sendall(together)


class JoinedTls(Joined, http.client.HTTPSConnection):
    """The same over TLS."""


class Stream:
    """An answer that comes bit by bit. For the thread that owns its connection."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def lines(self) -> Iterator[str | Lost]:
        """The lines as they come, without their ends; a failure of the network is the last one, as `Lost`."""
        try:
            while (line := self._response.readline(LONGEST_LINE_BYTES)) != b"":
                yield line.decode("utf-8", "replace").rstrip("\r\n")
        except (OSError, http.client.HTTPException, ValueError) as error:
            yield _lost(error)


class Connection:
    """Sends one request at a time. Every failure of the network comes back as `Lost`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._http: Joined | None = None
        self._guard = threading.Lock()
        self._interrupted = False
        self._ended = False

    def exchange(self, request: Request) -> Reply:
        """Send a request and read the whole answer; each wait for the network lasts at most its timeout."""
        self._interrupted = False
        reused = self._reusable()
        try:
            try:
                return self._attempt(request)
            except STALE:
                # The other side closed the connection while it was idle, so most likely it never saw the request.
                if not (reused and request.repeatable) or self._interrupted or self._ended:
                    raise
                self.close()
                return self._attempt(request)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return _lost(error)

    def stream(self, request: Request) -> Reply | Stream:
        """Send a request whose answer comes bit by bit. An answer other than 200 is read whole."""
        try:
            response = self._sent(self._opened(request.timeout_seconds), request)
            if response.status == 200:
                return Stream(response)
            return Answer(response.status, _headers(response), response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return _lost(error)

    def interrupt(self) -> None:
        """Tell the server that nobody waits any more. An answer already under way still arrives."""
        self._interrupted = True
        self._shut(socket.SHUT_WR)

    def abort(self) -> None:
        """Make the exchange of another thread fail at once, and every later one."""
        self._ended = True
        self._shut(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; the next exchange opens another one. For the owning thread only."""
        with self._guard:
            http_connection, self._http = self._http, None
        if http_connection is not None:
            http_connection.close()

    def _shut(self, how: int) -> None:
        with self._guard:
            sock = None if self._http is None else self._http.sock
            if sock is not None:
                with contextlib.suppress(OSError, ValueError):
                    # Past the TLS layer, which the reading thread goes on using.
                    socket.socket.shutdown(sock, how)

    def _reusable(self) -> bool:
        """Whether an open connection is left. One with something to read is of no use: no answer is awaited."""
        sock = None if self._http is None else self._http.sock
        if sock is None:
            return False
        try:
            poll = select.poll()
            poll.register(sock, select.POLLIN)
            stale = bool(poll.poll(0))
        except AttributeError:
            stale = bool(select.select([sock], [], [], 0)[0])
        if stale:
            self.close()
        return not stale

    def _attempt(self, request: Request) -> Answer:
        http_connection = self._opened(request.timeout_seconds)
        response = self._sent(http_connection, request)
        body = response.read()
        return Answer(response.status, _headers(response), body)

    def _sent(self, http_connection: Joined, request: Request) -> http.client.HTTPResponse:
        headers = {"User-Agent": AGENT, **dict(request.headers)}
        if request.token:
            headers["Authorization"] = f"Bearer {request.token}"
        body = request.body if request.body or request.method in WITH_BODY else None
        if body is not None:
            headers["Content-Type"] = request.content_type
        http_connection.request(request.method, self._address.prefix + request.path, body, headers)
        http_connection.flush()
        return http_connection.getresponse()

    def _opened(self, timeout_seconds: float) -> Joined:
        if self._http is None or self._http.sock is None:
            opened = self._open()
            with self._guard:
                self._http = opened
        if self._ended:
            raise ConnectionAbortedError("this worker is about to exit")
        if self._http is None or self._http.sock is None:
            raise ConnectionAbortedError("the connection was closed")
        self._http.sock.settimeout(timeout_seconds)
        return self._http

    def _open(self) -> Joined:
        where = self._address
        opened: Joined
        if where.tls is None:
            opened = Joined(where.host, where.port, timeout=CONNECT_SECONDS)
        else:
            opened = JoinedTls(where.host, where.port, timeout=CONNECT_SECONDS, context=where.tls)
        opened.connect()
        opened.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return opened


def _headers(response: http.client.HTTPResponse) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in response.getheaders())


def _lost(error: Exception) -> Lost:
    return Lost(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
