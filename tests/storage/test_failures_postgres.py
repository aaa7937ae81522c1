"""What the store on PostgreSQL does when the database is away, slow or in the way, and when an ask is poisoned."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.topics import EVERYTHING, plan_lane
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import Apply, Register, Settle, Take, TaskView
from hiringhall.ports.questions import Alive, FindTasks, ListPlans
from hiringhall.ports.store import StoreUnavailable
from hiringhall.storage.postgres.schema import SchemaTooNew
from hiringhall.storage.postgres.store import STATEMENT_SECONDS, PostgresStore
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wakeups.postgres import RingListener
from tests.postgres_server import PostgresServer
from tests.storage.test_races_postgres import ANN, begun, completion, file_of, outcome, take
from tests.waiting import until_async

LANE = plan_lane("p")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store with a plan of three tasks and a worker."""
    opened = await PostgresStore.open(postgres_url)
    await outcome(opened, Apply(file_of(("a", ()), ("b", ()), ("c", ("a",)))))
    await outcome(opened, Register(ANN))
    yield opened
    await opened.close()


async def test_it_comes_back_by_itself(own_postgres: PostgresServer) -> None:
    """When the database crashed, all is unavailable at once; when it is back, all goes on, and nothing is lost."""
    opened = await PostgresStore.open(own_postgres.url)
    rung: list[str] = []
    wakeups = LocalWakeups()
    wakeups.before(rung.append)
    listener = RingListener(own_postgres.url, wakeups, opened.origin)
    listener.start()
    await listener.ready()
    await outcome(opened, Apply(file_of(("a", ()), ("b", ()))))
    await outcome(opened, Register(ANN))
    (held,) = await take(opened, ANN)
    await opened.read(ListPlans())

    await asyncio.to_thread(own_postgres.stop, "immediate")
    for ask in (Take(ANN, (LANE,)), completion(held), Apply(file_of()), Register("plan:x")):
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(opened.commit([ask]), 10)
    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(opened.read(Alive()), 10)
    await asyncio.to_thread(own_postgres.start)

    assert (await outcome(opened, completion(held))).state is State.DONE
    assert [view.task_id for view in await take(opened, ANN)] == ["b"]
    assert await opened.read(Alive())
    await asyncio.wait_for(listener.ready(), 20)
    assert rung == [EVERYTHING]
    await listener.close()
    await opened.close()


async def test_connections_cut_in_the_middle(store: PostgresStore, postgres_url: str) -> None:
    """A connection that is cut while a statement runs is replaced, and the ask is unavailable, not refused."""
    (held,) = await take(store, ANN)
    observer = await asyncpg.connect(postgres_url)
    async with observer.transaction():
        await observer.execute("SELECT FROM work WHERE id = $1 FOR UPDATE", held.work)
        settling = begun(store.commit([completion(held)]))
        found = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"

        async def waiting() -> Any:
            await observer.execute("SELECT pg_stat_clear_snapshot()")
            return await observer.fetchval(found)

        pid = await until_async(waiting, waiting_for="the statement to wait for the lock")
        await observer.execute("SELECT pg_terminate_backend($1)", pid)
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(settling, 10)
    await observer.close()
    assert (await outcome(store, completion(held))).state is State.DONE


