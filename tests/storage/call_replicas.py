"""Two replicas that serve calls on one PostgreSQL database, and a third connection that holds locks."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

from hiringhall.ports.asks import Ask
from hiringhall.ports.calls import Drain, Drained, FindRequests, Registered, RequestView, Submitted
from hiringhall.ports.identity import HashedSecret, PutService
from tests.storage.call_desk import MATH, call, login_of, registration
from tests.storage.test_races_postgres import Replicas, begun, outcome

HOUR_MS = 3_600_000
Nows: TypeAlias = tuple[int | None, int | None]


class CallReplicas(Replicas):
    """Two replicas with a service whose workers have one session each, named as the worker."""

    async def hire(self, *workers: str) -> None:
        """Make the service; log in and register workers."""
        await outcome(self.one, PutService(MATH, spare=HashedSecret(f"secret of {MATH}", "sha256", "0" * 64)))
        for worker in workers:
            await self.login(worker, worker)
            assert isinstance(await outcome(self.one, registration(worker)), Registered)

    async def login(self, worker: str, sid: str) -> None:
        """Begin a session."""
        assert await outcome(self.one, login_of(worker, sid)) is True

    async def submit(self, *request_ids: str, **members: Any) -> None:
        """Submit calls, which have to be accepted."""
        for request_id in request_ids:
            assert await outcome(self.one, call(request_id, **members)) == Submitted(request_id)

    async def drain(self, worker: str, limit: int = 100) -> list[str]:
        """The ids of what a worker drains."""
        drained: Drained = await outcome(self.one, Drain(worker, worker, limit))
        return [message.request_id for message in drained.messages]

    async def view(self, request_id: str) -> RequestView:
        """A call as its client sees it."""
        (view,) = await self.one.read(FindRequests((request_id,)))
        assert isinstance(view, RequestView)
        return view

    async def work(self, request_id: str) -> str:
        """The condition that names the unit of a call."""
        return f"id = {(await self.view(request_id)).work}"

    async def late(self) -> int:
        """A time at which every lease and deadline of an hour has passed."""
        return int(await self.observer.fetchval("SELECT clock_ms()")) + HOUR_MS

    async def in_turn(
        self, table: str, condition: str, first: Ask, second: Ask, *, nows: Nows = (None, None)
    ) -> tuple[Any, Any]:
        """Have two replicas ask while some rows are locked, so that the first has them before the second."""
        async with self.locked(table, condition):
            earlier = begun(self.one.commit([first], now=nows[0]))
            await self.waiting(1)
            later = begun(self.other.commit([second], now=nows[1]))
            await self.waiting(2)
        return (await earlier).outcomes[0], (await later).outcomes[0]

    async def has_left(self, leaving: asyncio.Task[Any]) -> bool:
        """Whether a goodbye is done, or waits for a lock beside the one that waits already."""
        return leaving.done() or await self.blocked() >= 2

    async def call_books_balance(self) -> None:
        """Counts equal the units, children are counted, and what has ended has an outcome and no offers."""
        fetch = self.observer.fetch
        assert not await fetch(
            "SELECT id FROM work WHERE state = 'waiting' AND waiting_on <> (SELECT count(*) FROM request AS r"
            " JOIN work AS c ON c.id = r.work WHERE r.parent = work.id AND c.state IN ('ready', 'held'))"
        )
        counted = "SELECT lane, state, sum(n) AS n FROM tally GROUP BY lane, state HAVING sum(n) <> 0"
        units = "SELECT lane, state, count(*) AS n FROM work GROUP BY lane, state"
        assert sorted(map(tuple, await fetch(counted))) == sorted(map(tuple, await fetch(units)))
        ended = "work.state NOT IN ('waiting', 'ready', 'held')"
        assert not await fetch(f"SELECT id FROM work WHERE {ended} AND NOT EXISTS (SELECT FROM result WHERE work = id)")
        assert not await fetch(f"SELECT work FROM offer JOIN work ON id = work WHERE {ended} OR work.state = 'held'")
