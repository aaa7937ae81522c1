"""The exam on service calls, part 5: broadcasts and their children."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hiringhall.domain.call import Answer, Dispatch, Requires
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import RemoveWorker, Return, SweepSilent
from hiringhall.ports.calls import Drained, Goodbye, Submitted, SweepDeadlines, Withdraw
from tests.storage.call_desk import ANN, BEN, CAT, CallDesk
from tests.storage.desk import refused

TO_ALL = Dispatch.BROADCAST
LOST = ("error", None, "worker lost")


async def answers(calls: CallDesk, request_id: str) -> dict[str, tuple[Any, Any, Any]]:
    """What a broadcast gathered: status, result and error text by worker id."""
    view = await calls.view(request_id)
    assert view.answer is Answer.SUCCESS, view
    assert view.result is not None
    members = json.loads(view.result)
    assert list(members) == ["answers"]
    assert [list(one) for one in members["answers"]] == [["worker_id", "status", "result", "error_text"]] * len(
        members["answers"]
    )
    return {one["worker_id"]: (one["status"], one["result"], one["error_text"]) for one in members["answers"]}


async def broadcast(calls: CallDesk, request_id: str = "r-1", **members: Any) -> None:
    """Submit a broadcast, which has to be accepted."""
    assert await calls.submit(request_id, dispatch=TO_ALL, **members) == Submitted(request_id)


async def child_of(calls: CallDesk, worker: str) -> str:
    """The id of the child that a worker drains."""
    return (await calls.take_call(worker)).request_id


async def test_each_worker_gets_a_child(calls: CallDesk) -> None:
    """`broadcast`: one child per live eligible worker, held when drained under a request id of its own, no lock."""
    await calls.hire(ANN, BEN)
    await calls.hire(CAT, methods=("mul",))
    await broadcast(calls, params=b"[7]", traceparent="00-1-2-01")
    assert [calls.rung_own(worker) for worker in (ANN, BEN, CAT)] == [1, 1, 0]
    parent = await calls.view("r-1")
    assert (parent.state, parent.dispatch, parent.answer) == (State.WAITING, TO_ALL, None)
    seen = set()
    for worker in (ANN, BEN):
        message = await calls.take_call(worker)
        assert (message.method, message.params, message.lock_required) == ("add", b"[7]", False)
        assert message.traceparent == "00-1-2-01"
        view = await calls.view(message.request_id)
        assert (view.state, view.holder, view.client, view.service) == (State.HELD, worker, "web", "math")
        assert view.deadline_at == parent.deadline_at
        assert await calls.drain(worker) == Drained((), drained=True)
        seen.add(message.request_id)
    assert len(seen | {"r-1"}) == 3
    assert await calls.drained(CAT) == []


async def test_answers_are_gathered(calls: CallDesk) -> None:
    """Its outcome is `success` with `answers`, one for each worker, whatever each of them answered."""
    await calls.hire(ANN, BEN, CAT)
    await broadcast(calls)
    children = [await child_of(calls, worker) for worker in (ANN, BEN, CAT)]
    await calls.answer(BEN, children[1], Answer.FAILED, error_text='no "ü" \x00')
    await calls.answer(CAT, children[2], Answer.ERROR, error_text="crash")
    assert not calls.rung_request("r-1")
    assert await calls.stands("r-1") == "waiting"
    await calls.answer(ANN, children[0], result=b'{"n": 1e2}')
    assert calls.rung_request("r-1")
    assert calls.rung_request(children[0])
    assert await answers(calls, "r-1") == {
        "ann": ("success", {"n": 100.0}, None),
        "ben": ("failed", None, 'no "ü" \x00'),
        "cat": ("error", None, "crash"),
    }
    view = await calls.view("r-1")
    assert b'{"n": 1e2}' in (view.result or b""), "results travel digit for digit"
    assert (view.state, view.error_text, view.finished_at) == (State.DONE, None, calls.now)


async def test_nobody_is_live(calls: CallDesk) -> None:
    """No live worker: `no_worker`."""
    await calls.service()
    refused(await calls.submit("r-1", dispatch=TO_ALL), "no_worker")
    await calls.hire(ANN, BEN, CAT)
    await calls.away(ANN, "quiet")
    await calls.away(BEN, "leaving")
    await calls.away(CAT, "terminate")
    refused(await calls.submit("r-1", dispatch=TO_ALL), "no_worker")


async def test_who_requires_what_is_lacking(calls: CallDesk) -> None:
    """A broadcast goes to those workers alone who satisfy what it requires."""
    await calls.hire(ANN, platform="linux")
    await calls.hire(BEN, platform="windows")
    await broadcast(calls, requires=Requires(platform="windows"))
    assert await calls.drained(ANN) == []
    await calls.answer(BEN, await child_of(calls, BEN))
    assert list(await answers(calls, "r-1")) == ["ben"]


async def test_a_later_worker_has_no_part(calls: CallDesk) -> None:
    """A worker that registers after the call gets no child of it."""
    await calls.hire(ANN)
    await broadcast(calls)
    await calls.hire(BEN)
    assert await calls.drained(BEN) == []
    await calls.answer(ANN, await child_of(calls, ANN))
    assert list(await answers(calls, "r-1")) == ["ann"]


async def test_a_child_is_nobody_elses(calls: CallDesk) -> None:
    """Neither lock nor answer of another worker is accepted for a child."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    child = await child_of(calls, ANN)
    refused(await calls.lock(BEN, child), "not_found")
    refused(await calls.respond(BEN, child), "not_found")
    refused(await calls.lock(BEN, "r-1"), "already_locked")
    refused(await calls.respond(BEN, "r-1"), "not_held")
    assert (await calls.locked(ANN, child)).again


