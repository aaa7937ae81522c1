"""A hall with the routes of service workers on a store of any kind, and such workers, driven step by step."""

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
from hiringhall.domain.call import Dispatch
from hiringhall.ports.calls import FeedbackRow, FindRequests, ReadFeedback, RequestView, Submit, Submitted
from hiringhall.ports.identity import PutService
from hiringhall.ports.questions import HistoryLine, ReadHistory
from hiringhall.ports.store import Store
from hiringhall.wire.chain import Chain
from hiringhall.wire.exchange import Reply, Request
from hiringhall.wire.login.routes import login_router
from hiringhall.wire.plans.routes import root_router
from hiringhall.wire.services.routes import services_router
from tests.operations.parts import Conversation, HeldUpStore, Office
from tests.waiting import until_async

SERVICE = "kiwi"
on_databases = pytest.mark.parametrize("made", ["sqlite", "postgres"], indirect=True)
"""For tests of what the database has a part in; the others run on the oracle."""
ADDRESS = "192.0.2.9"


class CallFrom(Conversation):
    """A request from an address."""

    __slots__ = ("address",)

    def __init__(self, request: Request, address: str) -> None:
        super().__init__(request)
        self.address = address

    def peer(self) -> str:
        return self.address


class Bureau(Office):
    """An office that serves both kinds of workers."""

    def __init__(self, store: HeldUpStore, settings: Settings) -> None:
        super().__init__(store, settings)
        self.router = Chain(root_router(self.hall), services_router(self.hall), login_router(self.hall))
        self.secrets: dict[str, str] = {}
        self.submitted = 0

    def send(
        self, method: str, path: str, body: object = None, token: str | None = None,
        headers: dict[str, str] | None = None, address: str = ADDRESS,
    ) -> Conversation:  # fmt: skip
        """Send a request; a body that is bytes is sent as it is, and so is a query in the path."""
        fields = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        if token is not None:
            fields.append((b"authorization", b"Bearer " + token.encode()))
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        bare, _, query = path.encode().partition(b"?")
        route = self.router.match(method.encode(), bare)
        assert route is not None, f"no route for {method} {path}"
        conversation = CallFrom(Request(method.encode(), bare, query, fields, content), address)
        route.handler(conversation)
        return conversation

    async def service(self, name: str = SERVICE, **members: Any) -> None:
        """Make a service, or change it."""
        told, spare = made_secret()
        if (await self.hall.coalescer.one(PutService(name, spare=spare, **members))).created:
            self.secrets[name] = told

    async def log_in(self, worker_id: str, service: str = SERVICE) -> ServiceWorker:
        """A worker with a token, which has not registered yet. The service is made if there is none."""
        if service not in self.secrets:
            await self.service(service)
        form = {
            "grant_type": "client_credentials", "service_id": service, "auth_secret": self.secrets[service],
            "worker_id": worker_id,
        }  # fmt: skip
        body = await self.send("POST", "/worker/auth_token", urlencode(form).encode()).json()
        return ServiceWorker(self, worker_id, service, body["access_token"], body["refresh_token"])

    async def hire(self, worker_id: str = "w", *methods: str, service: str = SERVICE, **members: Any) -> ServiceWorker:
        """A worker that is registered for these methods, or for `hello`."""
        worker = await self.log_in(worker_id, service)
        await worker.register(*(methods or ("hello",)), **members)
        return worker

    async def submit(
        self, method: str = "hello", params: bytes = b"null", *, service: str = SERVICE, **members: Any
    ) -> str:
        """A client's call; returns its id."""
        self.submitted += 1
        request_id = f"r-{self.submitted}"
        ask = Submit(request_id, "client", service, method, params, members.pop("deadline_ms", 60_000), **members)
        outcome = await self.hall.coalescer.one(ask)
        assert outcome == Submitted(request_id), outcome
        return request_id

    async def race(self, method: str = "hello", **members: Any) -> str:
        """A call for whoever locks it first."""
        return await self.submit(method, dispatch=Dispatch.RACE, **members)

    async def call(self, request_id: str) -> RequestView:
        """A call as the store has it."""
        (view,) = await self.store.read(FindRequests((request_id,)))
        assert isinstance(view, RequestView)
        return view

    async def history(self, request_id: str) -> list[HistoryLine]:
        """The audit log of a call."""
        lines: list[HistoryLine] = await self.store.read(ReadHistory((await self.call(request_id)).work))
        return lines

    async def causes(self, request_id: str) -> list[str]:
        """Why the call was handed over, each time."""
        return [str(line.cause) for line in await self.history(request_id) if line.move == "hold"]

    async def feedback(self, request_id: str) -> list[FeedbackRow]:
        """What was told of a call."""
        rows: list[FeedbackRow] = await self.store.read(ReadFeedback((await self.call(request_id)).work))
        return rows

    async def parked(self, count: int) -> None:
        """Wait until so many calls wait for work."""

        async def so_many() -> bool:
            return len(self.hall.parked) == count

        await until_async(so_many, waiting_for=f"{count} calls to be parked")

    async def settle_down(self) -> None:
        """Let all that is under way come to its end."""
        for _ in range(5):
            await self.turns()
            await self.hall.coalescer.idle()


