"""`POST /client/requests`, `GET` and `DELETE /client/requests/{id}`: calls from their making to their outcome."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hiringhall.domain.topics import EVERYTHING, topic_of_request
from hiringhall.ports.calls import FindRequests, Submit
from hiringhall.ports.identity import PauseService
from tests.wire.clients.counter import Client, Counter
from tests.wire.services.bureau import SERVICE, ServiceWorker, refused

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


async def answered(worker: ServiceWorker, request_id: str, status: str = "success", **members: Any) -> None:
    """The worker drains and answers the call."""
    assert request_id in await worker.ids()
    await worker.respond(request_id, status, **members).json()


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
    assert [type(read) for read in made.store.reads].count(FindRequests) == 1


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


# --- who may


async def test_a_client_sees_only_its_own_requests(made: Counter) -> None:
    """A client sees only its own requests: another's is 404, to show, to take back and to follow."""
    shop, desk = await made.client("shop"), await made.client("desk")
    request_id = await shop.made_call()
    await refused(desk.show(request_id), 404, "not_found")
    await refused(desk.withdraw(request_id), 404, "not_found")
    assert await desk.follow(request_id).refused(404) == "not_found"
    assert await shop.status(request_id) == "queued"
    assert await made.operator().status(request_id) == "queued"


async def test_an_unknown_request(made: Counter) -> None:
    """An id that is none is 404."""
    client = await made.client()
    await refused(client.show("r-nobody"), 404, "not_found")
    await refused(client.withdraw("r-nobody"), 404, "not_found")
    assert await client.follow("r-nobody").refused(404) == "not_found"


async def test_a_client_may_call_only_what_it_is_allowed(made: Counter) -> None:
    """A client may call only what its `allow` patterns (shell wildcards over `service/method`) permit."""
    client = await made.client("shop", f"{SERVICE}/hel*", "other/x")
    await client.made_call(f"{SERVICE}/hello")
    await refused(client.call(f"{SERVICE}/longtask"), 403, "forbidden")
    await refused(client.call("other/xy"), 403, "forbidden")
    await refused(client.call("nosuch/hello"), 403, "forbidden")


async def test_the_operator_is_a_client(made: Counter) -> None:
    """The operator token is accepted as the client `operator`, allowed everything."""
    worker, operator = await made.hire("w"), made.operator()
    request_id = await operator.made_call()
    assert (await made.call(request_id)).client == "operator"
    await answered(worker, request_id, result=1)
    assert (await operator.show(request_id).json(200))["result"] == 1


async def test_tokens_of_others_open_nothing(made: Counter) -> None:
    """Without a token, or with a wrong one, 401; with a worker's, 403."""
    worker, client = await made.hire("w"), await made.client()
    request_id = await client.made_call()
    for token, status, code in (("wrong", 401, "missing_or_invalid_bearer"), (worker.token, 403, "forbidden")):
        other = Client(made, "shop", token)
        for conversation in (
            other.call(),
            other.show(request_id),
            other.withdraw(request_id),
            other.send("GET", "methods"),
        ):
            await refused(conversation, status, code)
        assert await other.follow(request_id).refused(status) == code
    bare = made.send("POST", "/client/requests", {"method": "kiwi/hello", "params": None})
    await refused(bare, 401, "missing_or_invalid_bearer")
    assert (b"www-authenticate", b'Bearer realm="hall"') in (await bare.reply()).headers


# --- what cannot be


async def test_unknown_service(made: Counter) -> None:
    """Unknown service: 404 `unknown_service`."""
    await refused(made.operator().call("nosuch/hello"), 404, "unknown_service")


async def test_unknown_method(made: Counter) -> None:
    """A method that none of the service's known workers ever registered: 404 `unknown_method` with the nearest
    names."""
    await made.hire("w", "hello", "longtask")
    body = await refused((await made.client()).call(f"{SERVICE}/helo"), 404, "unknown_method")
    assert body["nearest"][0] == "hello"


async def test_no_worker_has_ever_been_there(made: Counter) -> None:
    """No worker has ever been there: queued."""
    client = await made.client()
    assert await client.status(await client.made_call(f"{SERVICE}/anything")) == "queued"


async def test_no_worker_if_it_has_to_be_there(made: Counter) -> None:
    """`"if_no_worker": "fail"`: 503 `no_worker`; with one that is live it is queued."""
    client = await made.client()
    refusal = client.call(if_no_worker="fail")
    await refused(refusal, 503, "no_worker")
    await made.hire("w")
    await client.made_call(if_no_worker="fail")
    await refused(client.call(if_no_worker="fail", requires={"platform": "mars"}), 503, "no_worker")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed_json"), (b"", 400, "malformed_json"), (b'{"method": 5}', 422, "validation_error"),
        (b'{"method": "kiwi/hello"}', 422, "validation_error"),
        (b'{"method": "kiwi/hello", "params": 1, "wait": "x"}', 400, "invalid_wait"),
        (b'{"method": "kiwi/hello", "params": 1, "retries": 99}', 422, "validation_error"),
    ],
)  # fmt: skip
async def test_bad_bodies(made: Counter, body: bytes, status: int, code: str) -> None:
    """400 for what is no JSON, 422 for what cannot be."""
    await refused((await made.client()).send("POST", "requests", body), status, code)


async def test_a_form_with_parts(made: Counter) -> None:
    """JSON routes ignore Content-Type except `multipart/*` (415)."""
    client = await made.client()
    body = {"method": f"{SERVICE}/hello", "params": None}
    await refused(
        client.send("POST", "requests", body, Content_Type="multipart/form-data; boundary=x"),
        415,
        "unsupported_media_type",
    )
    await client.send("POST", "requests", body, Content_Type="text/plain").json(202)


async def test_a_full_queue(made: Counter) -> None:
    """10 000 queued per service, softly (429 `queue_full` + Retry-After); here a few."""
    await made.hire("w")
    object.__setattr__(made.hall.settings, "queue_limit", 2)
    client = await made.client()
    conversation = client.call()
    for _ in range(6):
        conversation = client.call()
        if (await conversation.reply()).status == 429:
            break
    await refused(conversation, 429, "queue_full")
    assert (b"retry-after", b"1") in (await conversation.reply()).headers


async def test_wrong_methods(made: Counter) -> None:
    """405 `method_not_allowed` with Allow."""
    client = await made.client()
    conversation = client.send("PUT", "requests/r-1")
    await refused(conversation, 405, "method_not_allowed")
    assert (b"allow", b"DELETE, GET, HEAD") in (await conversation.reply()).headers
    await refused(client.send("GET", "requests"), 405, "method_not_allowed")
    assert await client.follow("r-1", method="POST").refused(405) == "method_not_allowed"


# --- how calls are made


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


# --- taking back


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


async def test_an_operator_may_take_back_anybodys(made: Counter) -> None:
    """The operator sees the calls of all clients."""
    client = await made.client()
    request_id = await client.made_call()
    assert (await made.operator().withdraw(request_id).json(200))["status"] == "cancelled"


# --- broadcasts


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
