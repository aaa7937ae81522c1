"""Replicas at once on one PostgreSQL database that handle service calls, in an order that row locks of a third party
stage."""

from __future__ import annotations

import asyncio
from typing import Any

from hiringhall.domain.call import Answer, Capabilities, Dispatch
from hiringhall.domain.names import service_worker
from hiringhall.domain.refusals import Refused
from hiringhall.ports.calls import (
    Drain,
    Drained,
    ForgetCalls,
    Lock,
    Locked,
    Registered,
    RegisterServiceWorker,
    Respond,
    Responded,
    Submit,
    Submitted,
    SweepDeadlines,
)
from hiringhall.ports.identity import BeginSession, HashedSecret, PutService
from hiringhall.storage.postgres.store import PostgresStore
from tests.storage.test_races_postgres import Replicas, begun, outcome, replicas

__all__ = ["replicas"]
DAY_MS = 86_400_000
ANN, BEN = service_worker("math", "ann"), service_worker("math", "ben")


async def service(store: PostgresStore) -> None:
    """Make a service, and log its workers in."""
    await outcome(store, PutService("math", spare=HashedSecret("s", "sha256", "0" * 64)))
    for name in ("ann", "ben"):
        await login(store, name, f"session of {name}")


async def login(store: PostgresStore, name: str, sid: str) -> None:
    """Begin a session of a worker."""
    assert await outcome(store, BeginSession(sid, "worker", name, "math", "s", sid.encode(), DAY_MS)) is True


def registration(name: str, sid: str | None = None) -> RegisterServiceWorker:
    """The registration of a worker that can add."""
    key = service_worker("math", name)
    return RegisterServiceWorker(key, sid or f"session of {name}", "math", name, "eager", Capabilities(("add",)))


def call(request_id: str, dispatch: Dispatch = Dispatch.EXCLUSIVE) -> Submit:
    """A call to add."""
    return Submit(request_id, "web", "math", "add", b"[1,2]", DAY_MS, dispatch)


def drain(name: str, sid: str | None = None) -> Drain:
    """A drain of a worker."""
    return Drain(service_worker("math", name), sid or f"session of {name}")


async def drained(store: PostgresStore, name: str) -> list[str]:
    """What a worker drains, by id."""
    found: Drained = await outcome(store, drain(name))
    return [message.request_id for message in found.messages]


async def test_a_worker_comes_while_a_lane_is_made(replicas: Replicas) -> None:
    """Whoever registers while the first call of a lane comes at another replica is given that call."""
    await service(replicas.one)
    async with replicas.locked("service", "id = 'math'"):
        asked = begun(outcome(replicas.one, call("r-1"))), begun(outcome(replicas.other, registration("ann")))
        await replicas.waiting(2)
    submitted, registered = await asyncio.gather(*asked)
    assert (submitted, registered) == (Submitted("r-1"), Registered(1))
    assert await drained(replicas.one, "ann") == ["r-1"]


async def test_two_replicas_make_one_lane(replicas: Replicas) -> None:
    """The first two calls of a lane, at two replicas at once, are both handed out."""
    await service(replicas.one)
    await outcome(replicas.one, registration("ann"))
    async with replicas.locked("service", "id = 'math'"):
        asked = begun(outcome(replicas.one, call("r-1"))), begun(outcome(replicas.other, call("r-2")))
        await replicas.waiting(2)
    assert list(await asyncio.gather(*asked)) == [Submitted("r-1"), Submitted("r-2")]
    assert sorted(await drained(replicas.other, "ann")) == ["r-1", "r-2"]