class ServiceWorker:
    """A worker with a token."""

    def __init__(self, made: Bureau, worker_id: str, service: str, token: str, refresh_token: str) -> None:
        self.made = made
        self.id = worker_id
        self.service = service
        self.token = token
        self.refresh_token = refresh_token

    @property
    def key(self) -> str:
        """Its key among all workers."""
        return f"service:{quote(self.service, safe='')}/{quote(self.id, safe='')}"

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Conversation:
        """Send a request. Underscores in the names of headers stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.made.send(method, f"/worker/{path}", body, self.token, named)

    async def refresh(self) -> None:
        """Exchange the tokens for new ones."""
        form = {"grant_type": "refresh_token", "refresh_token": self.refresh_token}
        body = await self.made.send("POST", "/worker/auth_token", urlencode(form).encode()).json()
        self.token, self.refresh_token = body["access_token"], body["refresh_token"]

    async def register(self, *methods: str, **members: Any) -> dict[str, str]:
        """Register, which has to be accepted."""
        body = {"worker_id": self.id, "service_id": self.service, "run_mode": "Eager", "methods": list(methods)}
        answer: dict[str, str] = await self.send("POST", "registration", {**body, **members}).json()
        return answer

    def drain(self, query: str = "", **headers: str) -> Conversation:
        """Drain; the answer may take its time."""
        return self.send("GET", f"messages{query}", None, **headers)

    async def messages(self, query: str = "", **headers: str) -> list[dict[str, Any]]:
        """What a drain brings."""
        messages: list[dict[str, Any]] = await self.drain(query, **headers).json()
        return messages

    async def ids(self, query: str = "", **headers: str) -> list[str]:
        """The ids of what a drain brings."""
        return [message["request_id"] for message in await self.messages(query, **headers)]

    async def waiting(self, query: str = "?wait=30", **headers: str) -> Conversation:
        """A drain that is parked."""
        before = len(self.made.hall.parked)
        drain = self.drain(query, **headers)
        await self.made.parked(before + 1)
        return drain

    def lock(self, request_id: str) -> Conversation:
        """Lock what was offered."""
        return self.send("PUT", f"lock_request/{quote(request_id, safe='')}")

    def respond(
        self, request_id: str, status: str = "success", *, key: str | None = None, **members: Any
    ) -> Conversation:
        """Answer a call."""
        body = {"request_id": request_id, "status": status, "error_text": None, "result": None, **members}
        return self.send("POST", "response", body, **({} if key is None else {"Idempotency_Key": key}))

    def tell(self, body: object) -> Conversation:
        """Send feedback."""
        return self.send("POST", "feedback", body)

    def beat(self, worker_id: str | None = None, **headers: str) -> Conversation:
        """A heartbeat."""
        return self.send("GET", f"heartbeat/{quote(worker_id or self.id, safe='')}", None, **headers)

    def leave(self, body: object = None, worker_id: str | None = None) -> Conversation:
        """Say goodbye."""
        return self.send("PUT", f"notify_worker_shutdown/{quote(worker_id or self.id, safe='')}", body)


@asynccontextmanager
async def bureau(store: Store, **settings: Any) -> AsyncIterator[Bureau]:
    """A bureau that is closed in the end."""
    made = Bureau(HeldUpStore(store), Settings(data="unused", **settings))
    try:
        yield made
    finally:
        made.store.away = False
        made.store.go_on()
        await made.hall.close()


async def refused(conversation: Conversation, status: int, code: str) -> dict[str, Any]:
    """The envelope of a refusal with that status and code."""
    body: dict[str, Any] = await conversation.json(status)
    assert body["error_code"] == code, body
    assert body["detail"]
    assert body["task_id"] is None
    return body


def header(reply: Reply, name: str) -> str | None:
    """A header of an answer."""
    return next((value.decode() for known, value in reply.headers if known == name.encode()), None)


async def in_turn(*waiting: Conversation) -> list[Any]:
    """The bodies of several answers."""
    return [await each.json() for each in await asyncio.gather(*(_itself(each) for each in waiting))]


async def _itself(conversation: Conversation) -> Conversation:
    await conversation.reply()
    return conversation
