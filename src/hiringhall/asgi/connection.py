"""The life of a connection: made, refused, lost, closed; who is told that a peer left, and that an answer was lost."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, ClassVar, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from hiringhall.asgi.answers import new_request_id, render
from hiringhall.asgi.delivery import undelivered
from hiringhall.asgi.front_state import FrontState
from hiringhall.asgi.hot_exchange import Call, HotExchange, call
from hiringhall.asgi.incoming import Incoming, Reader
from hiringhall.asgi.uvicorn_side import UvicornSide
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Reply

_POLITE_REFUSALS: Final = 64
"""So many connections over the limit are told so; more are closed without a word."""


class Connection(UvicornSide):
    """Everything about a connection but the requests on it."""

    __slots__ = (
        "asgi_turn", "backlog", "choked", "closing", "fault", "feeding", "held_bytes", "lost", "queue", "reader",
        "since", "turn",
    )  # fmt: skip

    state: ClassVar[FrontState]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        if self.config is not config or self.server_state is not server_state:
            self.prepare(config, server_state, app_state)
        self.turn: HotExchange | None = None
        """The exchange that is being answered."""
        self.asgi_turn = False
        """The ASGI application is answering."""
        self.reader: Reader | None = None
        """Only in the middle of a request."""
        self.queue: deque[Incoming] | None = None
        """Complete requests that wait for their turn."""
        self.backlog = b""
        """What came after them, unread."""
        self.fault: str | None = None
        """What was wrong with the bytes after the last good request."""
        self.lost: Call | None = None
        """To be called if the last answer turns out not to have arrived."""
        self.choked = False
        """The peer does not take what is written."""
        self.closing = False
        self.held_bytes = 0
        """What large bodies take that are being received or wait for their turn."""
        self.feeding = False
        """The parser is running: what is left to do is done when it returns."""
        self.since = -1.0
        """Idle since then; negative if not idle."""

    @classmethod
    def prepare(cls, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        """Make the class ready for connections in the running loop; the first one does it if nobody else did."""
        cls.bind(config, server_state, app_state)
        cls.state.start(asyncio.get_running_loop(), server_state)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.connections.add(self)
        self.rest()
        over = len(self.connections) - self.state.max_connections
        if over > _POLITE_REFUSALS:
            self.abort()
        elif over > 0:
            detail = "All connections of the hall are taken; try again soon."
            self.refuse(refusal("unavailable", detail, headers=((b"retry-after", b"5"),)))

    def connection_lost(self, exc: Exception | None) -> None:
        self.forget()
        self.state.unchoke(self)
        self.peer_left()
        if exc is not None:
            self.not_delivered()
        self.lost = None
        reader, self.reader = self.reader, None
        if reader is not None:
            reader.discard()
        super().connection_lost(exc)

    def eof_received(self) -> None:
        if self.lost is not None and undelivered(self.transport):
            self.not_delivered()
        self.peer_left()

    def shutdown(self) -> None:
        """The answer being made is the last one; idle connections are the server's business."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False

    def end(self) -> None:
        """Close now; what the peer does not take is not waited for."""
        if self.transport.get_write_buffer_size() > 0:
            self.abort()
        else:
            self.close()

    def abort(self) -> None:
        """Close now, without a farewell."""
        if self.lost is not None and undelivered(self.transport):
            self.not_delivered()
        self.forget()
        self.transport.abort()

    def close(self) -> None:
        """Close after what was written has been sent; a request that is half read is read on and dropped meanwhile."""
        self.forget()
        if self.reader is not None and self.reader.begun and not self.transport.is_closing():
            self._linger()
        else:
            self.transport.close()

    def refuse(self, reply: Reply) -> None:
        """Answer something that is no request, and close."""
        opening = self.state.heads.opening(reply.status)
        self.transport.write(render(opening, reply, new_request_id(), head_only=False, close=True))
        self.forget()
        self._linger()

    def _linger(self) -> None:
        """Close for writing only: closing with unread bytes would reset the connection and take the answer with it."""
        self.disconnect_asgi()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(self.state.settings.linger_seconds, self.transport.abort)

    def rest(self) -> None:
        """Count as idle from now on, unless a request is being answered."""
        state = self.state
        state.reading.pop(self, None)
        state.idle.pop(self, None)
        if self.turn is None and not self.asgi_turn and not self.closing:
            self.since = state.now
            state.idle[self] = None
        else:
            self.since = -1.0

    def forget(self) -> None:
        """Take no more requests."""
        self.closing = True
        self.queue = None
        self.backlog = b""
        if self.held_bytes:
            self.let_go_body(self.held_bytes)
        self.since = -1.0
        self.state.idle.pop(self, None)
        self.state.reading.pop(self, None)

    def let_go_body(self, count: int) -> None:
        """So much of large bodies is held no longer."""
        self.held_bytes -= count
        self.state.bodies.held_bytes -= count
        if self.closing and self.reader is not None and self.reader.message is not None:
            self.reader.message.drop_body()

    def peer_left(self) -> None:
        """Nobody waits for the answer any more."""
        self.forget()
        exchange, self.turn = self.turn, None
        if exchange is not None:
            exchange.front = None
            exchange.gone = True
            when_gone, exchange.when_gone = exchange.when_gone, None
            call(when_gone)

    def not_delivered(self) -> None:
        """Tell who gave the last answer that it did not arrive."""
        lost, self.lost = self.lost, None
        call(lost)