async def test_a_child_returns_to_its_worker(calls: CallDesk) -> None:
    """A child whose hand-over was lost waits for the same worker again."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    message = await calls.take_call(ANN)
    await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST))
    assert calls.rung_own(ANN) == 1
    again = await calls.take_call(ANN)
    assert (again.request_id, again.version > message.version) == (message.request_id, True)


async def test_a_child_is_retried(calls: CallDesk) -> None:
    """A child whose worker reports an error is retried there if the call asked for it, before it is gathered."""
    await calls.hire(ANN)
    await broadcast(calls, retries=1)
    child = await child_of(calls, ANN)
    assert (await calls.answer(ANN, child, Answer.ERROR)).retrying
    assert await calls.stands("r-1") == "waiting"
    await calls.retry()
    calls.now += 5_000
    assert await child_of(calls, ANN) == child
    await calls.answer(ANN, child)
    assert (await answers(calls, "r-1"))["ann"] == ("success", 3, None)


async def test_a_restarted_worker_gets_its_child_again(calls: CallDesk) -> None:
    """A child that the old incarnation held returns to the new one."""
    await calls.hire(ANN)
    await broadcast(calls)
    child = await child_of(calls, ANN)
    await calls.register(ANN)
    assert await child_of(calls, ANN) == child


@pytest.mark.parametrize("drained", [False, True])
async def test_a_worker_goes_offline(calls: CallDesk, drained: bool) -> None:
    """A child whose worker goes offline, whether or not it was drained: `error`, 'worker lost'."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    await calls.answer(ANN, await child_of(calls, ANN))
    child = await child_of(calls, BEN) if drained else None
    await calls.away(BEN, "offline")
    assert calls.rung_request("r-1")
    assert await answers(calls, "r-1") == {"ann": ("success", 3, None), "ben": LOST}
    if child is not None:
        await calls.pass_time(10, ANN, BEN)
        refused(await calls.respond(BEN, child), "not_held")


async def test_a_worker_that_comes_back_in_time(calls: CallDesk) -> None:
    """As long as its worker is not offline, a child that was not drained yet waits for it."""
    await calls.hire(ANN)
    await broadcast(calls)
    await calls.pass_time(calls.terms.visibility_timeout_ms - 1_000)
    await calls.ask(SweepSilent())
    await calls.answer(ANN, await child_of(calls, ANN))
    assert (await answers(calls, "r-1"))["ann"] == ("success", 3, None)


