"""What clients wait for ends with their login."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.ports.identity import DeleteClient, FindSessions
from hiringhall.ports.questions import Query
from tests.operations.parts import Conversation
from tests.wire.clients.counter import Counter, Stream, answered
from tests.wire.services.bureau import header, refused


async def waiting(made: Counter) -> tuple[str, list[Conversation], Stream]:
    """A call that goes on, of which a client waits for the outcome in three ways."""
    client = await made.client()
    request_id = await client.made_call()
    parked = [client.show(request_id, "?wait=30"), client.call(wait=30)]
    stream = client.follow(request_id)
    await made.following(3)
    await made.settle_down()
    return request_id, parked, stream


async def test_waits_end_with_the_login(made: Counter) -> None:
    """Whoever waits with a login that has ended is told 401, and gets no more of a stream."""
    request_id, parked, stream = await waiting(made)
    mine = made.operator().show(request_id, "?wait=30")
    await made.following(4)
    assert await made.hall.coalescer.one(DeleteClient("shop"))
    await made.rechecking.run_once()
    for conversation in parked:
        await refused(conversation, 401, "missing_or_invalid_bearer")
        assert header(await conversation.reply(), "www-authenticate")
    assert await stream.ended() == []
    await answered(await made.hire("w"), request_id)
    assert (await mine.json(200))["status"] == "success"


async def test_a_lost_ring_does_not_let_a_login_live_on(made: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Revoking ends what is waited for within 5 s, although nobody hears of it."""
    _, parked, stream = await waiting(made)
    await made.store.commit([DeleteClient("shop")])
    time = made.hall.identities._sessions.time
    monkeypatch.setattr(made.hall.identities._sessions, "time", lambda: time() + 3.6)
    await made.rechecking.run_once()
    for conversation in parked:
        await refused(conversation, 401, "missing_or_invalid_bearer")
    assert await stream.ended() == []


async def test_those_who_wait_cost_no_questions(made: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login is asked about as seldom for many that wait as for one, and for all logins at once."""
    first, second = await made.client("a"), await made.client("b")
    for client in (first, second):
        request_id = await client.made_call()
        for _ in range(5):
            client.show(request_id, "?wait=30")
    await made.following(10)
    await made.settle_down()
    asked: list[FindSessions] = []
    read = made.store.read

    async def noted(query: Query) -> Any:
        if isinstance(query, FindSessions):
            asked.append(query)
        return await read(query)

    monkeypatch.setattr(made.store, "read", noted)
    await made.rechecking.run_once()
    await made.settle_down()
    assert asked == []
    time = made.hall.identities._sessions.time
    monkeypatch.setattr(made.hall.identities._sessions, "time", lambda: time() + 3.6)
    await made.rechecking.run_once()
    await made.rechecking.run_once()
    await made.settle_down()
    assert [len(query.sids) for query in asked] == [2]
    assert len(made.hall.followers) == 10
