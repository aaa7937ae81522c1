"""Lock and response: who owns a call, and whose answer counts."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import SweepRetries
from hiringhall.ports.calls import SweepDeadlines, Withdraw
from tests.wire.services.bureau import Bureau, header, on_databases, refused

RESULTS = (
    b"null", b"0", b"false", b'""', b"[]", b"[null]", b"3544790567247868102", b"1e400", b'"a\\u0000b"', b'{"a" : 1}',
)  # fmt: skip


async def taken(made: Bureau, worker: Any, **members: Any) -> str:
    """A call that the worker holds."""
    request_id = await made.submit(**members)
    assert await worker.ids() == [request_id]
    return request_id


# --- lock


@on_databases
async def test_the_first_lock_wins(made: Bureau) -> None:
    """200 for the winner (again on repeat), 409 for others."""
    first, second = await made.hire("a"), await made.hire("b")
    request_id = await made.race()
    assert await first.ids() == await second.ids() == [request_id]
    assert await second.lock(request_id).json() == {"request_id": request_id}
    await refused(first.lock(request_id), 409, "already_locked")
    assert await second.lock(request_id).json() == {"request_id": request_id}
    await second.respond(request_id, result=1).json()
    assert (await made.call(request_id)).result == b"1"


async def test_an_exclusive_call_may_be_locked_by_its_holder(made: Bureau) -> None:
    """A lock is 200 also for an exclusive unit that one already holds."""
    worker, other = await made.hire("a"), await made.hire("b")
    request_id = await made.submit()
    await worker.ids()
    await worker.lock(request_id).json()
    await refused(other.lock(request_id), 409, "already_locked")


async def test_any_live_eligible_worker_may_lock(made: Bureau) -> None:
    """Any live eligible worker may lock; one that never registered the method may not."""
    await made.hire("a")
    other, foreign = await made.hire("b"), await made.hire("c", "longtask")
    request_id = await made.race()
    await refused(foreign.lock(request_id), 409, "not_eligible")
    await other.lock(request_id).json()


@on_databases
async def test_unknown_calls_cannot_be_locked(made: Bureau) -> None:
    """404 unknown or another service's."""
    worker, foreign = await made.hire("a"), await made.hire("b", service="foreign")
    request_id = await made.race()
    await refused(worker.lock("r-none"), 404, "not_found")
    await refused(foreign.lock(request_id), 404, "not_found")
    await refused(worker.lock("r/../x?#%"), 404, "not_found")


@on_databases
async def test_ended_calls_cannot_be_locked(made: Bureau) -> None:
    """410 finished, cancelled or expired."""
    worker = await made.hire("a")
    done, cancelled, expired = await made.race(), await made.race(), await made.race(deadline_ms=1)
    await worker.lock(done).json()
    await worker.respond(done).json()
    await made.hall.coalescer.one(Withdraw(cancelled))
    await expire(made, expired)
    for request_id in (done, cancelled, expired):
        await refused(worker.lock(request_id), 410, "gone")


async def expire(made: Bureau, request_id: str) -> None:
    """Let the deadline of a call pass."""
    while (await made.call(request_id)).state is not State.EXPIRED:
        await made.hall.coalescer.one(SweepDeadlines())
        await made.turns(1)


async def test_a_path_that_cannot_be_read(made: Bureau) -> None:
    """A path that is no percent-encoded UTF-8 is 400 `malformed_request`."""
    worker = await made.hire("a")
    await refused(worker.send("PUT", "lock_request/%ff"), 400, "malformed_request")


# --- response


@on_databases
async def test_results_are_any_json(made: Bureau) -> None:
    """Any JSON value is a valid `result`; `null` is not "missing". Numbers travel digit for digit."""
    worker = await made.hire("w")
    for result in RESULTS:
        request_id = await taken(made, worker)
        body = b'{"request_id":"%b","status":"success","error_text":null,"result":%b}' % (request_id.encode(), result)
        assert await worker.send("POST", "response", body).json() == {"request_id": request_id, "retrying": False}
        call = await made.call(request_id)
        assert (call.answer, call.result, call.error_text) == (Answer.SUCCESS, result, None)


