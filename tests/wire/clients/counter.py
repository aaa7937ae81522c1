"""A hall at whose counter clients make calls, which workers of the same hall answer; on a store of any kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from hiringhall.auth.credentials import made_secret
from hiringhall.config import Settings
from hiringhall.operations.recheck import Recheck
from hiringhall.ports.identity import PutClient
from hiringhall.ports.store import Store
from hiringhall.wire.chain import Chain
from hiringhall.wire.clients.feedback import FeedbackApplication
from hiringhall.wire.clients.routes import clients_router
from tests.operations.parts import OPERATOR, Conversation, HeldUpStore
from tests.waiting import until_async
from tests.wire.services.bureau import SERVICE, Bureau, ServiceWorker

ON_THE_MODEL = pytest.mark.parametrize("made", ["model"], indirect=True)
"""For what is decided before any store is asked."""


class Counter(Bureau):
    """A bureau with a counter for clients."""

    def __init__(self, store: HeldUpStore, settings: Settings) -> None:
        super().__init__(store, settings)
        self.router = Chain(self.router, clients_router(self.hall))
        self.app = FeedbackApplication(self.hall, _nothing_else)
        self.rechecking = Recheck(self.hall)

    async def client(self, name: str = "shop", *allow: str) -> Client:
        """A client that may call what these patterns permit, or all of the usual service."""
        told, spare = made_secret()
        patterns = json.dumps(allow or [f"{SERVICE}/*"])
        put = await self.hall.coalescer.one(PutClient(name, spare=spare, allow=patterns))
        assert put.created
        form = {"grant_type": "client_credentials", "client_id": name, "client_secret": told}
        body = await self.send("POST", "/client/auth_token", urlencode(form).encode()).json()
        return Client(self, name, body["access_token"])

    def operator(self) -> Client:
        """The client that the operator's token is."""
        return Client(self, "operator", OPERATOR)

    async def following(self, count: int) -> None:
        """Wait until so many clients wait for news of calls."""

        async def so_many() -> bool:
            return len(self.hall.followers) == count

        await until_async(so_many, waiting_for=f"{count} followers")

    async def settle_down(self) -> None:
        """Let all that is under way come to its end, also looks at calls."""
        await super().settle_down()

        async def nobody_looks() -> bool:
            return self.hall.followers._task is None

        await until_async(nobody_looks, waiting_for="the end of a look at calls")


async def _nothing_else(_scope: Any, _receive: Any, _send: Any) -> None:
    raise AssertionError("this path is the feedback's")


class Client:
    """A client with a token."""

    def __init__(self, made: Counter, name: str, token: str) -> None:
        self.made = made
        self.name = name
        self.token = token

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Conversation:
        """Send a request. Underscores in the names of headers stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.made.send(method, f"/client/{path}", body, self.token, named)

    def call(
        self, method: str = f"{SERVICE}/hello", params: object = None, *, key: str | None = None, **members: Any
    ) -> Conversation:
        """Call a method; the answer may take its time."""
        headers = {} if key is None else {"Idempotency_Key": key}
        return self.send("POST", "requests", {"method": method, "params": params, **members}, **headers)

    async def made_call(self, method: str = f"{SERVICE}/hello", params: object = None, **members: Any) -> str:
        """A call that is queued; returns its id."""
        body = await self.call(method, params, **members).json(202)
        assert body["status"] == "queued"
        return str(body["request_id"])

    def show(self, request_id: str, query: str = "") -> Conversation:
        """Ask how a call stands."""
        return self.send("GET", f"requests/{quote(request_id, safe='')}{query}")

    async def status(self, request_id: str) -> str:
        """How a call stands that has no outcome."""
        return str((await self.show(request_id).json(202))["status"])

    def withdraw(self, request_id: str) -> Conversation:
        """Take a call back."""
        return self.send("DELETE", f"requests/{quote(request_id, safe='')}")

    def follow(self, request_id: str, last: str | None = None, method: str = "GET") -> Stream:
        """Follow a call."""
        headers = [(b"authorization", f"Bearer {self.token}".encode())]
        if last is not None:
            headers.append((b"last-event-id", last.encode()))
        return Stream(self.made, f"/client/requests/{quote(request_id, safe='')}/feedback", headers, method)


async def answered(worker: ServiceWorker, request_id: str, status: str = "success", **members: Any) -> None:
    """The worker drains and answers the call."""
    assert request_id in await worker.ids()
    await worker.respond(request_id, status, **members).json()


class Stream:
    """A stream of events as an ASGI server sees it, whose reader can leave."""

    def __init__(self, made: Counter, path: str, headers: list[tuple[bytes, bytes]], method: str) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = b""
        self._changed = asyncio.Event()
        self._left = asyncio.Event()
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": headers,
        }  # fmt: skip
        self.task = asyncio.ensure_future(made.app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        self.text += message.get("body", b"")

    def leave(self) -> None:
        """The reader goes away."""
        self._left.set()

    @property
    def events(self) -> list[dict[str, str]]:
        """The whole events so far, field by field."""
        blocks = [block for block in self.text.decode().split("\n\n")[:-1] if not block.startswith(":")]
        return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]  # type: ignore[misc]

    async def came(self, count: int) -> list[dict[str, str]]:
        """The events, once there are so many."""

        async def so_many() -> bool:
            return len(self.events) >= count

        await until_async(so_many, waiting_for=f"{count} events")
        return self.events

    async def ended(self) -> list[dict[str, str]]:
        """The events, once the stream has ended."""
        await asyncio.wait_for(self.task, 5)
        return self.events

    async def refused(self, status: int) -> str:
        """The code with which it was refused."""
        await asyncio.wait_for(self.task, 5)
        assert self.status == status, self.text
        return str(json.loads(self.text)["error_code"])


@asynccontextmanager
async def counter(store: Store, kind: type[Counter] = Counter, **settings: Any) -> AsyncIterator[Counter]:
    """A counter that is closed in the end."""
    made = kind(HeldUpStore(store), Settings(data="unused", **settings))
    try:
        yield made
    finally:
        made.store.away = False
        made.store.go_on()
        await made.hall.close()
