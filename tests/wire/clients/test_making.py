"""How calls are made, made once, and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.ports.calls import FindRequests, Submit
from hiringhall.ports.identity import PauseService
from hiringhall.ports.questions import Query
from tests.wire.clients.counter import ON_THE_MODEL, Counter, answered
from tests.wire.services.bureau import SERVICE, refused


@ON_THE_MODEL
async def test_what_a_call_says_reaches_the_store(made: Counter) -> None:
    """Each member of a call is stored with it."""
    client = await made.client()
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    body = {
        "method": f"{SERVICE}/hello", "params": {"a": 1}, "deadline_seconds": 90, "dispatch": "race", "priority": 7,
        "retries": 2, "requires": {"platform": "linux"}, "run_limit_seconds": 5,
    }  # fmt: skip
    await client.send("POST", "requests", body, traceparent=trace, Idempotency_Key="k").json(202)
    (ask,) = made.store.asked(Submit)
    assert (ask.client, ask.service, ask.method, ask.params) == ("shop", SERVICE, "hello", b'{"a": 1}')
    assert (ask.deadline_ms, ask.dispatch, ask.priority, ask.retries) == (90_000, "race", 7, 2)
    assert (ask.requires.platform, ask.run_limit_ms, ask.traceparent) == ("linux", 5_000, trace)
    assert len(ask.key) == len(ask.body) == 32


async def test_idempotency(made: Counter) -> None:
    """A repeat answers the present state of the request that the first call made."""
    worker, client = await made.hire("w"), await made.client()
    first = await client.call(key="k").json(202)
    assert await client.call(key="k").json(202) == first
    held = (await worker.ids())[0]
    assert held == first["request_id"]
    assert (await client.call(key="k").json(202))["status"] == "held"
    await worker.respond(held, result=5).json()
    assert (await client.call(key="k").json(200))["result"] == 5
    assert await worker.ids() == []


async def test_a_repeat_waits(made: Counter) -> None:
    """A repeat with `wait` waits for the outcome of the request that the first call made."""
    worker, client = await made.hire("w"), await made.client()
    first = client.call(key="k", wait=30)
    await made.following(1)
    await made.settle_down()
    first.hang_up()
    again = client.call(key="k", wait=30)
    await made.following(1)
    (request_id,) = await worker.ids()
    await worker.respond(request_id, result="x").json()
    assert (await again.json(200))["request_id"] == request_id


async def test_a_key_with_another_body(made: Counter) -> None:
    """Same key with another body: 422 `idempotency_key_reused`."""
    client = await made.client()
    await client.call(params=1, key="k").json(202)
    await refused(client.call(params=2, key="k"), 422, "idempotency_key_reused")


async def test_keys_are_the_clients_own(made: Counter) -> None:
    """Unique in the database on client + method + key."""
    shop, desk = await made.client("shop"), await made.client("desk")
    bodies = [
        await shop.call(key="k").json(202), await desk.call(key="k").json(202),
        await shop.call(f"{SERVICE}/other", key="k").json(202), await shop.call(key="").json(202),
        await shop.call(key="").json(202),
    ]  # fmt: skip
    assert len({body["request_id"] for body in bodies}) == 5


async def test_statuses_on_the_way(made: Counter) -> None:
    """Pending statuses: `queued`, `offered`, `held`, `cancelling`."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call(dispatch="race")
    await worker.ids()
    assert await client.status(request_id) == "offered"
    await worker.lock(request_id).json()
    assert await client.status(request_id) == "held"
    assert await client.withdraw(request_id).json(202) == {"request_id": request_id, "status": "cancelling"}
    assert await client.status(request_id) == "cancelling"


async def test_a_paused_service_queues(made: Counter) -> None:
    """Pausing a service leaves what is called queued."""
    client = await made.client()
    await made.hall.coalescer.one(PauseService(SERVICE, paused=True))
    worker = await made.hire("w")
    request_id = await client.made_call()
    assert await worker.ids() == []
    assert await client.status(request_id) == "queued"


async def test_an_error_is_retried_if_the_call_asked_for_it(made: Counter) -> None:
    """`error` is retried if the call asked for it; between attempts the call is queued."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call(retries=1)
    assert await worker.ids() == [request_id]
    await worker.respond(request_id, "error", error_text="crashed").json()
    assert await client.status(request_id) == "queued"


async def test_taking_back_what_nobody_holds(made: Counter) -> None:
    """Not yet held: 200 `cancelled`."""
    worker, client = await made.hire("w"), await made.client()
    waiting = client.call(wait=30)
    await made.following(1)
    await made.settle_down()
    request_id = made.store.asked(Submit)[0].request_id
    outcome = await client.withdraw(request_id).json(200)
    assert (outcome["request_id"], outcome["status"], outcome["result"]) == (request_id, "cancelled", None)
    assert outcome["error_text"]
    assert (await waiting.json(200))["status"] == "cancelled"
    assert await worker.ids() == []


async def test_taking_back_what_is_held(made: Counter) -> None:
    """Held: 202 `cancelling`, the worker is told by directive, and what it answers is the outcome."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await worker.ids()
    assert (await client.withdraw(request_id).json(202))["status"] == "cancelling"
    told = dict((await worker.beat().reply()).headers)
    assert told[b"hall-directive"] == b"cancel=" + request_id.encode()
    await worker.respond(request_id, result="done nevertheless").json()
    assert (await client.show(request_id).json(200))["result"] == "done nevertheless"


async def test_taking_back_what_is_finished(made: Counter) -> None:
    """Finished: 409 `already_finished` with member `outcome`."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await answered(worker, request_id, result=3544790567247868102)
    body = await refused(client.withdraw(request_id), 409, "already_finished")
    assert body["outcome"] == await client.show(request_id).json(200)
    assert b"3544790567247868102" in (await client.withdraw(request_id).reply()).body


async def test_taking_back_what_ends_in_this_very_moment(made: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 says that it is taken back: a call that its worker answers meanwhile is 409 `already_finished`."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await worker.ids()
    read = made.store.read

    async def read_later(query: Query) -> Any:
        """Looks at the call only after the worker has answered."""
        if isinstance(query, FindRequests):
            await worker.respond(request_id, result="done").reply()
        return await read(query)

    monkeypatch.setattr(made.store, "read", read_later)
    body = await refused(client.withdraw(request_id), 409, "already_finished")
    assert (body["outcome"]["status"], body["outcome"]["result"]) == ("success", "done")


async def test_an_operator_may_take_back_anybodys(made: Counter) -> None:
    """The operator sees the calls of all clients."""
    client = await made.client()
    request_id = await client.made_call()
    assert (await made.operator().withdraw(request_id).json(200))["status"] == "cancelled"
