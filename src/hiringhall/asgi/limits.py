"""The limit on request bodies of an ASGI application: too large ones are refused, and nothing of them is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from hiringhall.asgi.answers import VISIBLE, full_headers, new_request_id
from hiringhall.asgi.front_settings import FrontSettings
from hiringhall.asgi.hot_exchange import too_large
from hiringhall.wire.exchange import Reply

_CLOSE: Final = (b"connection", b"close")


class BodyLimit:
    """An ASGI application around another, which answers 413 when a body is larger than `limit_bytes(path)`.

    What the application then still sends is dropped; to it the client has gone away.
    """

    def __init__(self, app: Any, limit_bytes: Callable[[str], int], settings: FrontSettings | None = None) -> None:
        self.app = app
        self.limit_bytes = limit_bytes
        self.settings = settings or FrontSettings()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = LimitedBody(scope, receive, self.limit_bytes(scope["path"]), self.settings)
        if body.too_large:
            await body.refuse(send)
            return
        started = False

        async def guarded_send(message: Any) -> None:
            nonlocal started
            if not body.too_large or started:
                started = True
                await send(message)

        try:
            await self.app(scope, body.receive, guarded_send)
        except Exception:
            if started or not body.too_large:
                raise
        if body.too_large and not started:
            await body.refuse(send)


class LimitedBody:
    """The body of one request, of which no more than the limit is ever kept."""

    def __init__(self, scope: Any, receive: Any, limit_bytes: int, settings: FrontSettings) -> None:
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"0")
        self._receive = receive
        self._limit_bytes = limit_bytes
        self._settings = settings
        self._expects = headers.get(b"expect", b"").lower() == b"100-continue"
        self._declared = int(declared) if declared.isdigit() else 0
        self._seen = 0
        self._ended = False
        self.too_large = self._declared > limit_bytes
        given = headers.get(b"x-request-id", b"")
        self.request_id = given if VISIBLE(given) else new_request_id()

    async def receive(self) -> Any:
        """What the application receives: the request, cut off by a disconnect once it is too large."""
        if self.too_large:
            return {"type": "http.disconnect"}
        message = await self._next()
        if self.too_large:
            return {"type": "http.disconnect"}
        return message

    async def read(self) -> bytes | None:
        """The whole body; None if it is too large or the client went away."""
        pieces = []
        while not self._ended and not self.too_large:
            message = await self._next()
            pieces.append(message.get("body", b""))
        complete = self._ended and not self.too_large and self._seen >= 0
        return b"".join(pieces) if complete else None

    async def refuse(self, send: Any) -> None:
        """Read on and drop, then answer 413; beyond what is worth reading, answer at once and close."""
        drop_limit = self._settings.drop_limit_bytes
        reads = self._declared <= drop_limit and not self._expects
        while reads and not self._ended and self._seen <= drop_limit:
            await self._next()
        if self._seen < 0:
            return
        reply = too_large(self._limit_bytes)
        if self._ended:
            await send_reply(send, reply, self.request_id)
            return
        await send_reply(send, reply, self.request_id, extra=(_CLOSE,), more_body=True)
        if not self._expects:
            try:
                async with asyncio.timeout(self._settings.linger_seconds):
                    while not self._ended:
                        await self._next()
            except TimeoutError:
                pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> Any:
        message = await self._receive()
        if message["type"] != "http.request":
            self._ended = True
            self._seen = -1
            return message
        self._seen += len(message.get("body", b""))
        if self._seen > self._limit_bytes:
            self.too_large = True
        self._ended = not message.get("more_body", False)
        return message


async def send_reply(
    send: Any,
    reply: Reply,
    request_id: bytes,
    *,
    extra: tuple[tuple[bytes, bytes], ...] = (),
    more_body: bool = False,
    head_only: bool = False,
) -> None:
    """Send a reply as ASGI messages."""
    headers = [*full_headers(reply, request_id), *extra]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if head_only else reply.body
    await send({"type": "http.response.body", "body": body, "more_body": more_body})
