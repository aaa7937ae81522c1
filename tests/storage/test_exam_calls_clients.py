"""The exam on service calls, part 7: withdrawing, deadlines, feedback, operators, and what is kept."""

from __future__ import annotations

import pytest

from hiringhall.domain.call import FEEDBACK_KEPT_MAX, Answer, Dispatch, worker_lane
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import Beat, RemoveWorker, Return, SweepSilent, Swept
from hiringhall.ports.calls import (
    AddFeedback,
    FeedbackRow,
    FindRequests,
    ForgetCalls,
    Submitted,
    SweepDeadlines,
    Withdraw,
)
from tests.storage.call_desk import ANN, BEN, CAT, DAY_MS, FOREIGN, CallDesk, feedback, response
from tests.storage.desk import refused

# --- withdrawing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispatch", [Dispatch.EXCLUSIVE, Dispatch.RACE])
async def test_withdraw_what_nobody_holds(calls: CallDesk, dispatch: Dispatch) -> None:
    """Not yet held: cancelled at once, also after it was offered; nobody gets it any more."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", dispatch=dispatch)
    if dispatch is Dispatch.RACE:
        await calls.take_call(ANN)
    assert await calls.ask(Withdraw("r-1", "web")) is State.CANCELLED
    assert calls.rung_request("r-1")
    view = await calls.view("r-1")
    assert (view.state, view.answer, view.result, view.finished_at) == (
        State.CANCELLED,
        Answer.CANCELLED,
        None,
        calls.now,
    )
    assert not view.offered
    assert await calls.drained(BEN) == []
    refused(await calls.ask(Withdraw("r-1", "web")), "already_finished")


async def test_withdraw_what_is_to_be_retried(calls: CallDesk) -> None:
    """A call that waits for its next attempt is cancelled at once, and no attempt follows."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=1)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1", Answer.ERROR)
    assert await calls.ask(Withdraw("r-1", "web")) is State.CANCELLED
    assert (await calls.view("r-1")).retry_at is None
    refused(await calls.respond(ANN, "r-1"), "gone")


@pytest.mark.parametrize("answer", [Answer.SUCCESS, Answer.FAILED, Answer.ERROR])
async def test_withdraw_what_is_held(calls: CallDesk, answer: Answer) -> None:
    """Held: the worker is told by directive, and what it answers is the outcome, without another attempt."""
    await calls.hire(ANN)
    await calls.calls("r-1", retries=3)
    await calls.take_call(ANN)
    assert await calls.ask(Withdraw("r-1", "web")) is State.HELD
    assert calls.rung_for(ANN)
    assert (await calls.worker(ANN)).cancels == ("r-1",)
    view = await calls.view("r-1")
    assert (view.state, view.cancelling, view.answer) == (State.HELD, True, None)
    assert await calls.ask(Withdraw("r-1", "web")) is State.HELD
    assert not (await calls.answer(ANN, "r-1", answer)).retrying
    assert (await calls.view("r-1")).answer is answer
    assert (await calls.worker(ANN)).cancels == ()
    refused(await calls.ask(Withdraw("r-1", "web")), "already_finished")


async def test_a_new_incarnation_has_nothing_to_stop(calls: CallDesk) -> None:
    """What a worker was to stop ends with its process: the call is cancelled, and the next process is told nothing."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.ask(Withdraw("r-1", "web"))
    await calls.login(ANN, "another")
    await calls.register(ANN, "add", sid="another")
    assert await calls.stands("r-1") == "cancelled: cancelled"
    assert (await calls.worker(ANN)).cancels == ()


async def test_a_cancelled_call_whose_lease_ends(calls: CallDesk) -> None:
    """`cancelled` if its lease ends before the worker answers."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    await calls.calls("r-2")
    assert [await calls.drained(worker) for worker in (ANN, BEN)] == [["r-1"], ["r-2"]]
    for request_id in ("r-1", "r-2"):
        await calls.ask(Withdraw(request_id, "web"))
    held = await calls.view("r-2")
    assert await calls.ask(Return(held.work, held.version, BEN, Cause.CONNECTION_LOST)) is True
    assert calls.rung_request("r-2")
    assert calls.rung_lane() == 0
    await calls.pass_time(calls.terms.visibility_timeout_ms + calls.terms.slack_ms + 10, BEN)
    await calls.ask(SweepSilent())
    for request_id in ("r-1", "r-2"):
        assert await calls.stands(request_id) == "cancelled: cancelled"
        refused(await calls.respond(BEN, request_id), "gone")


