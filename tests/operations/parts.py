"""What tests of operations and of the wire of plans work with: a hall on a real store, exchanges without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from hiringhall.auth.tokens import Tokens
from hiringhall.config import Settings
from hiringhall.domain.lease import Terms
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.operations.hall import Hall, terms_of
from hiringhall.ports.asks import Apply, Ask, Register
from hiringhall.ports.questions import Query
from hiringhall.ports.store import Committed, Store, StoreUnavailable
from hiringhall.storage.model.store import ModelStore
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wire.exchange import Exchange, Reply, Request, Router
from hiringhall.wire.plans.routes import root_router

OPERATOR, BOOTSTRAP, SHARED = "operator-token", "bootstrap-token", "shared-token"
DETAIL = (
    '"description":"do it","dependencies":[],"key_files":["a.py"],"acceptance_criteria":[],'
    '"test_steps":[],"prd_requirement":""'
)


def plan_of(*tasks: str, plan: str = "p") -> Apply:
    """A plan of independent tasks."""
    return Apply(PlanFile(plan, plan.upper(), tuple(TaskSpec(task, (), 1, DETAIL) for task in tasks)))


class HeldUpStore:
    """A real store that a test can hold up, take away, or make fail for some asks."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.batches: list[list[Ask]] = []
        self.reads: list[Query] = []
        self.away = False
        self.bad: Callable[[Ask], bool] = lambda _: False
        self._open = asyncio.Event()
        self._open.set()

    def hold_up(self) -> None:
        """Let the next batches wait before they are committed."""
        self._open.clear()

    def go_on(self) -> None:
        """Commit what waits."""
        self._open.set()

    def channel(self, ask: Ask) -> str:
        return self.store.channel(ask)

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        self.batches.append(list(asks))
        await self._open.wait()
        if self.away:
            raise StoreUnavailable("taken away")
        good = [ask for ask in asks if not self.bad(ask)]
        committed = await self.store.commit(good, now=now)
        outcomes = iter(committed.outcomes)
        committed.outcomes = [ValueError("a bad ask") if self.bad(ask) else next(outcomes) for ask in asks]
        return committed

    async def read(self, query: Query) -> Any:
        self.reads.append(query)
        if self.away:
            raise StoreUnavailable("taken away")
        return await self.store.read(query)

    async def close(self) -> None:
        await self.store.close()

    def asked(self, kind: type[Any]) -> list[Any]:
        """All asks of a kind so far."""
        return [ask for batch in self.batches for ask in batch if type(ask) is kind]


class Conversation(Exchange):
    """An exchange whose answer a test can wait for, and whose peer it can take away."""

    __slots__ = ("_answered", "lost")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.lost: Callable[[], None] | None = None

    def answer(self, reply: Reply, lost: Callable[[], None] | None = None) -> None:
        self.lost = lost
        if self.gone:
            if lost is not None:
                lost()
            return
        assert not self._answered.done(), f"answered twice: {self._answered.result()}, {reply}"
        self._answered.set_result(reply)

    def hang_up(self) -> None:
        """The peer goes away."""
        self.gone = True
        if self.when_gone is not None:
            self.when_gone()

    @property
    def answered(self) -> bool:
        """Whether there is an answer."""
        return self._answered.done()

    async def reply(self) -> Reply:
        """The answer, within 5 s."""
        return await asyncio.wait_for(asyncio.shield(self._answered), 5)

    async def json(self, status: int = 200) -> Any:
        """The body of the answer, which has that status."""
        reply = await self.reply()
        assert reply.status == status, reply
        return json.loads(reply.body)


class Office:
    """A hall on a real store, with its router."""

    def __init__(self, store: HeldUpStore, settings: Settings) -> None:
        self.store = store
        self.wakeups = LocalWakeups()
        tokens = Tokens(operator=[OPERATOR], bootstrap=[BOOTSTRAP], worker=[SHARED])
        self.hall = Hall(settings, tokens, store, self.wakeups)
        self.router: Router = root_router(self.hall)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = SHARED,
        headers: dict[str, str] | None = None,
    ) -> Conversation:
        """Send a request; a body that is bytes is sent as it is."""
        fields = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        if token is not None:
            fields.append((b"authorization", b"Bearer " + token.encode()))
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        route = self.router.match(method.encode(), path.encode())
        assert route is not None, f"no route for {method} {path}"
        conversation = Conversation(Request(method.encode(), path.encode(), b"", fields, content))
        route.handler(conversation)
        return conversation

    def claim(
        self,
        worker: str = "w",
        plan: str = "p",
        token: str = SHARED,
        headers: dict[str, str] | None = None,
        **more: object,
    ) -> Conversation:
        """Claim."""
        return self.send("POST", "/tasks/claim", {"worker_id": worker, "plan_id": plan, **more}, token, headers)

    def settle(
        self,
        verb: str,
        task: str,
        version: object,
        worker: str = "w",
        token: str = SHARED,
        headers: dict[str, str] | None = None,
        **more: object,
    ) -> Conversation:
        """Complete, fail or release."""
        body = {"worker_id": worker, "version": version, **more}
        return self.send("POST", f"/tasks/{task}/{verb}", body, token, headers)

    async def apply(self, *tasks: str, plan: str = "p") -> None:
        """Apply a plan of independent tasks."""
        await self.hall.coalescer.one(plan_of(*tasks, plan=plan))

    async def admit(self, *workers: str) -> None:
        """Register workers without tokens of their own."""
        for worker in workers:
            await self.hall.coalescer.one(Register(f"plan:{worker}"))

    async def turns(self, count: int = 20) -> None:
        """Let the event loop go round."""
        for _ in range(count):
            await asyncio.sleep(0)


@asynccontextmanager
async def office(store: Store | None = None, **settings: Any) -> AsyncIterator[Office]:
    """A hall that is closed in the end."""
    chosen = Settings(data="unused", **settings)
    terms: Terms = terms_of(chosen)
    made = Office(HeldUpStore(store or ModelStore(terms)), chosen)
    try:
        yield made
    finally:
        made.store.away = False
        made.store.go_on()
        await made.hall.close()