async def test_a_call_comes_while_its_lane_is_forgotten(replicas: Replicas) -> None:
    """A call that comes while its lane is about to be forgotten is not lost, whichever is first."""
    await service(replicas.one)
    await outcome(replicas.one, registration("ann"))
    await outcome(replicas.one, call("r-1"))
    await outcome(replicas.one, drain("ann"))
    await outcome(replicas.one, Respond(ANN, "session of ann", "math", "r-1", Answer.SUCCESS, b"3", body=b"b"))
    await replicas.observer.execute("UPDATE lane SET made_at = 0")
    await replicas.observer.execute("UPDATE result SET at = 0")
    async with replicas.observer.transaction():
        await replicas.observer.execute("LOCK TABLE tally IN SHARE MODE")  # the call is stored, and not committed
        submitting = begun(outcome(replicas.one, call("r-2")))
        await replicas.waiting(1)
        forgetting = begun(outcome(replicas.other, ForgetCalls()))
        await replicas.waiting(2)
    assert await submitting == Submitted("r-2")
    assert (await forgetting).changed >= 1
    assert await drained(replicas.one, "ann") == ["r-2"]


async def test_an_old_incarnation_acts_while_a_new_one_registers(replicas: Replicas) -> None:
    """Neither a drain nor an answer of the old incarnation is accepted once a new one is being let in."""
    await service(replicas.one)
    await login(replicas.one, "ann", "second")
    await outcome(replicas.one, registration("ann"))
    await outcome(replicas.one, call("r-1"))
    assert await drained(replicas.one, "ann") == ["r-1"]
    await outcome(replicas.one, call("r-2"))
    # The registration has let the new incarnation in, and waits for what the old one holds.
    async with replicas.locked("work", "state = 'held'"):
        registering = begun(outcome(replicas.one, registration("ann", "second")))
        await replicas.waiting(1)
        answer = Respond(ANN, "session of ann", "math", "r-1", Answer.SUCCESS, b"3", body=b"b")
        late = begun(outcome(replicas.other, drain("ann"))), begun(outcome(replicas.other, answer))
        await replicas.waiting(3)
    assert await registering == Registered(2)
    for refused in await asyncio.gather(*late):
        assert isinstance(refused, Refused)
        assert refused.code == "worker_superseded"
    found: Drained = await outcome(replicas.one, drain("ann", "second"))
    assert sorted(message.request_id for message in found.messages) == ["r-1", "r-2"]


async def test_two_locks_at_once(replicas: Replicas) -> None:
    """Of two workers that lock one call at two replicas at once, one owns it."""
    await service(replicas.one)
    for name in ("ann", "ben"):
        await outcome(replicas.one, registration(name))
    await outcome(replicas.one, call("r-1", Dispatch.RACE))
    async with replicas.locked("work", "state = 'ready'"):
        locks = [Lock(worker, f"session of {worker[-3:]}", "math", "r-1") for worker in (ANN, BEN)]
        asked = begun(outcome(replicas.one, locks[0])), begun(outcome(replicas.other, locks[1]))
        await replicas.waiting(2)
    found: list[Any] = list(await asyncio.gather(*asked))
    won = [each for each in found if isinstance(each, Locked)]
    lost = [each for each in found if isinstance(each, Refused)]
    assert (len(won), [each.code for each in lost]) == (1, ["already_locked"])


async def test_an_answer_and_a_deadline_at_once(replicas: Replicas) -> None:
    """A call that is answered while its deadline passes has one outcome."""
    await service(replicas.one)
    await outcome(replicas.one, registration("ann"))
    await outcome(replicas.one, call("r-1"))
    assert await drained(replicas.one, "ann") == ["r-1"]
    await replicas.observer.execute("UPDATE request SET deadline_at = 1")
    await replicas.observer.execute("UPDATE hall SET expired_until = 0")
    async with replicas.locked("work", "state = 'held'"):
        answer = Respond(ANN, "session of ann", "math", "r-1", Answer.SUCCESS, b"3", body=b"b")
        answering = begun(outcome(replicas.one, answer))
        await replicas.waiting(1)
        sweeping = begun(outcome(replicas.other, SweepDeadlines()))
        await replicas.waiting(2)
    assert isinstance(await answering, Responded)
    assert (await sweeping).changed == 0
    rows = await replicas.observer.fetch("SELECT answer FROM result")
    assert [row["answer"] for row in rows] == ["success"]
