"""One HTTP request and its one answer, in callback style: what worker routes are written against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

Headers = Sequence[tuple[bytes, bytes]]


class Reply(NamedTuple):
    """What goes back. Content-length, date, connection and request id are added by whoever serves the exchange."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Request:
    """A complete request: the body has been read and is within its route's limit."""

    __slots__ = ("body", "headers", "method", "path", "query")

    method: bytes
    path: bytes
    """The path as it came, still percent-encoded, without the query."""
    query: bytes
    headers: Headers
    """In the order they came, names in lower case."""
    body: bytes

    def __init__(
        self,
        method: bytes,
        path: bytes,
        query: bytes = b"",
        headers: Headers = (),
        body: bytes = b"",
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header of that lower-case name."""
        for known, value in self.headers:
            if known == name:
                return value
        return None


class Exchange(ABC):
    """One request and its one answer. Belongs to the event loop's thread."""

    __slots__ = ("gone", "request", "when_gone")

    request: Request
    gone: bool
    """The peer went away before it was answered."""
    when_gone: Callable[[], None] | None
    """Set by a handler that leaves without answering; called once if the peer goes away before the answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.gone = False
        self.when_gone = None

    def peer(self) -> str:
        """The address of the peer, as far as it is known."""
        return ""

    @abstractmethod
    def answer(self, reply: Reply, lost: Callable[[], None] | None = None) -> None:
        """Send the one answer; callable at any time, also long after the handler has returned.

        `lost` is called once, later, if the answer certainly did not arrive: the connection was reset, or closed with
        unsent bytes, before the next request on it; or the peer was gone already. A close after the answer is no loss.
        A second answer is dropped: it is logged as an error, and its `lost` is called.
        """


Handler = Callable[[Exchange], None]


class Route(NamedTuple):
    """Who answers a path, and how long a body it takes.

    `needs_token`: without an Authorization header the handler refuses at once, whatever the body; a large one is not
    waited for.
    """

    handler: Handler
    body_limit_bytes: int
    needs_token: bool = False


class Router(Protocol):
    """Knows the paths that are answered by handlers."""

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of a raw path; None if the ASGI application serves it. A wrong method on a known path has a route
        too, which answers 405."""
