"""`GET /client/requests/{request_id}/feedback`: Server-Sent Events, one for each item, and one for the outcome.

An ASGI application around another. What is written waits for the reader: a stream holds one page of items at most, and
reads the next when the one before has gone out.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.invoke import Inquiry
from hiringhall.ports.calls import FeedbackRow, ReadFeedback, RequestView
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.clients.answers import feedback_item, outcome
from hiringhall.wire.clients.call import ClientCall
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Reply, Request
from hiringhall.wire.json_bodies import invalid

PATH: Final = "/client/requests/{request_id}/feedback"
IS_PATH: Final = re.compile(rb"/client/requests/[^/]+/feedback").fullmatch
METHOD: Final = "GET"
COMMENT_SECONDS: Final = 15.0
AGAIN_SECONDS: Final = 1.0
"""So long after it was in vain the database is asked again."""
COMMENT: Final = b": still there\n\n"
PAGE_ITEMS: Final = (8, 200)
PAGE_BYTES: Final = 256 * 1024
"""A page that is longer is followed by a shorter one."""
PIECE_BYTES: Final = 16 * 1024
"""Events are written together up to this length."""
NUMBER: Final = re.compile(rb"[0-9]{1,15}").fullmatch
REQUEST_ID: Final = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch
NO_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")
"""Between the tokens of a JSON text line breaks mean as much as spaces, and within its texts they are escaped."""


class FeedbackApplication:
    """Serves the streams, and leaves all else to the application inside."""

    def __init__(self, hall: Hall, app: Any) -> None:
        self._hall = hall
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
            if IS_PATH(path):
                await self._serve(path, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _serve(self, path: bytes, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope["method"].encode(), path, scope["query_string"], scope["headers"])
        given = request.header(b"x-request-id") or b""
        headers = [
            (b"cache-control", b"no-store"),
            (b"x-request-id", given if REQUEST_ID(given) else secrets.token_hex(8).encode()),
        ]
        decided = await self._decide(request)
        if isinstance(decided, Reply):
            headers += [(b"content-type", b"application/json"), *decided.headers]
            headers.append((b"content-length", str(len(decided.body)).encode()))
            await send({"type": "http.response.start", "status": decided.status, "headers": headers})
            await send({"type": "http.response.body", "body": decided.body, "more_body": False})
            return
        headers += [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _Stream(self._hall, decided, receive, send).run()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _decide(self, request: Request) -> Reply | _Wish:
        if request.method != METHOD.encode():
            return refusal("method_not_allowed", f"this path knows {METHOD}", headers=((b"allow", METHOD.encode()),))
        decided: asyncio.Future[Reply | _Wish] = self._hall.loop.create_future()

        def decide(what: Reply | _Wish) -> None:
            if not decided.done():
                decided.set_result(what)

        _FollowCall(self._hall, _Answered(request, decide), decide).start()
        return await decided


class _Wish:
    """Which call is to be followed by which login, and the number of the last item that the reader has seen."""

    __slots__ = ("after", "request_id", "session")

    def __init__(self, request_id: str, after: int, session: str) -> None:
        self.request_id = request_id
        self.after = after
        self.session = session


class _Answered(Exchange):
    """An exchange whose answer goes to whoever asked for it."""

    __slots__ = ("_answered",)

    def __init__(self, request: Request, answered: Callable[[Reply], None]) -> None:
        super().__init__(request)
        self._answered = answered

    def answer(self, reply: Reply, lost: Callable[[], None] | None = None) -> None:
        del lost  # nothing follows from a refusal that did not arrive
        self._answered(reply)


class _FollowCall(ClientCall):
    """Finds out who wants to follow which call from where."""

    __slots__ = ("_granted", "_wish")

    def __init__(self, hall: Hall, exchange: Exchange, granted: Callable[[_Wish], None]) -> None:
        super().__init__(hall, exchange)
        self._granted = granted

    def admitted(self) -> None:
        """It is known who calls."""
        request_id = self.request_id()
        last = (self.exchange.request.header(b"last-event-id") or b"").strip()
        if isinstance(request_id, Refused):
            self.refuse(request_id)
        elif last and not NUMBER(last):
            self.refuse(invalid("Last-Event-ID", "must be the id of an event"))
        else:
            self._wish = _Wish(request_id, int(last or 0), self.identity.session)
            Inquiry(self.hall, self, self.sees, request_id, 0.0).look()

    def ended(self, _view: RequestView) -> None:
        """The call has an outcome, which ends the stream."""
        self._granted(self._wish)

    def pending(self, _request_id: str, _status: str) -> None:
        """The call goes on."""
        self._granted(self._wish)

    def refused(self, refused: Refused) -> None:
        """There is no such call."""
        self.refuse(refused)


class _Stream:
    """One stream, from its first event to its last. Follows its call."""

    def __init__(self, hall: Hall, wish: _Wish, receive: Any, send: Any) -> None:
        self._hall = hall
        self._receive = receive
        self._send = send
        self._view: RequestView | None = None
        self._over = hall.draining
        """The reader went away, or the process is about to end."""
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        self._after = wish.after
        """The number of the last item that was sent."""
        self._limit = PAGE_ITEMS[0]
        self._piece = bytearray()
        self._written_at = hall.time()
        self.request_id = wish.request_id
        self.session = wish.session

    async def run(self) -> None:
        """Send events until there are no more, or nobody reads them."""
        followers = self._hall.followers
        followers.follow(self)
        followers.look(self.request_id)
        watch = asyncio.ensure_future(self._until_gone())
        try:
            await self._flow()
        finally:
            followers.leave(self)
            watch.cancel()
            await asyncio.wait([watch])

    # --- what happens to the call and to the reader

    def news(self, view: RequestView | None) -> None:
        """How the call stands now; one that is gone was kept long enough."""
        self._view = view
        self._over = self._over or view is None
        self._news.set()

    def failed(self, failure: Exception) -> None:
        """It could not be found out. The re-check asks again, and the reader may go on waiting."""

    def end(self) -> None:
        """The process is about to end: the reader comes back with `Last-Event-ID`."""
        self._over = True
        self._gone.set()
        self._news.set()

    def login_ended(self) -> None:
        """Whoever reads may not any more: the stream ends, and to open it again is refused."""
        self.end()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.end()

    # --- the stream

    async def _flow(self) -> None:
        """Send what there is, and wait for more, until there is an outcome."""
        await self._wait_for_news()
        while not self._over and (view := self._view) is not None:
            self._news.clear()
            if view.feedback_count > self._after:
                await self._send_items(view)
            if view.answer is not None:
                await self._event(b"event: outcome\ndata: ", outcome(view))
                await self._flush()
                return
            await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        """Wait, with a comment whenever nothing was written for so long: news is often that all is as before."""
        while not self._news.is_set():
            try:
                async with asyncio.timeout_at(self._written_at + COMMENT_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                await self._write(COMMENT)
        if self._hall.time() >= self._written_at + COMMENT_SECONDS:
            await self._write(COMMENT)

    async def _send_items(self, view: RequestView) -> None:
        """All items that were stored when the call was looked at; those that are kept no more are left out."""
        while not self._over:
            rows = await self._page(view.work)
            size = 0
            for row in rows:
                data = feedback_item(row)
                size += len(data)
                await self._event(b"id: %d\nevent: feedback\ndata: " % row.number, data)
                self._after = row.number
            await self._flush()
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
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_SECONDS):
                        await self._gone.wait()
            else:
                return rows
        return ()

    async def _event(self, head: bytes, data: bytes) -> None:
        self._piece += head + data.translate(NO_BREAKS) + b"\n\n"
        if len(self._piece) >= PIECE_BYTES:
            await self._flush()

    async def _flush(self) -> None:
        piece, self._piece = bytes(self._piece), bytearray()
        if piece:
            await self._write(piece)

    async def _write(self, text: bytes) -> None:
        """Give it to the connection, which lets one whose reader does not read wait until it is cut off."""
        if not self._over:
            await self._send({"type": "http.response.body", "body": text, "more_body": True})
        self._written_at = self._hall.time()
