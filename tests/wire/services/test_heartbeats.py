"""Heartbeat, goodbye, directives, and what a worker says that it holds."""

from __future__ import annotations

from typing import Any

from hiringhall.operations.dismiss import dismiss
from hiringhall.ports.asks import DirectWorker, Reconcile
from tests.wire.services.bureau import Bureau, ServiceWorker, header, on_databases, refused


def later(made: Bureau, seconds: float) -> None:
    """Move the hall's clock on."""
    before = made.hall.time
    made.hall.time = lambda: before() + seconds


async def direct(made: Bureau, worker: ServiceWorker, **what: Any) -> None:
    """An operator directs a worker."""
    assert await made.hall.coalescer.one(DirectWorker(worker.key, **what)) is True


async def test_a_heartbeat_is_a_bare_truth(made: Bureau) -> None:
    """Bare `true` for a worker that registered; bare `false` for an id never registered."""
    worker = await made.log_in("w")
    reply = await worker.beat().reply()
    assert (reply.status, reply.body) == (200, b"false")
    await worker.register("hello")
    reply = await worker.beat().reply()
    assert (reply.status, reply.body) == (200, b"true")
    assert header(reply, "hall-heartbeat") == "20"


async def test_only_the_worker_itself(made: Bureau) -> None:
    """Only the worker itself may send it (403)."""
    worker = await made.hire("w")
    await made.hire("x")
    await refused(worker.beat("x"), 403, "worker_forbidden")
    await refused(worker.leave(worker_id="x"), 403, "worker_forbidden")


@on_databases
async def test_ids_are_percent_encoded(made: Bureau) -> None:
    """Routes split the raw path, then decode each part once."""
    worker = await made.hire("a/b %2F?ä")
    assert await worker.beat().json() is True
    assert await worker.leave().json() == {"returned": 0}


@on_databases
async def test_a_removed_worker(made: Bureau) -> None:
    """A removed worker's own tokens are 401; bare `false` for one that was removed and logged in again."""
    worker = await made.hire("w")
    assert await dismiss(made.hall, worker.key) is True
    await refused(worker.beat(), 401, "missing_or_invalid_bearer")
    assert await (await made.log_in("w")).beat().json() is False


@on_databases
async def test_what_a_removed_worker_held_returns(made: Bureau) -> None:
    """Deleting a worker releases its holds in the same transaction, and ends its parked drains."""
    worker, other = await made.hire("w"), await made.hire("x")
    request_id = await made.submit()
    assert await worker.ids() == [request_id]
    waiting = await worker.waiting()
    await dismiss(made.hall, worker.key)
    reply = await waiting.reply()
    assert reply.body == b"[]" or reply.status == 409
    assert await other.ids() == [request_id]


# --- goodbye


@on_databases
async def test_goodbye_ends_parked_drains(made: Bureau) -> None:
    """`PUT /worker/notify_worker_shutdown/{id}`: no new work, parked drains end with `[]`."""
    worker = await made.hire("w")
    waiting = await worker.waiting()
    assert await worker.leave().json() == {"returned": 0}
    assert await waiting.json() == []
    await made.submit()
    assert await worker.messages() == []


async def test_a_later_drain_parks_and_gets_nothing(made: Bureau) -> None:
    """After the goodbye a drain with `wait` waits its time, and nothing is handed to it."""
    worker = await made.hire("w")
    await worker.leave().json()
    waiting = await worker.waiting()
    await made.submit()
    await made.settle_down()
    assert not waiting.answered


@on_databases
async def test_what_is_unstarted_returns(made: Bureau) -> None:
    """Those that it names in an optional body `{"unstarted": [ids]}` return at once (cause `shutdown`); everything else
    it drained may be running and may still be answered until its lease ends."""
    worker = await made.hire("w")
    ids = [await made.submit() for _ in range(5)]
    assert await worker.ids() == ids
    other = await made.hire("x")
    waiting = await other.waiting()
    assert await worker.leave({"unstarted": ids[1:]}).json() == {"returned": 4}
    handed = [message["request_id"] for message in await waiting.json()]
    while more := await other.ids():
        handed += more
    assert sorted(handed) == ids[1:]
    assert await made.causes(ids[1]) == ["first", "shutdown"]
    await worker.respond(ids[0]).json()


@on_databases
async def test_what_was_offered_returns(made: Bureau) -> None:
    """Offered messages that it has not locked return at once."""
    worker = await made.hire("w")
    request_id = await made.race()
    assert await worker.ids() == [request_id]
    assert await worker.leave().json() == {"returned": 1}
    await refused(worker.lock(request_id), 409, "not_eligible")