async def test_a_worker_is_removed(calls: CallDesk) -> None:
    """A child whose worker is removed: `error`, 'worker lost', whether or not it was drained."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    await child_of(calls, ANN)
    assert await calls.ask(RemoveWorker(ANN)) is True
    assert await calls.stands("r-1") == "waiting"
    assert await calls.ask(RemoveWorker(BEN)) is True
    assert calls.rung_request("r-1")
    assert await answers(calls, "r-1") == {"ann": LOST, "ben": LOST}


async def test_a_worker_says_goodbye(calls: CallDesk) -> None:
    """A child that was not drained when its worker says goodbye is lost; so is one that it names as unstarted; one that
    it is at may still be answered."""
    await calls.hire(ANN, BEN, CAT)
    await broadcast(calls)
    started, unstarted = await child_of(calls, ANN), await child_of(calls, BEN)
    for worker in (ANN, BEN, CAT):
        await calls.ask(Goodbye(worker, worker, frozenset({unstarted})))
    assert await calls.stands("r-1") == "waiting"
    await calls.answer(ANN, started)
    assert await answers(calls, "r-1") == {"ann": ("success", 3, None), "ben": LOST, "cat": LOST}


async def test_withdrawn(calls: CallDesk) -> None:
    """A withdrawn broadcast ends at once, with its children that nobody holds; holders of others are told to stop."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    child = await child_of(calls, ANN)
    assert await calls.ask(Withdraw("r-1", "web")) is State.CANCELLED
    assert calls.rung_request("r-1")
    assert calls.rung_for(ANN)
    assert await calls.stands("r-1") == "cancelled: cancelled"
    assert await calls.drained(BEN) == []
    assert (await calls.view(child)).cancelling
    assert (await calls.worker(ANN)).cancels == (child,)
    await calls.answer(ANN, child)
    assert await calls.stands("r-1") == "cancelled: cancelled"


async def test_a_withdrawn_part(calls: CallDesk) -> None:
    """A part that is withdrawn by itself is gathered as `cancelled`."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    children = {worker: await child_of(calls, worker) for worker in (ANN, BEN)}
    await calls.answer(ANN, children[ANN])
    assert await calls.ask(Withdraw(children[BEN], "web")) is State.HELD
    await calls.ask(RemoveWorker(BEN))
    assert await answers(calls, "r-1") == {"ann": ("success", 3, None), "ben": ("cancelled", None, None)}


async def test_expired(calls: CallDesk) -> None:
    """A broadcast whose deadline passes is expired, whatever was answered by then, and so are its open children."""
    await calls.hire(ANN, BEN, CAT)
    await broadcast(calls, deadline_ms=5_000)
    await calls.answer(ANN, await child_of(calls, ANN))
    child = await child_of(calls, BEN)
    calls.now += 5_000
    swept = await calls.ask(SweepDeadlines())
    assert swept.changed == 3
    assert calls.rung_for(BEN)
    assert await calls.stands("r-1") == "expired: expired"
    assert (await calls.view("r-1")).result is None
    assert await calls.stands(child) == "expired: expired"
    assert await calls.drained(CAT) == []


async def test_answers_of_one_batch(calls: CallDesk) -> None:
    """The last two children answered together end the broadcast once."""
    await calls.hire(ANN, BEN)
    await broadcast(calls)
    children = {worker: await child_of(calls, worker) for worker in (ANN, BEN)}
    await calls.answer_all(children)
    assert await answers(calls, "r-1") == {"ann": ("success", 3, None), "ben": ("success", 3, None)}
    assert [line.move for line in await calls.past("r-1")] == ["submit", "gather"]


async def test_too_many(calls: CallDesk) -> None:
    """At most 1 000 children."""
    await calls.service()
    await calls.crowd(1_001)
    refused(await calls.submit("r-1", dispatch=TO_ALL), "validation_error")
