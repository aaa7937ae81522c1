"""The store on PostgreSQL, for several replicas: hot verbs are single statements, all else is a transaction.

Take, settle and submit have connections of their own, so that none waits for another; the rest shares a small pool, and
so do the readers.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

import asyncpg

from hiringhall.domain.announcement import announce
from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import (
    Apply,
    Ask,
    Beat,
    DeletePlan,
    FoldTallies,
    Forget,
    MarkSeen,
    PausePlan,
    RetryPlan,
    Settle,
    Steer,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Take,
    Unblock,
)
from hiringhall.ports.calls import (
    AddFeedback,
    Drain,
    FindRequests,
    ForgetCalls,
    Lock,
    Respond,
    Submit,
    SweepDeadlines,
    Withdraw,
)
from hiringhall.ports.identity import FindSecrets, FindSessions, FindSigningKeys, ForgetLogins
from hiringhall.ports.questions import Alive, FindWorkers, KnownTasks, Query, ReadyLanes
from hiringhall.ports.store import Committed, StoreUnavailable
from hiringhall.storage.batch import carry_out
from hiringhall.storage.postgres import hot_calls, hot_verbs, small_files
from hiringhall.storage.postgres.connection import GRACE_SECONDS, Connection, Link, Links, settings_for
from hiringhall.storage.postgres.failures import is_away, is_race
from hiringhall.storage.postgres.prepared import load
from hiringhall.storage.postgres.runner import Runner
from hiringhall.storage.postgres.schema import migrate
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure
from hiringhall.storage.procedures.registry import QUERIES
from hiringhall.storage.procedures.usual import firsts

CONNECTIONS_MIN: Final = 5
STATEMENT_SECONDS: Final = {"take": 10.0, "settle": 10.0, "submit": 60.0, "calls": 20.0, "rest": 30.0, "read": 2.0}
CLOSE_SECONDS: Final = 2.0
ATTEMPTS: Final = 6
PAUSE_SECONDS: Final = 0.005
BIG_FILE_TASKS: Final = 1_000
"""A plan file of more tasks than that is compared and laid out in a thread, so that the event loop goes on."""
CHANNELS: Final[dict[type[Any], str]] = {
    Take: "take",
    Settle: "settle",
    Apply: "submit",
    DeletePlan: "submit",
    Unblock: "submit",
    Steer: "steer",
    PausePlan: "steer",
    RetryPlan: "steer",
    SweepSilent: "sweep",
    SweepRunLimit: "sweep",
    SweepRetries: "sweep",
    FoldTallies: "sweep",
    Forget: "sweep",
    Drain: "call_take",
    Lock: "call_lock",
    Respond: "call_settle",
    AddFeedback: "call_feedback",
    Submit: "call_submit",
    Withdraw: "call_submit",
    SweepDeadlines: "sweep",
    ForgetCalls: "sweep",
    ForgetLogins: "sweep",
}
"""The channel of an ask; those not named share the channel "presence"."""
PURPOSES: Final = dict.fromkeys(("call_take", "call_lock", "call_settle", "call_feedback", "call_submit"), "calls")
"""Which connections serve a channel that has none of its own; those not named share those for the rest."""
NO_SNAPSHOT: Final[frozenset[type[Any]]] = frozenset(
    {Alive, FindRequests, FindSecrets, FindSessions, FindSigningKeys, FindWorkers, KnownTasks, ReadyLanes}
)
"""Questions whose statements need not see one and the same state."""

Attempt: TypeAlias = Callable[[Connection, Sequence[Any], int | None], Awaitable[Committed]]


class PostgresStore:
    """A store in a PostgreSQL database. Open it with `open`. Belongs to one event loop."""

    def __init__(self, url: str, terms: Terms, connections: int, origin: str) -> None:
        self.terms = terms
        self.origin = origin
        self.repeated = 0
        """How often a transaction was repeated because concurrent ones were in the way."""
        self._runner = Runner(load())
        shared = max(connections, CONNECTIONS_MIN) - 3
        calls = shared // 2 if shared > 4 else 0
        rest = (shared - calls + 1) // 2
        sizes = {"take": 1, "settle": 1, "submit": 1, "calls": calls, "rest": rest, "read": shared - calls - rest}
        self._links = {purpose: _links(url, purpose, size) for purpose, size in sizes.items() if size}

    @classmethod
    async def open(
        cls, url: str, *, terms: Terms | None = None, connections: int = 8, origin: str | None = None
    ) -> PostgresStore:
        """Bring the database to the present schema, whoever else is doing the same.

        `origin` marks this process's own rings among those that all replicas hear.

        Raises:
            SchemaTooNew: the database was written by a newer version.
            StoreUnavailable: the database cannot be reached, or does not let this user do what is needed.
            ValueError: the URL cannot be understood.
        """
        store = cls(url, terms or Terms(), connections, origin or secrets.token_hex(8))
        try:
            async with store._links["submit"].borrow() as link:
                await migrate(await link.connection())
        except BaseException as error:
            await store.close()
            if is_away(error):
                raise StoreUnavailable(f"the database cannot be reached: {error or type(error).__name__}") from error
            if isinstance(error, asyncpg.PostgresError):
                raise StoreUnavailable(f"the database cannot be used: {error}") from error
            raise
        return store

    @property
    def statements_run(self) -> int:
        """How many statements were run since the store was opened."""
        return self._runner.statements_run

    def channel(self, ask: Ask) -> str:
        """Hot verbs and submitting do not wait for each other, nor for the rest."""
        return CHANNELS.get(type(ask), "presence")

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        """Carry out the asks, the usual ones of the hot verbs each in a statement, all others in a transaction."""
        if not asks:
            return Committed([])
        kinds = {type(ask) for ask in asks}
        channel = self.channel(asks[0]) if len(kinds) == 1 else "rest"
        async with self._links.get(PURPOSES.get(channel, channel), self._links["rest"]).borrow() as link:
            if kinds == {Settle}:
                return await self._settle(link, asks, now)
            if kinds == {Take} and hot_verbs.may_take_at_once(asks):  # type: ignore[arg-type]
                return await self._guarded(link, asks, now, self._take_at_once)
            if kinds == {MarkSeen} and hot_verbs.without_heartbeats(asks):  # type: ignore[arg-type]
                return await self._guarded(link, asks, now, self._mark_seen_at_once)
            if kinds == {Beat}:
                return await self._guarded(link, asks, now, self._beat_at_once)
            if kinds == {Apply} and len(asks) == 1:
                return await self._guarded(link, asks, now, self._apply)
            if kinds == {Submit}:
                usual = range(hot_calls.submittable(asks))  # type: ignore[arg-type]
                return await self._partly(link, asks, now, usual, self._submit_at_once)
            if kinds == {Respond}:
                first = [place for place, ask in enumerate(asks) if hot_calls.may_respond_at_once(ask)]  # type: ignore[arg-type]
                return await self._partly(link, asks, now, first, self._respond_at_once)
            if kinds == {Drain} and len(asks) == 1:
                return await self._guarded(link, asks, now, self._drain)
            return await self._guarded(link, asks, now, self._transaction)

    async def read(self, query: Query) -> Any:
        """Answer a query from one committed state."""
        procedure = QUERIES[type(query)](Context(0, self.terms), query)
        async with self._links["read"].borrow() as link:
            try:
                connection = await link.connection()
                async with asyncio.timeout(link.statement_seconds + GRACE_SECONDS):
                    if type(query) in NO_SNAPSHOT:
                        return await self._runner.run(connection, procedure)
                    async with connection.transaction(readonly=True):
                        return await self._runner.run(connection, procedure)
            except Exception as error:
                if is_away(error):
                    raise self._unavailable(error) from error
                raise

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, TimeoutError):
            for links in self._links.values():
                links.drop_idle()
        return StoreUnavailable(f"the database does not answer: {error or type(error).__name__}")

    async def close(self) -> None:
        """Finish what is under way, unless the database does not answer, and let go of it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(links.close() for links in self._links.values()))
        except TimeoutError:
            for links in self._links.values():
                links.drop()

    async def _settle(self, link: Link, asks: Sequence[Any], now: int | None) -> Committed:
        """Settle at once what can be; decide the rest by the procedure."""
        together = Committed([None] * len(asks))

        async def settle(places: Sequence[int], attempt: Attempt) -> None:
            _merge(together, places, await self._guarded(link, [asks[place] for place in places], now, attempt))

        def undecided() -> list[int]:
            return [place for place, outcome in enumerate(together.outcomes) if outcome is None]

        try:
            for places in firsts(asks, hot_verbs.SETTLED_AT_ONCE).values():
                await settle(places, self._settle_at_once)
            if left := undecided():
                await settle(left, self._transaction)
        except StoreUnavailable as error:
            left = undecided()
            if len(left) == len(asks):
                raise
            for place in left:  # the others are done, and their callers shall know
                together.outcomes[place] = error
        return together

    async def _partly(
        self, link: Link, asks: Sequence[Any], now: int | None, first: Sequence[int], attempt: Attempt
    ) -> Committed:
        """Try some asks at once; decide the rest, and what was left over of them, by the procedure."""
        together = Committed([None] * len(asks))
        if first:
            _merge(together, first, await self._guarded(link, [asks[place] for place in first], now, attempt))
        left = [place for place, outcome in enumerate(together.outcomes) if outcome is None]
        if left:
            try:
                _merge(
                    together, left, await self._guarded(link, [asks[place] for place in left], now, self._transaction)
                )
            except StoreUnavailable as error:
                if len(left) == len(asks):
                    raise
                for place in left:  # the others are done, and their callers shall know
                    together.outcomes[place] = error
        return together

    async def _guarded(self, link: Link, asks: Sequence[Any], now: int | None, attempt: Attempt) -> Committed:
        """Try, again if others were in the way, and each ask alone if one of them poisons the batch."""
        for number in range(1, ATTEMPTS + 1):
            try:
                return await attempt(await link.connection(), asks, now)
            except StoreUnavailable:
                raise
            except Exception as error:
                if is_away(error):
                    link.drop()
                    raise self._unavailable(error) from error
                if not is_race(error) or number == ATTEMPTS:
                    if len(asks) == 1:
                        return Committed([error])
                    return await self._one_by_one(link, asks, now, attempt)
            self.repeated += 1
            await asyncio.sleep(PAUSE_SECONDS * 2**number * random.random())
        raise AssertionError("the last attempt returns or raises")

    async def _one_by_one(self, link: Link, asks: Sequence[Any], now: int | None, attempt: Attempt) -> Committed:
        together = Committed([None] * len(asks))
        for place, ask in enumerate(asks):
            try:
                alone = await self._guarded(link, [ask], now, attempt)
            except StoreUnavailable as error:
                together.outcomes[place:] = [error] * (len(asks) - place)  # each would wait for a connection in vain
                break
            _merge(together, [place], alone)
        return together

    async def _take_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_verbs.take_at_once(self._runner, connection, asks, now, self.terms)

    async def _beat_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_verbs.beat_at_once(self._runner, connection, asks, now, self.terms)

    async def _mark_seen_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_verbs.mark_seen_at_once(self._runner, connection, asks, now)

    async def _settle_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_verbs.settle_at_once(self._runner, connection, asks, now, self.origin)

    async def _submit_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_calls.submit_at_once(self._runner, connection, asks, now, self.origin)

    async def _respond_at_once(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        return await hot_calls.respond_at_once(self._runner, connection, asks, now, self.origin)

    async def _drain(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        drained = await hot_calls.drain_at_once(self._runner, connection, asks[0], now, self.terms)
        return drained or await self._transaction(connection, asks, now)

    async def _apply(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        (ask,) = asks
        if len(ask.file.tasks) <= small_files.TASKS_MAX:
            try:
                applied = await small_files.apply_small(self._runner, connection, ask, now, self.terms, self.origin)
            except asyncpg.PostgresError as error:
                if not is_race(error):
                    raise
            else:
                if applied is not None:
                    return applied
        return await self._transaction(connection, asks, now)

    async def _transaction(self, connection: Connection, asks: Sequence[Any], now: int | None) -> Committed:
        async with connection.transaction():
            if now is None:
                now = (await self._runner.carry_out(connection, Fetch("read_clock")))[0][0]
            assert now is not None
            context = Context(now, self.terms)
            aside = any(isinstance(ask, Apply) and len(ask.file.tasks) > BIG_FILE_TASKS for ask in asks)
            outcomes = await self._runner.run(connection, self._announcing(context, asks), aside=aside)
        return Committed(outcomes, context.rings)

    def _announcing(self, context: Context, asks: Sequence[Any]) -> Procedure:
        """Carry out the asks, and tell the other replicas once that is durable."""
        outcomes = yield from carry_out(context, asks)
        if context.rings:
            yield Many("announce", [{"payload": announce(self.origin, context.rings)}])
        return outcomes


def _links(url: str, purpose: str, size: int) -> Links:
    seconds = STATEMENT_SECONDS[purpose]
    hot = purpose in ("take", "settle", "calls")
    settings = settings_for(
        purpose,
        statement_seconds=seconds,
        fixed_plans=hot or purpose == "submit",
        in_order=hot,
        read_only=purpose == "read",
    )
    return Links([Link(url, settings, seconds) for _ in range(size)])


def _merge(together: Committed, places: Sequence[int], part: Committed) -> None:
    """Put the outcomes of some asks in their places, and add the rings."""
    for place, outcome in zip(places, part.outcomes, strict=True):
        together.outcomes[place] = outcome
    if part.rings:
        rings = dict(together.rings)
        for topic, count in part.rings.items():
            rings[topic] = rings.get(topic, 0) + count
        together.rings = rings