async def test_a_suspended_server_is_not_waited_for_for_ever(
    own_postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that accepts but does not answer makes asks unavailable in bounded time."""
    monkeypatch.setattr("hiringhall.storage.postgres.store.STATEMENT_SECONDS", dict.fromkeys(STATEMENT_SECONDS, 0.2))
    opened = await PostgresStore.open(own_postgres.url)
    await outcome(opened, Register(ANN))
    server = own_postgres.pid
    assert server is not None
    backends = [server, *children_of(server)]
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(opened.read(Alive()), 10)
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(opened.commit([Register("plan:x")]), 10)
    finally:
        for pid in backends:
            os.kill(pid, signal.SIGCONT)
    assert await outcome(opened, Register("plan:y")) is True
    await opened.close()


def children_of(pid: int) -> list[int]:
    """The processes that a server has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_deadlock_is_repeated(store: PostgresStore, postgres_url: str) -> None:
    """A batch that a deadlock ends is repeated and counted, and its callers hear nothing of it."""
    held = await take(store, ANN, 2)
    observer = await asyncpg.connect(postgres_url, server_settings={"deadlock_timeout": "60s"})
    async with observer.transaction():
        await observer.execute("SELECT FROM work WHERE id = $1 FOR UPDATE", held[1].work)
        settling = begun(store.commit([completion(view) for view in held]))

        async def waiting() -> bool:
            await observer.execute("SELECT pg_stat_clear_snapshot()")
            return bool(await observer.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

        await until_async(waiting, waiting_for="the batch to wait")
        await observer.execute("SELECT FROM work WHERE id = $1 FOR UPDATE", held[0].work)
    committed = await asyncio.wait_for(settling, 20)
    assert [view.state for view in committed.outcomes] == [State.DONE, State.DONE]
    assert store.repeated >= 1
    await observer.close()


async def test_a_poisoned_ask_fails_alone(store: PostgresStore) -> None:
    """An ask that cannot be carried out fails alone; the others of its batch are carried out, whatever the verb."""
    held = await take(store, ANN, 2)
    poison = Settle(ANN, "nul \0", 2, Move.COMPLETE)
    committed = await store.commit([completion(held[0]), poison, completion(held[1])])
    assert [type(found) for found in committed.outcomes[::2]] == [TaskView, TaskView]
    assert isinstance(committed.outcomes[1], Exception)
    takes = await store.commit([Take("plan:nul \0", (LANE,)), Take(ANN, (LANE,))])
    assert isinstance(takes.outcomes[0], Exception)
    assert [view.task_id for view in takes.outcomes[1].tasks] == ["c"]
    registered = await store.commit([Register("plan:b", "\0"), Register("plan:nul \0"), Register("plan:c")])
    assert [registered.outcomes[0], registered.outcomes[2]] == [True, True]
    assert isinstance(registered.outcomes[1], Exception)


async def test_versions_of_all_sizes(store: PostgresStore) -> None:
    """A version beyond what the wire allows harms nobody else in its batch."""
    (held,) = await take(store, ANN)
    committed = await store.commit([completion(held), Settle(ANN, "b", 2**53 - 1, Move.COMPLETE)])
    assert isinstance(committed.outcomes[0], TaskView)
    assert isinstance(committed.outcomes[1], Conflict)


async def test_a_slow_question_ends(store: PostgresStore, postgres_url: str) -> None:
    """A question that the database does not answer within 2 s is unavailable."""
    observer = await asyncpg.connect(postgres_url)
    async with observer.transaction():
        await observer.execute("LOCK TABLE plan IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(store.read(FindTasks("a", "p")), 10)
    await observer.close()
    assert len(await store.read(FindTasks("a", "p"))) == 1


async def test_a_newer_schema_is_refused(postgres_url: str) -> None:
    """Data of a newer version is not touched, and the error says what to do."""
    await (await PostgresStore.open(postgres_url)).close()
    observer = await asyncpg.connect(postgres_url)
    await observer.execute("UPDATE hall_schema SET number = 99")
    await observer.close()
    with pytest.raises(SchemaTooNew, match="schema 99"):
        await PostgresStore.open(postgres_url)


async def test_no_database_at_all() -> None:
    """Opening where nobody listens says so."""
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await PostgresStore.open("postgresql://hall@127.0.0.1:1/none")


async def test_a_standby_is_not_written_to(postgres_url: str, store: PostgresStore) -> None:
    """A server that has become read-only is unavailable until it may be written to again."""
    observer = await asyncpg.connect(postgres_url)
    await store.commit([Register("plan:before")])
    for links in store._links.values():  # as after a failover: every session is read-only
        async with links.borrow() as link:
            await (await link.connection()).execute("SET default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable):
        await store.commit([Take(ANN, (LANE,))])
    assert len(await take(store, ANN)) == 1
    await observer.close()
