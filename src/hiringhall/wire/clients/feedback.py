"""`GET /client/requests/{request_id}/feedback`: Server-Sent Events, one for each item, and one for the outcome.

An ASGI application around another. What is written waits for the reader: a stream holds one page of items at most, and
reads the next when the one before has gone out.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Sequence
from typing import Any, Final

from hiringhall.auth.identities import Identity
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.invoke import no_such_call
from hiringhall.ports.calls import FeedbackRow, ReadFeedback, RequestView
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.clients.answers import feedback_item, outcome
from hiringhall.wire.clients.call import CLIENT, failure_of, path_part, refusal_of, whose_calls
from hiringhall.wire.clients.routes import STREAMED, shape_of
from hiringhall.wire.exchange import Reply
from hiringhall.wire.json_bodies import invalid

COMMENT_SECONDS: Final = 15.0
COMMENT: Final = b": still there\n\n"
PAGE_ITEMS: Final = (8, 200)
PAGE_BYTES: Final = 256 * 1024
"""A page that is longer is followed by a shorter one."""
NUMBER: Final = re.compile(r"[0-9]{1,15}").fullmatch
REQUEST_ID: Final = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch
NO_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")
"""Between the tokens of a JSON text line breaks mean as much as spaces, and within its texts they are escaped."""


class FeedbackApplication:
    """Serves the streams, and leaves all else to the application inside."""

    def __init__(self, hall: Hall, app: Any) -> None:
        self._hall = hall
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/client/"):
            path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
            if (scope["method"].encode(), shape_of(path)) == STREAMED:
                await _Stream(self._hall, path, scope, receive, send).serve()
                return
        await self._app(scope, receive, send)


class _Stream:
    """One stream, from its token to its end. Follows its call."""

    def __init__(self, hall: Hall, path: bytes, scope: Any, receive: Any, send: Any) -> None:
        self._hall = hall
        self._path = path
        self._headers = dict(reversed(scope["headers"]))  # of equal names the first counts
        self._receive = receive
        self._send = send
        self._view: RequestView | None = None
        self._problem: Refused | Exception | None = None
        self._over = False
        """The reader went away, or the process is about to end."""
        self._news = asyncio.Event()
        self._after = 0
        """The number of the last item that was sent."""
        self._limit = PAGE_ITEMS[0]
        self.request_id = ""

    async def serve(self) -> None:
        """Answer the request."""
        refused = await self._prepare()
        if isinstance(refused, Refused):
            await self._answer(refusal_of(refused))
            return
        if isinstance(refused, Exception):
            await self._answer(failure_of(self._hall, refused))
            return
        watch = asyncio.ensure_future(self._until_gone())
        try:
            await self._begin()
            await self._flow()
        finally:
            self._hall.followers.leave(self)
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    # --- before the stream

    async def _prepare(self) -> Refused | Exception | None:
        """Find out who wants to follow which call from where; returns why that cannot be."""
        identity = await self._identity()
        if not isinstance(identity, Identity):
            return identity
        request_id = path_part(self._path.split(b"/")[3], "request_id")
        if isinstance(request_id, Refused):
            return request_id
        last = self._headers.get(b"last-event-id", b"").decode("latin-1").strip()
        if last and not NUMBER(last):
            return invalid("Last-Event-ID", "must be the id of an event")
        self._after = int(last or 0)
        self.request_id = request_id
        self._hall.followers.follow(self)
        self._hall.followers.look(request_id)
        await self._news.wait()
        view = self._view
        if self._problem is None and (view is None or whose_calls(identity) not in (None, view.client)):
            self._problem = no_such_call()
        if self._problem is not None:
            self._hall.followers.leave(self)
        return self._problem

    async def _identity(self) -> Identity | Refused | Exception:
        found: asyncio.Future[Identity | Refused | Exception] = self._hall.loop.create_future()

        def done(identity: Identity | Refused | Exception) -> None:
            if not found.done():
                found.set_result(identity)

        self._hall.identities.identify(self._headers.get(b"authorization"), CLIENT, done)
        return await found

    async def _answer(self, reply: Reply) -> None:
        headers = [*self._common_headers(), (b"content-type", b"application/json"), *reply.headers]
        headers.append((b"content-length", str(len(reply.body)).encode()))
        await self._send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": reply.body, "more_body": False})

    def _common_headers(self) -> list[tuple[bytes, bytes]]:
        given = self._headers.get(b"x-request-id", b"")
        return [
            (b"cache-control", b"no-store"),
            (b"x-request-id", given if REQUEST_ID(given) else secrets.token_hex(8).encode()),
        ]

    # --- what happens to the call and to the reader

    def news(self, view: RequestView | None) -> None:
        """How the call stands now; one that is gone was kept long enough."""
        if view is None and self._view is not None:
            self._over = True
        self._view = view or self._view
        self._news.set()

    def failed(self, failure: Exception) -> None:
        """It could not be found out: the re-check asks again, and a reader may go on waiting."""
        if self._view is None:
            self._problem = failure
            self._news.set()

    def end(self) -> None:
        """The process is about to end: the reader comes back with `Last-Event-ID`."""
        self._over = True
        self._news.set()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.end()

    # --- the stream

    async def _begin(self) -> None:
        headers = [*self._common_headers(), (b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _flow(self) -> None:
        """Send what there is, and wait for more, until there is an outcome."""
        while not self._over:
            view = self._view
            assert view is not None
            self._news.clear()
            if view.feedback_count > self._after:
                await self._send_items(view)
            if view.answer is not None:
                await self._send_event(b"event: outcome\ndata: ", outcome(view))
                return
            await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        while not self._news.is_set():
            try:
                async with asyncio.timeout(COMMENT_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                await self._write(COMMENT)

    async def _send_items(self, view: RequestView) -> None:
        """All items that were stored when the call was looked at; those that are kept no more are left out."""
        while not self._over:
            rows = await self._page(view.work)
            size = 0
            for row in rows:
                data = feedback_item(row)
                size += len(data)
                await self._send_event(b"id: %d\nevent: feedback\ndata: " % row.number, data)
                self._after = row.number
            if len(rows) < self._limit:
                break
            least, most = PAGE_ITEMS
            self._limit = max(least, min(most, self._limit * PAGE_BYTES // (size + 1)))
        self._after = max(self._after, view.feedback_count)

    async def _page(self, work: int) -> Sequence[FeedbackRow]:
        while not self._over:
            try:
                rows: list[FeedbackRow] = await self._hall.store.read(ReadFeedback(work, self._after, self._limit))
            except StoreUnavailable:
                self._news.clear()
                await self._wait_for_news()  # of the re-check, which asks until the database is back
            else:
                return rows
        return ()

    async def _send_event(self, head: bytes, data: bytes) -> None:
        await self._write(head + data.translate(NO_BREAKS) + b"\n\n")

    async def _write(self, text: bytes) -> None:
        """Give it to the connection, which lets a reader who does not read wait until it is cut off."""
        if not self._over:
            await self._send({"type": "http.response.body", "body": text, "more_body": True})
