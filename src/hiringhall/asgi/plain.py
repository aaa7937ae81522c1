"""The same handlers behind any ASGI server: for tests, and where the hot front cannot be.

A task and a scope per request make it several times dearer, and a lost answer is noticed only if the server says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.hot_exchange import call
from hiringhall.asgi.limits import LimitedBody, send_reply
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Reply, Request, Route, Router

logger = logging.getLogger("hiringhall")


class PlainExchange(Exchange):
    """An exchange whose answer a task waits for."""

    __slots__ = ("_answered", "_peer", "lost")

    def __init__(self, request: Request, answered: asyncio.Future[Reply], peer: str = "") -> None:
        super().__init__(request)
        self._peer = peer
        self._answered = answered
        self.lost: Callable[[], None] | None = None

    def peer(self) -> str:
        return self._peer

    def answer(self, reply: Reply, lost: Callable[[], None] | None = None) -> None:
        if not self.gone and not self._answered.done():
            self.lost = lost
            self._answered.set_result(reply)
            return
        if not self.gone:
            logger.error("a second answer to %s %s was dropped", self.request.method, self.request.path)
        if lost is not None:
            asyncio.get_running_loop().call_soon(call, lost)

    def answered(self) -> bool:
        return self._answered.done()

    def leave(self) -> None:
        """The peer went away."""
        if not self.gone and not self._answered.done():
            self.gone = True
            when_gone, self.when_gone = self.when_gone, None
            call(when_gone)


class PlainFront:
    """An ASGI application: the router's paths go to their handlers, everything else to the application inside."""

    def __init__(self, router: Router, app: Any, settings: FrontSettings | None = None) -> None:
        self.router = router
        self.app = app
        self.settings = settings or FrontSettings()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            path = scope.get("raw_path") or quote(scope["path"]).encode("ascii")
            route = self.router.match(scope["method"].encode("ascii"), path)
            if route is not None:
                await self._serve(route, path, scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _serve(self, route: Route, path: bytes, scope: Any, receive: Any, send: Any) -> None:
        body = LimitedBody(scope, receive, route.body_limit_bytes, self.settings)
        content = await body.read()
        if content is None:
            if body.too_large:
                await body.refuse(send)
            return
        request = Request(
            method=scope["method"].encode("ascii"),
            path=path,
            query=scope["query_string"],
            headers=[(bytes(name), bytes(value)) for name, value in scope["headers"]],
            body=content,
        )
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        client = scope.get("client")
        exchange = PlainExchange(request, answered, client[0] if client else "")
        try:
            _handle(route, exchange, body.request_id)
            if not answered.done():
                await _until_answered_or_gone(exchange, answered, receive)
        except asyncio.CancelledError:
            exchange.leave()
            raise
        if answered.done():
            await _send(exchange, answered.result(), body.request_id, send)


def _handle(route: Route, exchange: PlainExchange, request_id: bytes) -> None:
    try:
        route.handler(exchange)
    except Exception:
        shown = request_id.decode("ascii")
        request = exchange.request
        logger.exception("a bug while answering %s %s (request id %s)", request.method, request.path, shown)
        exchange.when_gone = None
        if not exchange.answered():
            exchange.answer(refusal("internal_error", f"A bug in the hall; its log tells more under {shown}."))


async def _until_answered_or_gone(exchange: PlainExchange, answered: asyncio.Future[Reply], receive: Any) -> None:
    watch = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((answered, watch), return_when=asyncio.FIRST_COMPLETED)
    finally:
        watch.cancel()
        await asyncio.wait((watch,))
    exchange.leave()


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(exchange: PlainExchange, reply: Reply, request_id: bytes, send: Any) -> None:
    try:
        await send_reply(send, reply, request_id, head_only=exchange.request.method == b"HEAD")
    except OSError:  # how ASGI servers tell that the client is gone
        call(exchange.lost)