async def test_who_may_withdraw(calls: CallDesk) -> None:
    """A client may withdraw its own calls alone; an operator, any."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    refused(await calls.ask(Withdraw("r-1", "other")), "not_found")
    refused(await calls.ask(Withdraw("r-2", "web")), "not_found")
    assert await calls.ask(Withdraw("r-1")) is State.CANCELLED


# --- deadlines -------------------------------------------------------------------------------------------------------


async def test_deadline(calls: CallDesk) -> None:
    """A call whose deadline passes expires, wherever it stands; its holder is told to stop."""
    await calls.hire(ANN)
    await calls.calls("r-held", deadline_ms=5_000)
    await calls.take_call(ANN)
    await calls.calls("r-retried", deadline_ms=5_000, retries=1)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-retried", Answer.ERROR)
    await calls.calls("r-ready", deadline_ms=5_000)
    await calls.calls("r-later", deadline_ms=50_000)
    start = calls.now
    calls.now = start + 4_000
    assert await calls.ask(SweepDeadlines()) == Swept(0)
    calls.now = start + 5_000
    assert await calls.ask(SweepDeadlines()) == Swept(3)
    assert calls.rung_for(ANN)
    assert (await calls.worker(ANN)).cancels == ("r-held",)
    assert all(map(calls.rung_request, ("r-held", "r-retried", "r-ready")))
    for request_id in ("r-held", "r-retried", "r-ready"):
        assert await calls.stands(request_id) == "expired: expired"
        refused(await calls.ask(Withdraw(request_id, "web")), "already_finished")
    assert await calls.drained(ANN) == ["r-later"]
    assert await calls.ask(SweepDeadlines()) == Swept(0)


async def test_what_has_ended_does_not_expire(calls: CallDesk) -> None:
    """The outcome stands that came before the deadline."""
    await calls.hire(ANN)
    await calls.calls("r-1", deadline_ms=5_000)
    await calls.take_call(ANN)
    await calls.answer(ANN, "r-1")
    calls.now += 10_000
    assert await calls.ask(SweepDeadlines()) == Swept(0)
    assert await calls.stands("r-1") == "done: success"


async def test_the_next_deadline_is_told(calls: CallDesk) -> None:
    """The pulse tells when the next deadline comes, so that nothing has to be looked through."""
    await calls.service()
    assert (await calls.ask(Beat())).deadline_in_ms is None
    await calls.calls("r-1", deadline_ms=5_000)
    await calls.calls("r-2", deadline_ms=60_000)
    assert (await calls.ask(Beat())).deadline_in_ms == 4_998
    calls.now += 10_000
    assert (await calls.ask(Beat())).deadline_in_ms == 0
    await calls.ask(SweepDeadlines())
    assert 0 < (await calls.ask(Beat())).deadline_in_ms < 60_000


async def test_deadlines_in_portions(calls: CallDesk) -> None:
    """A sweep ends at most so many calls, those first whose deadline came first, and tells that there is more."""
    await calls.service()
    for number, seconds in enumerate((5, 3, 4)):
        await calls.calls(f"r-{number}", deadline_ms=seconds * 1_000)
    calls.now += 9_000
    assert await calls.ask(SweepDeadlines(limit=2)) == Swept(2, more=True)
    assert await calls.stands("r-0") == "ready"
    assert (await calls.ask(Beat())).deadline_in_ms == 0
    assert (await calls.ask(SweepDeadlines(limit=2))).changed == 1


# --- feedback --------------------------------------------------------------------------------------------------------


async def test_feedback(calls: CallDesk) -> None:
    """Every item is written, numbered within its call in the order of its coming, and wakes who follows the call."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", "r-2")
    assert [await calls.drained(worker) for worker in (ANN, BEN)] == [["r-1"], ["r-2"]]
    first, second, third = feedback("r-1", 1), feedback("r-2", 2, keep=False), feedback("r-1", 3)
    assert await calls.tell(ANN, first) == 1
    assert calls.rung_request("r-1")
    assert await calls.tell(BEN, second) == 1
    assert await calls.tell(ANN, third, first) == 2
    at = calls.now
    rows = await calls.told("r-1")
    assert [row.number for row in rows] == [1, 2, 3]
    assert rows[1:] == [FeedbackRow(2, third, at, ANN), FeedbackRow(3, first, at, ANN)]
    assert await calls.told("r-1", 1, limit=1) == rows[1:2]
    assert await calls.told("r-1", 3) == []
    assert [row.item for row in await calls.told("r-2")] == [second]
    assert [(await calls.view(name)).feedback_count for name in ("r-1", "r-2")] == [3, 1]


