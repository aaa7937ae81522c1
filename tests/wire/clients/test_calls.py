"""`POST /client/requests`, `GET` and `DELETE /client/requests/{id}`: calls from their making to their outcome."""

from __future__ import annotations

import json
import re

import pytest

from hiringhall.domain.topics import EVERYTHING, topic_of_request
from hiringhall.ports.calls import FindNews, FindRequests
from tests.wire.clients.counter import ON_THE_MODEL, Counter, answered
from tests.wire.services.bureau import refused

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


async def test_a_call_that_is_answered_within_its_wait(made: Counter) -> None:
    """`POST /client/requests` → 200 with the outcome if it came within `wait`."""
    worker, client = await made.hire("w"), await made.client()
    call = client.call(params={"name": "Ann"}, wait=30)
    await made.following(1)
    (message,) = await worker.messages("?wait=5")
    assert message["params"] == {"name": "Ann"}
    await worker.respond(message["request_id"], result="Hello, Ann").json()
    outcome = await call.json(200)
    times = {name: outcome.pop(name) for name in ("created_at", "started_at", "finished_at", "deadline_at")}
    assert outcome == {
        "request_id": message["request_id"], "status": "success", "result": "Hello, Ann", "error_text": None,
    }  # fmt: skip
    assert all(TIME(at) for at in times.values()), times
    assert times["created_at"] <= times["started_at"] <= times["finished_at"] < times["deadline_at"]
    assert len(made.hall.followers) == 0


async def test_a_call_without_wait_is_answered_at_once(made: Counter) -> None:
    """A client's POST without `wait` answers at once: 202 `{"request_id","status"}`; the same id then lives on as a
    durable unit of work."""
    client = await made.client()
    body = await client.call().json(202)
    assert body == {"request_id": body["request_id"], "status": "queued"}
    assert re.fullmatch(r"r-[\w-]{22}", body["request_id"])
    worker = await made.hire("w")
    await answered(worker, body["request_id"], result=1)
    assert (await client.show(body["request_id"]).json(200))["result"] == 1


async def test_a_call_that_is_not_answered_within_its_wait(made: Counter) -> None:
    """Else 202, after 0.9 to 1.0 of its time, with how it stands then."""
    worker, client = await made.hire("w"), await made.client()
    started = made.hall.time()
    call = client.call(wait=0.5)
    assert len(await worker.messages("?wait=5")) == 1
    assert (await call.json(202))["status"] == "held"
    assert 0.45 <= made.hall.time() - started < 1.5
    assert len(made.hall.followers) == 0


