"""A hall with its routes for logging in, on a store of any kind, and a clock that a test can set forward."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from hiringhall.auth.credentials import hash_chosen, made_secret
from hiringhall.auth.identities import Identity
from hiringhall.auth.keyring import Keyrings
from hiringhall.auth.tokens import Tokens
from hiringhall.config import Settings
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.ports.identity import PutClient, PutService
from hiringhall.ports.store import Store
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wire.exchange import Reply, Request
from hiringhall.wire.login.routes import login_router
from tests.operations.parts import BOOTSTRAP, OPERATOR, SHARED, Conversation, HeldUpStore

PEER = "192.0.2.7"
CHOSEN = "correct horse"


class CallFrom(Conversation):
    """A request from an address."""

    __slots__ = ("_peer",)

    def __init__(self, request: Request, peer: str) -> None:
        super().__init__(request)
        self._peer = peer

    def peer(self) -> str:
        return self._peer


class Gatehouse:
    """What is needed to log in and to be recognised."""

    def __init__(self, store: Store, settings: Settings, keyrings: Keyrings | None = None) -> None:
        self.store = HeldUpStore(store)
        self.wakeups = LocalWakeups()
        tokens = Tokens(operator=[OPERATOR], bootstrap=[BOOTSTRAP], worker=[SHARED])
        self.hall = Hall(settings, tokens, self.store, self.wakeups, keyrings)
        self.router = login_router(self.hall)
        self.later = 0.0
        """By how many seconds the clocks are set forward."""
        signing = self.hall.identities.signing
        loop_time, wall = self.hall.loop.time, signing.clock
        signing.clock = lambda: wall() + self.later
        for timed in (self.hall.logins, signing, self.hall.identities._sessions, self.hall.logins._owners):
            timed.time = lambda: loop_time() + self.later  # type: ignore[attr-defined]

    async def send(
        self, path: str, body: object, *, peer: str = PEER, headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> Reply:  # fmt: skip
        """The answer to a form (a dictionary), or to a body that is sent as it is."""
        content = body if isinstance(body, bytes) else urlencode(body).encode()  # type: ignore[arg-type]
        fields = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        route = self.router.match(method.encode(), path.encode())
        assert route is not None
        call = CallFrom(Request(method.encode(), path.encode(), b"", fields, content), peer)
        route.handler(call)
        return await call.reply()

    async def worker(
        self, secret: str, service: str = "math", worker: str = "w", status: int = 200, **how: Any
    ) -> dict[str, Any]:
        """A worker logs in."""
        form = {
            "grant_type": "client_credentials", "service_id": service, "auth_secret": secret, "worker_id": worker,
        }  # fmt: skip
        return body_of(await self.send("/worker/auth_token", form, **how), status)

    async def client(self, secret: str, client: str = "ci", status: int = 200, **how: Any) -> dict[str, Any]:
        """A client logs in."""
        form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
        return body_of(await self.send("/client/auth_token", form, **how), status)

    async def refresh(self, token: str, status: int = 200, who: str = "worker") -> dict[str, Any]:
        """A refresh token is exchanged."""
        form = {"grant_type": "refresh_token", "refresh_token": token}
        return body_of(await self.send(f"/{who}/auth_token", form), status)

    async def service(self, name: str = "math", secret: str | None = None, **members: Any) -> str:
        """Make a service with this secret or a made one, which is returned."""
        told, spare = made_secret()
        hashed = None if secret is None else hash_chosen(secret)
        await self.hall.coalescer.one(PutService(name, secret=hashed, spare=spare, **members))
        return told if secret is None else secret

    async def client_of(self, name: str = "ci", allow: str = '["math/*"]', secret: str | None = None) -> str:
        """Make a client with this secret or a made one, which is returned."""
        told, spare = made_secret()
        hashed = None if secret is None else hash_chosen(secret)
        await self.hall.coalescer.one(PutClient(name, secret=hashed, spare=spare, allow=allow))
        return told if secret is None else secret

    async def who(self, token: str | None, role: str = "worker") -> Identity | Refused:
        """Whom a token belongs to."""
        found: asyncio.Future[Any] = self.hall.loop.create_future()
        header = None if token is None else f"Bearer {token}".encode()
        self.hall.identities.identify(header, role, found.set_result)
        outcome = await asyncio.wait_for(found, 5)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[no-any-return]

    async def known(self, token: str, role: str = "worker") -> Identity:
        """Whom a token belongs to, which has to be good."""
        identity = await self.who(token, role)
        assert isinstance(identity, Identity), identity
        return identity

    async def refused(self, token: str | None, code: str, role: str = "worker") -> None:
        """The token is refused."""
        refused = await self.who(token, role)
        assert isinstance(refused, Refused), refused
        assert refused.code == code, refused


def body_of(reply: Reply, status: int) -> dict[str, Any]:
    """The body of an answer with that status; a refusal has the members of the envelope and of OAuth."""
    body: dict[str, Any] = json.loads(reply.body)
    assert reply.status == status, (reply.status, body)
    if status != 200:
        assert body["error_code"]
        assert body["detail"] == body["error_description"]
        assert body["error"]
        assert body["task_id"] is None
    return body


@asynccontextmanager
async def gatehouse(store: Store, keyrings: Keyrings | None = None, **settings: Any) -> AsyncIterator[Gatehouse]:
    """A gatehouse that is closed in the end; the store is not."""
    house = Gatehouse(store, Settings(data="unused", **settings), keyrings)
    try:
        yield house
    finally:
        house.store.away = False
        house.store.go_on()
        house.hall.logins.close()
        await house.hall.coalescer.idle()