async def test_dropped_feedback(calls: CallDesk) -> None:
    """Unknown or finished `rid`, or a worker that was never handed the request: accepted and dropped."""
    await calls.hire(ANN, BEN, FOREIGN)
    await calls.calls("r-1", "r-2")
    await calls.calls("r-3", dispatch=Dispatch.RACE)
    await calls.drain(ANN)
    await calls.drain(ANN)
    await calls.answer(ANN, "r-1")
    assert await calls.tell(ANN, feedback("r-1"), feedback("r-2"), feedback("r-0"), feedback("r-3")) in (0, 1)
    assert await calls.told("r-1") == []
    assert await calls.told("r-3") == [], "offered is not handed"
    assert await calls.tell(BEN, feedback("r-1")) == 0
    assert calls.rings == {}
    assert await calls.tell(FOREIGN, feedback("r-2")) == 0


async def test_feedback_before_the_answer(calls: CallDesk) -> None:
    """Feedback that comes together with the answer is not lost, whichever was posted first."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    answered, heard = await calls.ask_all(response(ANN, "r-1"), AddFeedback(ANN, ANN, "math", (feedback("r-1"),)))
    assert (answered.state, heard) == (State.DONE, 1)
    assert [row.number for row in await calls.told("r-1")] == [1]


async def test_the_oldest_feedback_goes(calls: CallDesk) -> None:
    """10 000 stored feedback items per request: the oldest go."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    assert await calls.tell(ANN, *(feedback("r-1", number) for number in range(FEEDBACK_KEPT_MAX))) == FEEDBACK_KEPT_MAX
    assert await calls.tell(ANN, feedback("r-1", -1), feedback("r-1", -2)) == 2
    assert [row.number for row in await calls.told("r-1", 0, limit=2)] == [3, 4]
    assert [row.number for row in await calls.told("r-1", FEEDBACK_KEPT_MAX)] == [10_001, 10_002]