@on_databases
async def test_failures_tell_why(made: Bureau) -> None:
    """On failure result is null and error_text is what the client sees, exactly."""
    worker = await made.hire("w")
    for status, text in itertools.product(("failed", "error"), ("", "it broke", "a\u0000b ä€😀", "x" * 10_000)):
        request_id = await taken(made, worker)
        await worker.respond(request_id, status, error_text=text).json()
        call = await made.call(request_id)
        assert (call.answer, call.result, call.error_text) == (Answer(status), None, text)


async def test_a_failure_is_always_reportable(made: Bureau) -> None:
    """A failure without a text, or with a result, is accepted too."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    await worker.send("POST", "response", {"request_id": request_id, "status": "failed", "result": [1]}).json()
    call = await made.call(request_id)
    assert (call.answer, call.result, call.error_text) == (Answer.FAILED, None, "")


async def test_a_success_may_leave_out_its_result(made: Bureau) -> None:
    """Missing optional fields are defaulted: the result is null then."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    await worker.send("POST", "response", {"request_id": request_id, "status": "success"}).json()
    assert (await made.call(request_id)).result == b"null"


@on_databases
async def test_the_same_body_again(made: Bureau) -> None:
    """First accepted wins; the same worker repeating the same body: 200."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    for _ in range(3):
        assert await worker.respond(request_id, result=1).json() == {"request_id": request_id, "retrying": False}
    await refused(worker.respond(request_id, result=2), 409, "not_held")
    assert (await made.call(request_id)).result == b"1"


@on_databases
async def test_idempotency_key(made: Bureau) -> None:
    """A repeat with the same key and body is answered 200 from the present row; with another body: 422
    `idempotency_key_reused`."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    for _ in range(2):
        await worker.respond(request_id, key="k", result=1).json()
    await refused(worker.respond(request_id, key="k", result=2), 422, "idempotency_key_reused")


async def test_without_the_lease(made: Bureau) -> None:
    """A worker without the lease: 409."""
    worker, other = await made.hire("a"), await made.hire("b")
    request_id = await made.submit()
    await refused(other.respond(request_id), 409, "not_held")
    await worker.ids()
    await refused(other.respond(request_id), 409, "not_held")
    assert (await made.call(request_id)).state is State.HELD


@on_databases
async def test_a_late_answer_saves_a_second_run(made: Bureau) -> None:
    """Except the last holder while the work has not been handed to another."""
    worker, other = await made.hire("a"), await made.hire("b")
    request_id = await made.submit()
    drain = worker.drain()
    await drain.json()
    assert drain.lost is not None
    drain.lost()
    await made.settle_down()
    assert (await made.call(request_id)).state is State.READY
    await worker.respond(request_id, result=1).json()
    assert (await made.call(request_id)).result == b"1"
    assert await other.ids() == []


@on_databases
async def test_the_newer_holder_stands(made: Bureau) -> None:
    """A result from a worker that lost its lease to another holder is refused (409); the newer holder's result
    stands."""
    worker, other = await made.hire("a"), await made.hire("b")
    request_id = await made.submit()
    drain = worker.drain()
    await drain.json()
    assert drain.lost is not None
    drain.lost()
    await made.settle_down()
    assert await other.ids() == [request_id]
    await refused(worker.respond(request_id, result=1), 409, "not_held")
    await other.respond(request_id, result=2).json()
    assert (await made.call(request_id)).result == b"2"


async def test_unknown_calls_cannot_be_answered(made: Bureau) -> None:
    """Unknown id 404, and so is another service's."""
    worker, foreign = await made.hire("a"), await made.hire("b", service="foreign")
    request_id = await taken(made, worker)
    await refused(worker.respond("r-none"), 404, "not_found")
    await refused(foreign.respond(request_id), 404, "not_found")


@on_databases
async def test_after_the_deadline(made: Bureau) -> None:
    """After the deadline: 410."""
    worker = await made.hire("a")
    request_id = await taken(made, worker, deadline_ms=1)
    await expire(made, request_id)
    await refused(worker.respond(request_id), 410, "gone")