async def test_goodbye_without_a_body_or_with_an_odd_one(made: Bureau) -> None:
    """The body is optional: none, null and an empty object say the same; what is no JSON is refused."""
    worker = await made.hire("w")
    for body in (b"", b" ", b"null", b"{}", b'{"unstarted":null}', b'{"unstarted":[],"x":1}'):
        assert await worker.leave(body).json() == {"returned": 0}
    await refused(worker.leave(b"{"), 400, "malformed_json")
    await refused(worker.leave({"unstarted": "r-1"}), 422, "validation_error")


@on_databases
async def test_a_worker_that_comes_back(made: Bureau) -> None:
    """A new registration ends the goodbye."""
    worker = await made.hire("w")
    await worker.leave().json()
    back = await made.hire("w")
    request_id = await made.submit()
    assert await back.ids() == [request_id]


# --- directives


async def test_directives_ride_on_every_answer(made: Bureau) -> None:
    """Directives ride on *every* answer to that worker as the header `Hall-Directive`."""
    worker = await made.hire("w")
    await direct(made, worker, terminate=True)
    for asked in (
        worker.beat(),
        worker.drain(),
        worker.drain("?wait=-1"),
        worker.lock("r-none"),
        worker.respond("r-none"),
        worker.tell([]),
        worker.send("POST", "response", b"{"),
        worker.leave(),
    ):
        assert header(await asked.reply(), "hall-directive") == "terminate"


@on_databases
async def test_a_directive_ends_parked_drains(made: Bureau) -> None:
    """A new directive ends the worker's parked call at once with the empty answer; later ones park without getting
    work."""
    worker = await made.hire("w")
    waiting = await worker.waiting()
    await direct(made, worker, quiet=True)
    reply = await waiting.reply()
    assert (reply.body, header(reply, "hall-directive")) == (b"[]", "quiet")
    later_one = await worker.waiting()
    request_id = await made.submit()
    await made.settle_down()
    assert not later_one.answered
    await direct(made, worker, quiet=False)
    assert [message["request_id"] for message in await later_one.json()] == [request_id]


async def test_a_quiet_worker_does_not_swallow_a_ring(made: Bureau) -> None:
    """One new unit wakes one receiver that may be given it."""
    quiet, other = await made.hire("q"), await made.hire("w")
    await made.submit()
    await other.ids()
    await direct(made, quiet, quiet=True)
    await quiet.waiting()
    waiting = await other.waiting()
    request_id = await made.submit()
    assert [message["request_id"] for message in await waiting.json()] == [request_id]


# --- what a worker says that it holds


async def test_what_is_not_named_is_asked_back(made: Bureau) -> None:
    """What it holds but does not name, and was handed more than min(10 s, timeout / 2) before the call arrived, returns
    at once (cause `answer_lost`)."""
    worker = await made.hire("w")
    request_id = await made.submit()
    assert await worker.ids(Hall_Holding="") == [request_id]
    later(made, 11)
    assert await worker.beat(Hall_Holding="").json() is True
    await made.settle_down()
    assert made.store.asked(Reconcile)[-1] == Reconcile(worker.key, frozenset())


@on_databases
async def test_what_is_named_stays(made: Bureau) -> None:
    """Request ids, comma-separated, name what is held."""
    worker = await made.hire("w")
    first, second = await made.submit(), await made.submit()
    assert await worker.ids(Hall_Holding="") == [first, second]
    await made.settle_down()
    before = len(made.store.asked(Reconcile))
    later(made, 11)
    await worker.beat(Hall_Holding=f"{first}, {second}").json()
    await made.settle_down()
    named = [ask.named for ask in made.store.asked(Reconcile)[before:]]
    assert named in ([], [frozenset({("", first, 0), ("", second, 0)})])
    assert (await made.call(first)).holder == worker.key


async def test_what_was_answered_is_not_held(made: Bureau) -> None:
    """After its answer a call need not be named; a locked one has to be."""
    worker = await made.hire("w")
    request_id, raced = await made.submit(), await made.race()
    await worker.ids(Hall_Holding="")
    await worker.ids()
    known = made.hall.presence.fresh(worker.key, made.hall.time())
    assert known is not None
    assert known.open is not None
    assert {name[1] for name, _ in known.open.values()} == {request_id}
    await worker.respond(request_id).json()
    assert not known.open
    await worker.lock(raced).json()
    assert {name[1] for name, _ in known.open.values()} == {raced}
