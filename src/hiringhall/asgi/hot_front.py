"""The HTTP protocol of the hall's listeners: worker routes without ASGI, everything else through uvicorn.

For a path that the router knows there is no scope and no task: its handler is called when the request is complete.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

import httptools

from hiringhall.asgi.answers import CONTINUE, new_request_id, render
from hiringhall.asgi.bodies import FREE_BYTES, counted, too_many
from hiringhall.asgi.connection import Connection
from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.front_state import FrontState
from hiringhall.asgi.hot_exchange import Call, HotExchange, Several, call, too_large
from hiringhall.asgi.incoming import Incoming, Malformed, Reader
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Reply, Router

logger = logging.getLogger("hiringhall")

_HEAD_SLICE_BYTES: Final = 4096
_BODY_SLICE_BYTES: Final = 65536
_BACKLOG_FACTOR: Final = 16
"""How far over its limit a backlog may grow while the application keeps reading going."""


class HotFront(Connection):
    """One connection. Make a class of your own per listener with `front_class`.

    One request at a time: what a client pipelines waits, first as complete requests, then as bytes, then in the kernel.
    """

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        if self.closing or self.fault is not None:
            return
        if not self.choked:  # a request that comes while the answer before it is stuck proves nothing
            self.lost = None
        reader = self.reader
        free = self.turn is None and not self.asgi_turn and not self.choked
        if (free or (reader is not None and reader.live)) and not self.backlog:
            self._feed(data)
            if self.queue or self.backlog or self.fault is not None:
                self._advance()
            return
        self.backlog += data
        self._hold_back()

    def pause_writing(self) -> None:
        self.choked = True
        self.state.choke(self)
        if self.flow is not None:
            self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.choked = False
        self.state.unchoke(self)
        if self.flow is not None:
            self.flow.resume_writing()
        if not self.closing:
            self.loop.call_soon(self._advance)

    # -- reading --

    def _busy(self) -> bool:
        """The next request has to wait."""
        return self.turn is not None or self.asgi_turn or self.choked or bool(self.queue)

    def _feed(self, data: bytes) -> None:
        """Parse until the data ends or a request needs the connection for itself."""
        reader = self.reader
        if reader is None:
            reader = self.reader = self.state.take_reader(self)
        self.feeding = True
        try:
            if len(data) <= _HEAD_SLICE_BYTES:
                reader.parser.feed_data(data)
            else:
                self._feed_slices(reader, data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgraded(reader, data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._malformed(reader, error)
        finally:
            self.feeding = False
        if self.reader is reader:
            self._fed(reader, len(data))

    def _feed_slices(self, reader: Reader, data: bytes) -> None:
        view = memoryview(data)
        start = 0
        while start < len(data):
            size = _HEAD_SLICE_BYTES if reader.message is None else _BODY_SLICE_BYTES
            try:
                reader.parser.feed_data(view[start : start + size])
            except httptools.HttpParserUpgrade as upgrade:
                raise httptools.HttpParserUpgrade(start + upgrade.args[0]) from None
            start += size
            if self.closing or not self._head_fits(reader, size):
                return
            if self._busy() and not reader.live:
                self.backlog = data[start:]
                self._hold_back()
                return

    def _fed(self, reader: Reader, count: int) -> None:
        state = self.state
        if not reader.begun:
            self.reader = None
            state.give_back(reader)
            if self.since != state.now or self.turn is not None or self.asgi_turn:
                self.rest()
            return
        if count <= _HEAD_SLICE_BYTES and not self._head_fits(reader, count):
            return
        if not self.closing and self.fault is None:
            reader.fed_at = state.now
            self.since = -1.0
            state.idle.pop(self, None)
            state.reading[self] = None

    def _head_fits(self, reader: Reader, count: int) -> bool:
        """Count what a head that is not complete has taken so far."""
        if not reader.begun or reader.message is not None:
            return True
        reader.head_bytes += count
        limit = self.state.settings.head_limit_bytes
        if reader.head_bytes <= limit:
            return True
        self._fail(f"the headers are larger than {limit} bytes")
        return False

    def _hold_back(self) -> None:
        limit = self.state.settings.backlog_limit_bytes
        if len(self.backlog) > limit * _BACKLOG_FACTOR:
            self.end()
        elif len(self.backlog) > limit:
            self.pause_reading()

    def head_complete(self, reader: Reader, message: Incoming) -> None:
        """The reader knows where a request is going; its body follows."""
        if self.closing or self._busy():
            return
        if message.route is None:
            reader.live = True
            self._start_asgi(message)
        elif message.expects:
            self._invite(message, message.route.body_limit_bytes)

    def body_came(self, message: Incoming, piece: bytes) -> None:
        """A piece of a body that is not passed on at once."""
        if self.closing:
            return
        drop_limit = self.state.settings.drop_limit_bytes
        limit = drop_limit if message.route is None else message.route.body_limit_bytes
        message.add(piece, limit)
        if message.size > FREE_BYTES:
            self._count_body(message.size - len(piece), message, limit)
        if message.size <= limit or self._busy():
            return
        if message.size > drop_limit or message.declared_bytes() > drop_limit:
            self._refuse_body(message, too_large(limit))

    def _count_body(self, before: int, message: Incoming, limit_bytes: int) -> None:
        """A large body has grown. While an answer is due first, no more than a slice of the next body is read."""
        bodies = self.state.bodies
        self.let_go_body(counted(before, limit_bytes))
        count = counted(message.size, limit_bytes)
        self.held_bytes += count
        bodies.held_bytes += count
        if not count or self._busy():
            return
        if before <= FREE_BYTES and _lacks_token(message):
            self._refuse_early(message)
        elif bodies.held_bytes > bodies.limit_bytes:
            self._refuse_body(message, too_many())

    def _hand_on(self, message: Incoming) -> None:
        """A body is no longer being received."""
        route = message.route
        limit = self.state.settings.drop_limit_bytes if route is None else route.body_limit_bytes
        self.let_go_body(counted(message.size, limit))

    def request_complete(self, message: Incoming) -> None:
        """A request has been read to its end."""
        if self.closing:
            return
        if not self._busy():
            self._begin(message)
        elif self.queue is None:
            self.queue = deque((message,))
        else:
            self.queue.append(message)

    def _advance(self) -> None:
        """Go on with what waited while a request was being answered."""
        while self.turn is None and not self.asgi_turn and not self.choked and not self.closing:
            if self.queue:
                self._begin(self.queue.popleft())
            elif self.fault is not None:
                self.refuse(refusal("malformed_request", self.fault))
            else:
                if self.reader is not None:
                    self._catch_up(self.reader)
                if not self.backlog:
                    break
                data, self.backlog = self.backlog, b""
                self._feed(data)
        if not self.asgi_turn and len(self.backlog) <= self.state.settings.backlog_limit_bytes and not self.closing:
            self.resume_reading()

    def _catch_up(self, reader: Reader) -> None:
        """Do for a request that is half read what had to wait for its turn."""
        message = reader.message
        if message is None or reader.live:
            return
        if message.route is not None:
            if message.expects and message.size == 0:
                message.expects = False
                self._invite(message, message.route.body_limit_bytes)
            return
        reader.live = True
        if message.size > FREE_BYTES:
            self._hand_on(message)
        self._start_asgi(message)
        message.close_body()
        if message.body:
            self.on_body(message.body)

    # -- answering --

    def _begin(self, message: Incoming) -> None:
        route = message.route
        if message.size > FREE_BYTES:
            self._hand_on(message)
        if route is None:
            self._start_asgi(message)
            if message.body:
                self.on_body(message.body)
            self.on_message_complete()
            return
        exchange = HotExchange(message, self)
        self.turn = exchange
        if message.size > route.body_limit_bytes:
            exchange.answer(too_large(route.body_limit_bytes))
            return
        try:
            route.handler(exchange)
        except Exception:  # noqa: BLE001 - a bug in a handler ends one request only
            self._bug(exchange)

    def send_answer(self, exchange: HotExchange, reply: Reply, lost: Call | None) -> None:
        """Write the answer of the exchange whose turn it is."""
        state = self.state
        message = exchange.request
        close = state.draining or not message.keep_alive
        data = render(
            state.heads.opening(reply.status),
            reply,
            message.request_id or new_request_id(),
            head_only=message.method == b"HEAD",
            close=close,
        )
        exchange.front = None
        self.turn = None
        self.server_state.total_requests += 1
        transport = self.transport
        if transport.is_closing():
            if lost is not None:
                self.loop.call_soon(call, lost)
            return
        if lost is not None:
            before = self.lost
            if type(before) is Several:
                before.calls.append(lost)
            else:
                self.lost = lost if before is None else Several(before, lost)
        transport.write(data)
        if close:
            self.close()
        elif not self.feeding:
            self._after_answer()

    def _after_answer(self) -> None:
        if self.queue or self.backlog or self.reader is not None or self.fault is not None:
            self.loop.call_soon(self._advance)
        if self.reader is None:
            self.rest()

    def _bug(self, exchange: HotExchange) -> None:
        message = exchange.request
        message.request_id = message.request_id or new_request_id()
        shown = message.request_id.decode("ascii")
        logger.exception("a bug while answering %s %s (request id %s)", message.method, message.path, shown)
        if exchange.front is not None:
            exchange.when_gone = None
            exchange.answer(refusal("internal_error", f"A bug in the hall; its log tells more under {shown}."))

    def _fail(self, what: str) -> None:
        """Refuse what was read, after what came before it has been answered."""
        self.backlog = b""
        self.fault = f"Not a valid HTTP request: {what}."
        if not self._busy() and not self.closing:
            self.refuse(refusal("malformed_request", self.fault))

    def _malformed(self, reader: Reader, error: httptools.HttpParserError) -> None:
        reader.spent = True
        cause = error.__context__
        if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(cause, Malformed):
            logger.error("a bug while reading a request", exc_info=error)
        if reader.live:
            self.end()  # the application is reading this very request: it sees a disconnect
        else:
            self._fail(str(cause if isinstance(cause, Malformed) else error))

    def _refuse_body(self, message: Incoming, reply: Reply) -> None:
        message.keep_alive = False
        self.turn = HotExchange(message, self)
        self.turn.answer(reply)

    def _refuse_early(self, message: Incoming) -> None:
        """Have a request refused whose large body matters no more, and close."""
        message.keep_alive = False
        message.drop_body()
        exchange = self.turn = HotExchange(message, self)
        route = message.route
        assert route is not None
        try:
            route.handler(exchange)
        except Exception:  # noqa: BLE001 - a bug in a handler ends one request only
            self._bug(exchange)
        if exchange.front is not None:
            self.end()

    def _invite(self, message: Incoming, limit_bytes: int) -> None:
        declared = message.declared_bytes()
        if declared > limit_bytes:
            self._refuse_body(message, too_large(limit_bytes))
        elif declared > FREE_BYTES and _lacks_token(message):
            self._refuse_early(message)
        else:
            self.transport.write(CONTINUE)

    # -- the ASGI side --

    def _start_asgi(self, message: Incoming) -> None:
        self.asgi_turn = True
        self.start_asgi(message, last=self.state.draining)

    def on_response_complete(self) -> None:
        """The application has answered."""
        self.server_state.total_requests += 1
        self.asgi_turn = False
        if self.transport.is_closing():
            self.forget()
            return
        if not self.backlog:
            self.resume_reading()
        self._after_answer()

    def upgrades(self, message: Incoming) -> bool:
        """Whether a wish for another protocol is granted: WebSocket only, and only if nothing else is under way."""
        free = self.ws_protocol_class is not None and not self._busy() and not self.closing
        return free and message.is_websocket_handshake()

    def _upgraded(self, reader: Reader, rest: bytes) -> None:
        if reader.upgraded:
            self.forget()
            self.reader = None
            reader.discard()
            self.asgi_turn = False
            self.handle_websocket_upgrade()
        else:
            self._feed(reader.head_without_upgrade() + rest)


def _lacks_token(message: Incoming) -> bool:
    """Whether a request is going to be refused whatever its body is."""
    route = message.route
    return route is not None and route.needs_token and message.header(b"authorization") is None


def front_class(router: Router, settings: FrontSettings | None = None) -> type[HotFront]:
    """The protocol class of one listener, to be given to uvicorn as `http=`."""
    state = FrontState(router, settings or FrontSettings())
    return type("HotFront", (HotFront,), {"__slots__": (), "state": state})