async def test_feedback_of_a_former_holder(calls: CallDesk) -> None:
    """Whoever was handed the request once is heard, as long as it is not finished."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1")
    message = await calls.take_call(ANN)
    await calls.ask(Return(message.work, message.version, ANN, Cause.CONNECTION_LOST))
    assert await calls.tell(ANN, feedback("r-1", 1)) == 1
    await calls.take_call(BEN)
    assert await calls.tell(ANN, feedback("r-1", 2)) == 1
    assert await calls.tell(BEN, feedback("r-1", 3)) == 1
    assert [row.worker for row in await calls.told("r-1")] == [ANN, ANN, BEN]


async def test_feedback_of_a_superseded_worker(calls: CallDesk) -> None:
    """An old incarnation is not heard, and neither is who never registered."""
    await calls.hire(ANN)
    await calls.login(ANN, "second")
    await calls.login(CAT)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.register(ANN, sid="second")
    refused(await calls.tell(ANN, feedback("r-1")), "worker_superseded")
    refused(await calls.tell(CAT, feedback("r-1")), "not_registered")
    assert await calls.tell(ANN, feedback("r-1"), sid="second") == 1


async def test_passing_feedback_expires(calls: CallDesk) -> None:
    """`pr: false` items expire after 60 s; numbers go on."""
    await calls.hire(ANN)
    await calls.calls("r-1")
    await calls.take_call(ANN)
    await calls.tell(ANN, feedback("r-1", 1), feedback("r-1", 2, keep=False))
    calls.now += 30_000
    await calls.tell(ANN, feedback("r-1", 3, keep=False))
    calls.now += 30_010
    await calls.ask(ForgetCalls())
    assert [row.number for row in await calls.told("r-1")] == [1, 3]
    await calls.tell(ANN, feedback("r-1", 4))
    assert [row.number for row in await calls.told("r-1")] == [1, 3, 4]


# --- what is kept ----------------------------------------------------------------------------------------------------


async def test_a_finished_call_is_kept_for_a_day(calls: CallDesk) -> None:
    """A finished call goes 24 h after its end with all that belongs to it; an open one stays."""
    await calls.hire(ANN, BEN)
    await calls.calls("r-1", key=b"k" * 32, body=b"b" * 32)
    await calls.calls("r-2", "r-3", deadline_ms=30 * DAY_MS)
    await calls.drain(ANN, limit=1)
    await calls.tell(ANN, feedback("r-1"))
    await calls.answer(ANN, "r-1")
    work = (await calls.view("r-1")).work
    await calls.drain(ANN, limit=1)
    calls.now += DAY_MS - 10
    await calls.ask(ForgetCalls())
    assert await calls.stands("r-1") == "done: success"
    calls.now += 20
    assert (await calls.ask(ForgetCalls())).changed >= 1
    left = await calls.read(FindRequests(("r-1", "r-2", "r-3")))
    assert sorted(view.request_id for view in left) == ["r-2", "r-3"]
    assert work not in {view.work for view in left}
    assert await calls.submit("r-1", key=b"k" * 32, body=b"c" * 32) == Submitted("r-1"), "the key may be used anew"


async def test_a_broadcast_is_kept_as_a_whole(calls: CallDesk) -> None:
    """A broadcast and its children go in the end."""
    await calls.hire(ANN, BEN)
    await calls.submit("r-1", dispatch=Dispatch.BROADCAST)
    children = {worker: (await calls.take_call(worker)).request_id for worker in (ANN, BEN)}
    await calls.answer(ANN, children[ANN])
    calls.now += DAY_MS // 2
    await calls.answer(BEN, children[BEN])
    calls.now += DAY_MS // 2 + 1_000
    await calls.ask(ForgetCalls())
    calls.now += DAY_MS // 2
    await calls.ask(ForgetCalls())
    assert await calls.read(FindRequests(("r-1", *children.values()))) == []


async def test_a_lane_is_made_anew(calls: CallDesk) -> None:
    """A lane in which no call is, and that is an hour old, is forgotten, and comes back with the next call."""
    await calls.hire(ANN)
    await calls.calls("r-1", deadline_ms=1_000)
    calls.now += 1_000
    await calls.ask(SweepDeadlines())
    calls.now += 3_601_000
    await calls.ask(ForgetCalls(keep_calls_ms=1_000))
    assert len((await calls.look())["lanes"]) == 1, "her own"
    await calls.calls("r-2")
    assert await calls.drained(ANN) == ["r-2"]


async def test_the_own_lane_of_a_worker_goes_with_it(calls: CallDesk) -> None:
    """The own lane of a worker that was removed is forgotten after an hour; of one that is there it stays."""
    await calls.hire(ANN, BEN)
    assert await calls.ask(RemoveWorker(ANN)) is True
    calls.now += 3_601_000
    await calls.ask(ForgetCalls())
    assert set((await calls.look())["lanes"]) == {worker_lane(BEN)}
    await calls.login(ANN, "second")
    await calls.register(ANN, sid="second")
    await calls.submit("r-1", dispatch=Dispatch.BROADCAST)
    assert len(await calls.drained(ANN, sid="second")) == 1
