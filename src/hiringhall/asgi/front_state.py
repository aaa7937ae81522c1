"""What all connections of one listener share: settings, spare readers, the coarse clock and who is closed by it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any, Final

from hiringhall.asgi.answers import Heads
from hiringhall.asgi.bodies import Bodies
from hiringhall.asgi.delivery import waiting_bytes
from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.incoming import Reader
from hiringhall.wire.exchange import Router

if TYPE_CHECKING:
    from hiringhall.asgi.connection import Connection
    from hiringhall.asgi.hot_front import HotFront

_SPARE_READERS: Final = 64
_DEFAULT_CONNECTIONS: Final = 10_000


class FrontState:
    """Shared by the connections of one listener. One timer a second does what would else be a timer per connection."""

    __slots__ = (
        "bodies", "choked", "draining", "heads", "idle", "loop", "max_connections", "now", "reading", "router",
        "server_state", "settings", "spare", "tick_seconds", "timer",
    )  # fmt: skip

    def __init__(self, router: Router, settings: FrontSettings) -> None:
        self.router = router
        self.settings = settings
        self.max_connections = settings.max_connections or _DEFAULT_CONNECTIONS
        self.bodies = Bodies(settings.bodies_limit_bytes)
        """The listeners of a server share one."""
        self.draining = False
        """Every answer from now on ends its connection."""
        self.heads = Heads()
        self.now = 0.0
        """The loop's time at the last tick."""
        self.idle: dict[Connection, None] = {}
        """Connections that wait for a request, the longest waiting first."""
        self.reading: dict[Connection, None] = {}
        """Connections in the middle of a request."""
        self.choked: dict[Connection, tuple[float, int]] = {}
        """Connections whose peer does not take what is written: since when, and how much waited then."""
        self.spare: list[Reader] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.server_state: Any = None
        shortest = min(
            settings.keep_alive_seconds, settings.head_timeout_seconds, settings.body_timeout_seconds,
            settings.full_timeout_seconds,
        )  # fmt: skip
        self.tick_seconds = min(1.0, shortest / 4)

    def start(self, loop: asyncio.AbstractEventLoop, server_state: Any) -> None:
        """Start the clock on a loop; a listener that moved to another loop starts anew."""
        self.loop = loop
        self.server_state = server_state
        self.idle.clear()
        self.reading.clear()
        self.choked.clear()
        if self.timer is not None:
            self.timer.cancel()
        self._tick()

    def stop(self) -> None:
        """Stop the clock; nothing is closed by it any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def take_reader(self, front: HotFront) -> Reader:
        reader = self.spare.pop() if self.spare else Reader()
        reader.front = front
        return reader

    def give_back(self, reader: Reader) -> None:
        """Take a reader back that is between two requests."""
        if reader.spent or len(self.spare) >= _SPARE_READERS:
            reader.discard()
        else:
            del reader.front
            self.spare.append(reader)

    def choke(self, front: Connection) -> None:
        """The peer does not take what is written. How long it may do so in a stream is not for the kernel to say."""
        assert self.loop is not None
        self.choked[front] = (self.loop.time(), waiting_bytes(front.transport))
        if front.asgi_turn:
            _limit_silence(front, self.settings.full_timeout_seconds + self.settings.user_timeout_seconds)

    def unchoke(self, front: Connection) -> None:
        """The peer has taken what was written, or is gone."""
        if self.choked.pop(front, None) is not None and front.asgi_turn:
            _limit_silence(front, self.settings.user_timeout_seconds)

    def close_idle(self) -> None:
        """Close every connection that waits for a request."""
        for front in list(self.idle):
            front.end()

    def _tick(self) -> None:
        assert self.loop is not None
        self.now = now = self.loop.time()
        self.server_state.default_headers = [(b"date", self.heads.strike())]
        self.timer = self.loop.call_later(self.tick_seconds, self._tick)
        self._close_overdue(now)

    def _close_overdue(self, now: float) -> None:
        settings = self.settings
        due = now - settings.keep_alive_seconds - self.tick_seconds  # never early, though the clock is coarse
        overdue = []
        for front in self.idle:
            if front.since > due:
                break
            overdue.append(front)
        for front in self.reading:
            reader = front.reader
            busy = front.turn is not None or front.asgi_turn
            if reader is None or (busy and not reader.live) or front.reading_paused():
                continue  # the peer waits for us, not we for it
            if reader.message is None:
                late = now - reader.begun_at >= settings.head_timeout_seconds
            else:
                late = now - reader.fed_at >= settings.body_timeout_seconds
            if late:
                overdue.append(front)
        for front in overdue:
            front.end()
        self._cut_off_full(now)

    def _cut_off_full(self, now: float) -> None:
        for front, (since, waiting) in list(self.choked.items()):
            waits_now = waiting_bytes(front.transport)
            if waits_now < waiting:
                self.choked[front] = (now, waits_now)
            elif now - since >= self.settings.full_timeout_seconds:
                front.abort()


def _limit_silence(front: Connection, seconds: float) -> None:
    """How long the kernel waits for a peer, also for one that is alive and does not read (Linux)."""
    connection = front.transport.get_extra_info("socket")
    if connection is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
        with contextlib.suppress(OSError):  # it is closed already
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