async def test_a_show_waits(made: Counter) -> None:
    """`GET /client/requests/{id}?wait=N`: 200 with the outcome, 202 while pending."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    waiting = client.show(request_id, "?wait=30")
    await made.following(1)
    await answered(worker, request_id, result=[1, 2])
    assert (await waiting.json(200))["result"] == [1, 2]
    assert (await client.show(request_id).json(200))["result"] == [1, 2]


@ON_THE_MODEL
@pytest.mark.parametrize("wait", ["-1", "soon", "", "nan", "1_0", "inf"])
async def test_a_wait_that_cannot_be(made: Counter, wait: str) -> None:
    """Negative or non-numeric is 400 `invalid_wait`."""
    client = await made.client()
    request_id = await client.made_call()
    await refused(client.show(request_id, f"?wait={wait}"), 400, "invalid_wait")


async def test_many_who_wait_cost_one_read(made: Counter) -> None:
    """One read for each turn of the loop serves all that were rung."""
    worker, client = await made.hire("w"), await made.client()
    ids = [await client.made_call() for _ in range(5)]
    waiting = [client.show(request_id, "?wait=30") for request_id in ids for _ in range(3)]
    await made.following(15)
    await worker.ids()
    for request_id in ids:
        await worker.respond(request_id, result=request_id).json()
    for place, show in enumerate(waiting):
        assert (await show.json(200))["result"] == ids[place // 3]
    made.store.reads.clear()
    again = [client.show(request_id) for request_id in ids]
    for show in again:
        await show.json(200)
    assert [type(read) for read in made.store.reads].count(FindRequests) == 1


async def test_a_lost_ring_is_noticed(made: Counter) -> None:
    """A re-check about once a second, one statement per process for all waiters together, covers a lost wake-up."""
    worker, client = await made.hire("w"), await made.client()
    ids = [await client.made_call() for _ in range(3)]
    waiting = [client.show(request_id, "?wait=30") for request_id in ids]
    await made.following(3)
    await made.settle_down()
    made.wakeups._hooks.remove(made.hall.followers._rung)
    for request_id in await worker.ids():
        await worker.respond(request_id, result=None).json()
    await made.settle_down()
    assert not any(show.answered for show in waiting)
    made.store.reads.clear()
    await made.rechecking.run_once()
    for show in waiting:
        await show.json(200)
    assert [type(read) for read in made.store.reads] == [FindNews, FindRequests]


async def test_a_re_check_asks_one_question(made: Counter) -> None:
    """One statement per process for all waiters together, and nothing more if nothing happened."""
    client = await made.client()
    waiting = [client.show(await client.made_call(), "?wait=30") for _ in range(3)]
    await made.following(3)
    await made.settle_down()
    made.store.reads.clear()
    await made.rechecking.run_once()
    await made.settle_down()
    assert [type(read) for read in made.store.reads] == [FindNews]
    for show in waiting:
        show.hang_up()


async def test_rings_that_may_be_lost_have_all_looked_at(made: Counter) -> None:
    """The topic that stands for all has every follower look, and one who finds nothing new waits on."""
    client = await made.client()
    waiting = client.show(await client.made_call(), "?wait=30")
    await made.following(1)
    await made.settle_down()
    before = len(made.store.reads)
    made.wakeups.ring(EVERYTHING)
    await made.settle_down()
    assert len(made.store.reads) == before + 1
    assert not waiting.answered
    waiting.hang_up()


async def test_a_client_that_goes_away_costs_nothing(made: Counter) -> None:
    """A waiting client that disconnects is forgotten, and the request lives on."""
    worker, client = await made.hire("w"), await made.client()
    call = client.call(wait=30)
    await made.following(1)
    await made.settle_down()
    call.hang_up()
    assert len(made.hall.followers) == 0
    (request_id,) = await worker.ids()
    await worker.respond(request_id, result=5).json()
    assert (await client.show(request_id).json(200))["result"] == 5


@ON_THE_MODEL
async def test_nothing_of_the_request_is_kept_while_it_waits(made: Counter) -> None:
    """Many may wait for long, so that body and headers are let go."""
    client = await made.client()
    call = client.call(params="x" * 10_000, wait=30)
    await made.following(1)
    assert call.request.body == b""
    assert list(call.request.headers) == []
    call.hang_up()


async def test_the_end_of_the_process_answers_who_waits(made: Counter) -> None:
    """At shutdown waiting answers become 202, and so do those that come later."""
    client = await made.client()
    request_id = await client.made_call()
    waiting, call = client.show(request_id, "?wait=30"), client.call(wait=30)
    await made.following(2)
    await made.settle_down()
    made.hall.drain()
    assert (await waiting.json(202))["status"] == "queued"
    assert (await call.json(202))["status"] == "queued"
    assert (await client.call(wait=30).json(202))["status"] == "queued"
    assert (await client.show(request_id, "?wait=30").json(202))["status"] == "queued"


async def test_a_database_that_is_away(made: Counter) -> None:
    """503 `unavailable` with Retry-After, for those who wait and for those who come."""
    client = await made.client()
    request_id = await client.made_call()
    waiting = client.show(request_id, "?wait=30")
    await made.following(1)
    await made.settle_down()
    made.store.away = True
    await made.rechecking.run_once()
    for conversation in (waiting, client.show(request_id), client.call(), client.withdraw(request_id)):
        await refused(conversation, 503, "unavailable")
        assert (b"retry-after", b"1") in (await conversation.reply()).headers


@pytest.mark.parametrize(
    ("status", "told"), [("failed", "too old"), ("error", "unknown method"), ("failed", ""), ("error", "a\u0000b")]
)
async def test_a_call_that_is_not_done(made: Counter, status: str, told: str) -> None:
    """`failed` → the method ran and refused (client sees error_text); `error` → worker-side error; result is null."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await answered(worker, request_id, status, error_text=told)
    outcome = await client.show(request_id).json(200)
    assert (outcome["status"], outcome["result"], outcome["error_text"]) == (status, None, told)


@pytest.mark.parametrize(
    "result",
    [b"null", b"3544790567247868102", b"1e400", b"0.1000000000000000055", b'"\\u0000"', b"[1, 2 ]", b'{"a":1}'],
)
async def test_results_travel_digit_for_digit(made: Counter, result: bytes) -> None:
    """Numbers travel digit for digit: payloads are kept as raw JSON text."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await worker.ids()
    body = b'{"request_id": "%b", "status": "success", "error_text": null, "result": %b}' % (
        request_id.encode(),
        result,
    )
    await worker.send("POST", "response", body).json()
    assert b'"result":' + result + b"," in (await client.show(request_id).reply()).body


async def test_a_broadcast_gathers_answers(made: Counter) -> None:
    """`broadcast`: its outcome is `success` with `answers`, one `{"worker_id","status","result","error_text"}` each;
    `result` is null."""
    ann, ben, client = await made.hire("ann"), await made.hire("ben"), await made.client()
    call = client.call(params=1, dispatch="broadcast", wait=30)
    await made.following(1)
    for worker, status in ((ann, "success"), (ben, "failed")):
        (message,) = await worker.messages("?wait=5")
        assert message["lock_required"] is False
        error_text = None if status == "success" else "no"
        await worker.respond(message["request_id"], status, result=1.50, error_text=error_text).json()
    outcome = await call.json(200)
    assert (outcome["status"], outcome["result"], outcome["error_text"]) == ("success", None, None)
    assert sorted(outcome["answers"], key=lambda answer: answer["worker_id"]) == [
        {"worker_id": "ann", "status": "success", "result": 1.5, "error_text": None},
        {"worker_id": "ben", "status": "failed", "result": None, "error_text": "no"},
    ]


async def test_a_broadcast_to_nobody(made: Counter) -> None:
    """No live worker: 503 `no_worker`."""
    await refused((await made.client()).call(dispatch="broadcast"), 503, "no_worker")


async def test_an_outcome_is_json(made: Counter) -> None:
    """The body of an outcome is one JSON object."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    await answered(worker, request_id, result="ä")
    assert json.loads((await client.show(request_id).reply()).body)["result"] == "ä"
    made.wakeups.ring(topic_of_request(request_id))