@on_databases
async def test_errors_are_retried_if_the_call_asked_for_it(made: Bureau) -> None:
    """No automatic retry of `failed`; `error` is retried if the call asked for it, other workers are preferred for
    5 s."""
    worker = await made.hire("a")
    made.hall.jitter = lambda: 0.0
    refusing = await taken(made, worker, retries=1)
    assert (await worker.respond(refusing, "failed", error_text="no").json())["retrying"] is False
    request_id = await taken(made, worker, retries=1)
    assert (await worker.respond(request_id, "error", error_text="oops").json())["retrying"] is True
    while (await made.call(request_id)).state is not State.READY:
        await made.hall.coalescer.one(SweepRetries())
        await made.turns(1)
    assert await worker.ids() == []
    other = await made.hire("b")
    assert await other.ids() == [request_id]
    assert (await other.respond(request_id, "error", error_text="oops").json())["retrying"] is False
    assert (await made.call(request_id)).answer is Answer.ERROR
    assert await made.causes(request_id) == ["first", "retry"]


@on_databases
async def test_a_child_of_a_broadcast(made: Bureau) -> None:
    """`broadcast`: its outcome is `success` with `answers`, one `{"worker_id","status","result","error_text"}` each."""
    first, second = await made.hire("a"), await made.hire("b")
    parent = await made.submit(dispatch=Dispatch.BROADCAST)
    (one,), (other,) = await first.ids(), await second.ids()
    await refused(second.respond(one), 404, "not_found")
    await first.respond(one, result=[1]).json()
    await second.respond(other, "failed", error_text="no").json()
    call = await made.call(parent)
    assert call.answer is Answer.SUCCESS
    assert call.result is not None
    assert b'"worker_id":"a","status":"success","result":[1],"error_text":null' in call.result
    assert b'"worker_id":"b","status":"failed","result":null,"error_text":"no"' in call.result


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"status": "done"}, "status"),
        ({"status": None}, "status"),
        ({"request_id": ""}, "request_id"),
        ({"request_id": 7}, "request_id"),
        ({"error_text": {"a": 1}}, "error_text"),
    ],
)
async def test_what_cannot_be_is_named(made: Bureau, members: dict[str, Any], field: str) -> None:
    """422 `validation_error` says which field and why, and the call is as it was."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    body = {"request_id": request_id, "status": "success", **members}
    told = await refused(worker.send("POST", "response", body), 422, "validation_error")
    assert told["detail"].startswith(field)
    assert (await made.call(request_id)).state is State.HELD


@pytest.mark.parametrize("result", [b"NaN", b"[1,]", b'"\\ud800"', b'"\xff"', b"01", b"[" * 101 + b"]" * 101, b""])
async def test_what_is_no_json(made: Bureau, result: bytes) -> None:
    """NaN/Infinity, lone surrogates, bad UTF-8, nesting over 100: 400 `malformed_json`."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    body = b'{"request_id":"%b","status":"success","result":%b}' % (request_id.encode(), result)
    await refused(worker.send("POST", "response", body), 400, "malformed_json")


async def test_content_types_are_ignored(made: Bureau) -> None:
    """JSON routes ignore Content-Type except `multipart/*` (415)."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    body = {"request_id": request_id, "status": "success"}
    asked = worker.send("POST", "response", body, Content_Type="multipart/form-data; boundary=x")
    await refused(asked, 415, "unsupported_media_type")
    await worker.send("POST", "response", body, Content_Type="text/plain").json()


@on_databases
async def test_a_cancelled_call_may_still_be_answered(made: Bureau) -> None:
    """Held: the worker is told by directive, and what it answers is the outcome."""
    worker = await made.hire("w")
    request_id = await taken(made, worker)
    assert await made.hall.coalescer.one(Withdraw(request_id)) is State.HELD
    asked = worker.beat()
    assert await asked.json() is True
    assert header(await asked.reply(), "hall-directive") == f"cancel={request_id}"
    asked = worker.respond(request_id, result="done all the same")
    await asked.json()
    assert (await made.call(request_id)).answer is Answer.SUCCESS
    assert header(await worker.beat().reply(), "hall-directive") is None
