"""The exam on service calls, part 8: what operators do with calls and services."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import Move, State
from hiringhall.ports.asks import Steer, SweepRetries
from hiringhall.ports.calls import CountCalls, ForgetCalls, ListMethods, SweepDeadlines, Withdraw
from hiringhall.ports.identity import DeleteService, FindServices
from hiringhall.ports.questions import FindWorkers
from tests.storage.call_desk import ADD, ANN, BEN, DAY_MS, FOREIGN, MATH, CallDesk
from tests.storage.desk import refused


async def steer(calls: CallDesk, request_id: str, move: Move) -> Any:
    """Carry out an operator's verb on a call."""
    return await calls.ask(Steer("", "", move, work=(await calls.view(request_id)).work))


async def test_cancel(calls: CallDesk) -> None:
    """Cancelling ends a call at once, whoever holds it; the holder is told and what it answers is refused."""
    await calls.hire(ANN)
    await calls.calls("r-1", "r-2")
    await calls.take_call(ANN, limit=1)
    for request_id in ("r-1", "r-2"):
        assert await steer(calls, request_id, Move.CANCEL) is State.CANCELLED
        assert calls.rung_request(request_id)
        assert await calls.stands(request_id) == "cancelled: cancelled"
        refused(await steer(calls, request_id, Move.CANCEL), "wrong_state")
    assert (await calls.worker(ANN)).cancels == ("r-1",)
    refused(await calls.respond(ANN, "r-1"), "gone")
    assert (await calls.worker(ANN)).cancels == ()


async def test_cancel_a_broadcast(calls: CallDesk) -> None:
    """A broadcast is cancelled together with its children, held or not."""
    await calls.hire(ANN, BEN)
    await calls.submit("r-1", dispatch=Dispatch.BROADCAST)
    child = (await calls.take_call(ANN)).request_id
    assert await steer(calls, "r-1", Move.CANCEL) is State.CANCELLED
    assert await calls.stands("r-1") == "cancelled: cancelled"
    assert await calls.stands(child) == "cancelled: cancelled"
    assert await calls.drained(BEN) == []


async def test_retry(calls: CallDesk) -> None:
    """A call that failed is tried again, attempts from zero; one that was answered, or is too late, is not."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", retries=1)
    await calls.calls("r-2", "r-3")
    assert await calls.drained(ANN) == ["r-1", "r-2"]
    await calls.answer(ANN, "r-1", Answer.FAILED)
    await calls.answer(ANN, "r-2")
    assert await steer(calls, "r-1", Move.RETRY) is State.READY
    assert calls.rung_lane() == 1
    view = await calls.view("r-1")
    assert (view.answer, view.error_text, view.finished_at, view.attempts) == (None, None, None, 0)
    refused(await steer(calls, "r-2", Move.RETRY), "wrong_state")
    refused(await steer(calls, "r-3", Move.RETRY), "wrong_state")
    assert await calls.drained(BEN, limit=1) == ["r-1"]
    assert (await calls.past("r-1"))[-1].cause == "operator"
    assert (await calls.answer(BEN, "r-1", Answer.ERROR)).retrying
    assert await steer(calls, "r-1", Move.RETRY) is State.READY
    assert (await calls.ask(SweepRetries())).changed == 0
    assert (await calls.view("r-1")).attempts == 0


async def test_no_retry_after_the_deadline(calls: CallDesk) -> None:
    """A failed call whose deadline has passed is not tried again."""
    await calls.hire(ANN)
    await calls.calls("r-1", deadline_ms=5_000)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", Answer.FAILED)
    calls.now += 5_000
    refused(await steer(calls, "r-1", Move.RETRY), "wrong_state")
    await calls.ask(SweepDeadlines())
    assert await calls.stands("r-1") == "failed: failed"


async def test_no_retry_of_a_child(calls: CallDesk) -> None:
    """A part of a broadcast that has been counted as ended is not tried again."""
    await calls.hire(ANN, BEN)
    await calls.submit("r-1", dispatch=Dispatch.BROADCAST)
    child = (await calls.take_call(ANN)).request_id
    await calls.answer(ANN, child, Answer.FAILED)
    refused(await steer(calls, child, Move.RETRY), "wrong_state")
    assert await calls.stands("r-1") == "waiting"


async def test_release(calls: CallDesk) -> None:
    """A held call is given to the next worker, which does not count as abandoned."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    refused(await steer(calls, "r-1", Move.RELEASE), "wrong_state")
    await calls.take_call(ANN)
    assert await steer(calls, "r-1", Move.RELEASE) is State.READY
    assert calls.rung_lane() == 1
    assert (await calls.view("r-1")).abandoned == 0
    await calls.take_call(BEN)
    refused(await calls.respond(ANN, "r-1"), "not_held")
    await calls.answer(BEN, "r-1")


async def test_release_of_what_is_withdrawn(calls: CallDesk) -> None:
    """A withdrawn call that an operator takes from its holder is cancelled."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.ask(Withdraw("r-1", "web"))
    assert await steer(calls, "r-1", Move.RELEASE) is State.CANCELLED
    assert await calls.stands("r-1") == "cancelled: cancelled"


@pytest.mark.parametrize("move", [Move.START, Move.SKIP, Move.RESET, Move.REPRIORITISE])
async def test_verbs_of_tasks(calls: CallDesk, move: Move) -> None:
    """Calls are retried, cancelled and released; the other verbs are for tasks. Unknown calls are not found."""
    await calls.service()
    await calls.calls("r-1")
    refused(await steer(calls, "r-1", move), "wrong_state")
    refused(await calls.ask(Steer("", "", Move.CANCEL, work=10**6)), "not_found")


async def test_counts(calls: CallDesk) -> None:
    """Where the calls of each service stand is counted; parts of broadcasts are left out."""
    await calls.hire(ANN)
    await calls.calls("r-1", "r-2", "r-3", retries=1)
    await calls.take_call(ANN, limit=1)
    await calls.take_call(ANN, limit=1)
    await calls.answer(ANN, "r-1")
    await calls.answer(ANN, "r-2", Answer.ERROR)
    await calls.submit("r-4", dispatch=Dispatch.BROADCAST)
    counts = (await calls.read(CountCalls()))[MATH]
    expected = {"done": 1, "retrying": 1, "ready": 1, "waiting": 1}
    assert {state: count for state, count in counts.items() if count} == expected


async def test_delete_a_service(calls: CallDesk) -> None:
    """A service with open calls is in use; by force these end, and its workers are forgotten. Other services stay."""
    await calls.hire(ANN, BEN, FOREIGN)
    await calls.calls("r-1", "r-2")
    await calls.submit("r-3", dispatch=Dispatch.BROADCAST)
    await calls.calls("r-4", service="text")
    held = (await calls.take_call(ANN, limit=1)).request_id
    refused(await calls.ask(DeleteService(MATH)), "in_use")
    assert await calls.ask(DeleteService(MATH, force=True)) is True
    for request_id in (held, "r-1", "r-2", "r-3"):
        assert await calls.stands(request_id) == "cancelled: cancelled"
    assert await calls.read(FindServices((MATH,))) == []
    assert await calls.read(FindWorkers((ANN, BEN))) == []
    assert [(method.service, method.method) for method in await calls.read(ListMethods())] == [("text", ADD)]
    refused(await calls.submit("r-5"), "unknown_service")
    assert await calls.drained(FOREIGN) == ["r-4"]
    assert await calls.ask(DeleteService(MATH)) is False


async def test_a_service_is_made_anew(calls: CallDesk) -> None:
    """A service that was deleted and is made anew begins without methods and workers; lanes that are left serve it."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1")
    assert await calls.ask(DeleteService(MATH)) is True
    await calls.service()
    await calls.calls("r-2")
    await calls.calls("r-3", method="never heard of")
    await calls.login(ANN)
    assert await calls.register(ANN) == 1
    assert await calls.drained(ANN) == ["r-2"]


async def test_a_part_is_kept_for_its_broadcast(calls: CallDesk) -> None:
    """What a part of a broadcast answered is kept until the last part has ended, however long that takes."""
    await calls.hire(ANN, BEN)
    await calls.submit("r-1", dispatch=Dispatch.BROADCAST, deadline_ms=10 * DAY_MS)
    children = {worker: (await calls.take_call(worker)).request_id for worker in (ANN, BEN)}
    await calls.answer(ANN, children[ANN], result=b'"early"')
    calls.now += 3 * DAY_MS
    await calls.ask(ForgetCalls())
    await calls.answer(BEN, children[BEN], result=b'"late"')
    result = (await calls.view("r-1")).result or b""
    assert b'"early"' in result
    assert b'"late"' in result
