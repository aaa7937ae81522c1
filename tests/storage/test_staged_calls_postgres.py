"""Replicas at once about service calls on one PostgreSQL database, in an order that a third party's locks stage."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hiringhall.domain.call import Answer, Dispatch, Requires
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_request
from hiringhall.ports.asks import Ask, RemoveWorker, SweepSilent
from hiringhall.ports.calls import (
    AddFeedback,
    Drain,
    Drained,
    Goodbye,
    Lock,
    Locked,
    ReadFeedback,
    Registered,
    Responded,
    Submitted,
    SweepDeadlines,
    Withdraw,
)
from tests.storage.call_desk import ANN, BEN, CAT, MATH, call, feedback, registration, response
from tests.storage.call_replicas import HOUR_MS, CallReplicas
from tests.storage.test_races_postgres import begun, outcome
from tests.waiting import until_async


def code_of(found: Any) -> str | None:
    """The code of a refusal."""
    return found.code if isinstance(found, Refused) else None


async def test_two_locks_of_one_race(halls: CallReplicas) -> None:
    """Of two workers that lock one call at two replicas at once, the first owns it."""
    await halls.hire(ANN, BEN)
    await halls.submit("r-1", dispatch=Dispatch.RACE)
    assert [await halls.drain(worker) for worker in (ANN, BEN)] == [["r-1"], ["r-1"]]
    locks = [Lock(worker, worker, MATH, "r-1") for worker in (ANN, BEN)]
    first, second = await halls.in_turn("work", await halls.work("r-1"), *locks)
    assert isinstance(first, Locked)
    assert code_of(second) == "already_locked"
    assert (await halls.view("r-1")).holder == ANN
    await halls.call_books_balance()


async def test_a_lock_and_its_repetition(halls: CallReplicas) -> None:
    """A lock that is repeated at another replica at once is the worker's, once."""
    await halls.hire(ANN)
    await halls.submit("r-1", dispatch=Dispatch.RACE)
    lock = Lock(ANN, ANN, MATH, "r-1")
    first, second = await halls.in_turn("work", await halls.work("r-1"), lock, lock)
    assert (first.again, second.again, first.version) == (False, True, second.version)
    assert await halls.observer.fetchval("SELECT count(*) FROM hand_over") == 1


async def test_lock_and_withdraw(halls: CallReplicas) -> None:
    """A call that is withdrawn while a worker locks it is cancelled, or its new holder is told to stop."""
    await halls.hire(ANN)
    await halls.submit("r-1", "r-2", dispatch=Dispatch.RACE)
    locked, withdrawn = await halls.in_turn(
        "work", await halls.work("r-1"), Lock(ANN, ANN, MATH, "r-1"), Withdraw("r-1", "web")
    )
    assert isinstance(locked, Locked)
    assert withdrawn is State.HELD
    assert (await halls.view("r-1")).cancelling
    withdrawn, locked = await halls.in_turn(
        "work", await halls.work("r-2"), Withdraw("r-2", "web"), Lock(ANN, ANN, MATH, "r-2")
    )
    assert withdrawn is State.CANCELLED
    assert code_of(locked) == "gone"
    await halls.call_books_balance()


async def test_respond_and_sweep(halls: CallReplicas) -> None:
    """A call that its silent holder answers while a sweep is about to judge it stays answered."""
    await halls.hire(ANN)
    await halls.submit("r-1", deadline_ms=10 * HOUR_MS)
    assert await halls.drain(ANN) == ["r-1"]
    late = await halls.late()
    answered, swept = await halls.in_turn(
        "work", await halls.work("r-1"), response(ANN, "r-1"), SweepSilent(), nows=(None, late)
    )
    assert answered == Responded(answered.work, State.DONE)
    assert swept.changed == 0
    await halls.call_books_balance()


async def test_sweep_and_respond(halls: CallReplicas) -> None:
    """A call that a sweep takes back while its holder answers is answered all the same: nobody else has it yet."""
    await halls.hire(ANN)
    await halls.submit("r-1", deadline_ms=10 * HOUR_MS)
    assert await halls.drain(ANN) == ["r-1"]
    late = await halls.late()
    swept, answered = await halls.in_turn(
        "work", await halls.work("r-1"), SweepSilent(), response(ANN, "r-1"), nows=(late, None)
    )
    assert swept.changed == 1
    assert answered == Responded(answered.work, State.DONE)
    await halls.call_books_balance()


async def test_two_drains_of_one_worker(halls: CallReplicas) -> None:
    """Two drains by the same worker at two replicas never return the same message twice."""
    await halls.hire(ANN)
    await halls.submit("r-1", "r-2", "r-3", "r-4")
    work = (await halls.view("r-1")).work
    # The first one is held up by the record of its first hand-over, when it has the rows of two calls already.
    async with halls.observer.transaction():
        await halls.observer.execute(
            "INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)"
            " VALUES ($1, 'r-1', 2, $2, '', 'first', 0)",
            ANN,
            work,
        )
        first = begun(outcome(halls.one, Drain(ANN, ANN, 2)))
        await halls.waiting(1)
        second: Drained = await outcome(halls.other, Drain(ANN, ANN, 100))
        await halls.observer.execute("DELETE FROM hand_over WHERE work = $1", work)
    assert [message.request_id for message in (await first).messages] == ["r-1", "r-2"]
    assert [message.request_id for message in second.messages] == ["r-3", "r-4"]
    await halls.call_books_balance()


async def test_what_another_replica_is_taking(halls: CallReplicas) -> None:
    """Drains of one batch pass over what another replica is taking, without waiting, and are not handed it too."""
    await halls.hire(ANN, BEN)
    await halls.submit("r-1", "r-2", "r-3")
    async with halls.locked("work", await halls.work("r-1")):
        drains: list[Ask] = [Drain(ANN, ANN, 1), Drain(BEN, BEN, 2)]
        committed = await asyncio.wait_for(halls.other.commit(drains), 10)
    handed = [message.request_id for drained in committed.outcomes for message in drained.messages]
    assert handed == ["r-2", "r-3"]
    assert await halls.drain(ANN) == ["r-1"]
    await halls.call_books_balance()


async def test_many_drains_at_once(halls: CallReplicas) -> None:
    """However many drains come at once at two replicas, each call is handed over once."""
    await halls.hire(ANN, BEN, CAT)
    names = [f"r-{number:02}" for number in range(60)]
    await halls.submit(*names)
    stores = (halls.one, halls.other)
    found: list[str] = []
    while len(found) < len(names):
        batches: list[list[Ask]] = [[Drain(ANN, ANN, 4)], [Drain(BEN, BEN, 2), Drain(CAT, CAT, 3)]]
        running = [store.commit(batch) for store in stores for batch in batches]
        outcomes = [drained for committed in await asyncio.gather(*running) for drained in committed.outcomes]
        found += [message.request_id for drained in outcomes for message in drained.messages]
    assert sorted(found) == names
    await halls.call_books_balance()


async def test_respond_and_a_new_incarnation(halls: CallReplicas) -> None:
    """An answer that came before the worker registered anew stands; the registration waits for it."""
    await halls.hire(ANN)
    await halls.login(ANN, "second")
    await halls.submit("r-1")
    assert await halls.drain(ANN) == ["r-1"]
    answered, registered = await halls.in_turn(
        "work", await halls.work("r-1"), response(ANN, "r-1"), registration(ANN, sid="second")
    )
    assert answered == Responded(answered.work, State.DONE)
    assert registered == Registered(2)
    await halls.call_books_balance()


async def test_a_new_incarnation_and_respond(halls: CallReplicas) -> None:
    """An answer of the old incarnation that waited for the registration of the new one is refused."""
    await halls.hire(ANN)
    await halls.login(ANN, "second")
    await halls.submit("r-1")
    assert await halls.drain(ANN) == ["r-1"]
    registered, answered = await halls.in_turn(
        "work", await halls.work("r-1"), registration(ANN, sid="second"), response(ANN, "r-1")
    )
    assert registered == Registered(2)
    assert code_of(answered) == "worker_superseded"
    assert (await halls.view("r-1")).state is State.READY
    await halls.call_books_balance()


async def test_two_incarnations_at_once(halls: CallReplicas) -> None:
    """Two processes that register as one worker at once are two incarnations, the later one of which stands."""
    await halls.hire(ANN)
    for sid in ("second", "third"):
        await halls.login(ANN, sid)
    first, second = await halls.in_turn(
        "service_worker", f"worker = '{ANN}'", registration(ANN, sid="second"), registration(ANN, sid="third")
    )
    assert (first, second) == (Registered(2), Registered(3))
    assert code_of(await outcome(halls.one, Drain(ANN, "second"))) == "worker_superseded"
    assert isinstance(await outcome(halls.one, Drain(ANN, "third")), Drained)


async def test_the_last_two_children(halls: CallReplicas) -> None:
    """The last two children of a broadcast that end at two replicas at once end it once, with both answers."""
    await halls.hire(ANN, BEN)
    await halls.submit("r-1", dispatch=Dispatch.BROADCAST)
    children = {worker: (await halls.drain(worker))[0] for worker in (ANN, BEN)}
    answers = [response(worker, children[worker], result=b"%d" % number) for number, worker in enumerate((ANN, BEN))]
    async with halls.locked("work", await halls.work("r-1")):
        settling = [begun(halls.one.commit([answers[0]])), begun(halls.other.commit([answers[1]]))]
        await halls.waiting(2)
    committed = await asyncio.gather(*settling)
    assert [each.outcomes[0].state for each in committed] == [State.DONE, State.DONE]
    assert sum(each.rings.get(topic_of_request("r-1"), 0) for each in committed) == 1
    view = await halls.view("r-1")
    assert view.state is State.DONE
    told = json.loads(view.result or b"")["answers"]
    assert [(one["worker_id"], one["result"]) for one in told] == [("ann", 0), ("ben", 1)]
    await halls.call_books_balance()


async def test_a_child_and_its_lost_sister(halls: CallReplicas) -> None:
    """A child that is answered while the worker of the other one is removed: the broadcast ends once."""
    await halls.hire(ANN, BEN)
    await halls.submit("r-1", dispatch=Dispatch.BROADCAST)
    (child,) = await halls.drain(ANN)
    async with halls.locked("work", await halls.work("r-1")):
        answering = begun(outcome(halls.one, response(ANN, child)))
        await halls.waiting(1)
        removing = begun(outcome(halls.other, RemoveWorker(BEN)))
        await halls.waiting(2)
    assert (await answering).state is State.DONE
    assert await removing is True
    view = await halls.view("r-1")
    told = json.loads(view.result or b"")["answers"]
    assert [(one["worker_id"], one["error_text"]) for one in told] == [("ann", None), ("ben", "worker lost")]
    await halls.call_books_balance()


async def test_a_child_and_the_withdrawal_of_its_broadcast(halls: CallReplicas) -> None:
    """A broadcast that is withdrawn while its last child is answered ends once, one way or the other."""
    await halls.hire(ANN)
    for request_id in ("r-1", "r-2"):
        await halls.submit(request_id, dispatch=Dispatch.BROADCAST)
    first, second = await halls.drain(ANN)
    answered, withdrawn = await halls.in_turn(
        "work", await halls.work(first), response(ANN, first), Withdraw("r-1", "web")
    )
    assert (answered.state, code_of(withdrawn)) == (State.DONE, "already_finished")
    assert (await halls.view("r-1")).answer is Answer.SUCCESS
    withdrawn, answered = await halls.in_turn(
        "work", await halls.work(second), Withdraw("r-2", "web"), response(ANN, second)
    )
    assert (withdrawn, answered.state) == (State.CANCELLED, State.DONE)
    assert (await halls.view("r-2")).answer is Answer.CANCELLED
    await halls.call_books_balance()


async def test_withdraw_and_respond(halls: CallReplicas) -> None:
    """What the holder answers is the outcome, whether the withdrawal came just before or just after."""
    await halls.hire(ANN)
    await halls.submit("r-1", "r-2")
    assert await halls.drain(ANN) == ["r-1", "r-2"]
    withdrawn, answered = await halls.in_turn(
        "work", await halls.work("r-1"), Withdraw("r-1", "web"), response(ANN, "r-1")
    )
    assert (withdrawn, answered.state) == (State.HELD, State.DONE)
    answered, withdrawn = await halls.in_turn(
        "work", await halls.work("r-2"), response(ANN, "r-2"), Withdraw("r-2", "web")
    )
    assert (answered.state, code_of(withdrawn)) == (State.DONE, "already_finished")
    assert [(await halls.view(name)).answer for name in ("r-1", "r-2")] == [Answer.SUCCESS, Answer.SUCCESS]
    await halls.call_books_balance()


async def test_two_answers_at_once(halls: CallReplicas) -> None:
    """First accepted wins; the same answer at another replica at once is accepted as its repetition, another is not."""
    await halls.hire(ANN)
    await halls.submit("r-1", "r-2")
    assert await halls.drain(ANN) == ["r-1", "r-2"]
    answer = response(ANN, "r-1")
    first, second = await halls.in_turn("work", await halls.work("r-1"), answer, answer)
    assert (first.again, second.again) == (False, True)
    first, second = await halls.in_turn(
        "work", await halls.work("r-2"), response(ANN, "r-2", result=b"1"), response(ANN, "r-2", result=b"2")
    )
    assert (first.state, code_of(second)) == (State.DONE, "not_held")
    assert (await halls.view("r-2")).result == b"1"
    await halls.call_books_balance()


async def test_numbers_of_feedback(halls: CallReplicas) -> None:
    """Feedback that comes at two replicas at once is numbered without gaps, in the order of its commits."""
    await halls.hire(ANN)
    await halls.submit("r-1")
    assert await halls.drain(ANN) == ["r-1"]
    tell = [AddFeedback(ANN, ANN, MATH, tuple(feedback("r-1", step) for step in steps)) for steps in ((1, 2), (3, 4))]
    work = (await halls.view("r-1")).work
    assert await halls.in_turn("request", f"work = {work}", *tell) == (2, 2)
    rows = await halls.one.read(ReadFeedback(work))
    assert [(row.number, json.loads(row.item.fc)["step"]) for row in rows] == [(1, 1), (2, 2), (3, 3), (4, 4)]


async def test_feedback_and_respond(halls: CallReplicas) -> None:
    """Feedback and an answer of one call at once do not wait for each other; what was counted is there."""
    await halls.hire(ANN)
    await halls.submit("r-1")
    assert await halls.drain(ANN) == ["r-1"]
    work = (await halls.view("r-1")).work
    async with halls.locked("work", f"id = {work}"):
        answering = begun(outcome(halls.one, response(ANN, "r-1")))
        await halls.waiting(1)
        assert await outcome(halls.other, AddFeedback(ANN, ANN, MATH, (feedback("r-1"),))) == 1
    assert (await answering).state is State.DONE
    assert await outcome(halls.other, AddFeedback(ANN, ANN, MATH, (feedback("r-1"),))) == 0
    assert [row.number for row in await halls.one.read(ReadFeedback(work))] == [1]
    assert (await halls.view("r-1")).feedback_count == 1


async def test_deadline_and_respond(halls: CallReplicas) -> None:
    """A call that is answered while its deadline passes is answered, or is expired: never both."""
    await halls.hire(ANN)
    await halls.submit("r-1", deadline_ms=60_000)
    assert await halls.drain(ANN) == ["r-1"]
    late = await halls.late()
    answered, swept = await halls.in_turn(
        "work", await halls.work("r-1"), response(ANN, "r-1"), SweepDeadlines(), nows=(None, late)
    )
    assert answered.state is State.DONE
    assert swept.changed == 0
    await halls.submit("r-2", deadline_ms=2 * HOUR_MS)
    assert await halls.drain(ANN) == ["r-2"]
    swept, answered = await halls.in_turn(
        "work", await halls.work("r-2"), SweepDeadlines(), response(ANN, "r-2"), nows=(late + 2 * HOUR_MS, None)
    )
    assert (swept.changed, code_of(answered)) == (1, "gone")
    assert [(await halls.view(name)).answer for name in ("r-1", "r-2")] == [Answer.SUCCESS, Answer.EXPIRED]
    await halls.call_books_balance()


async def test_two_submissions_with_one_key(halls: CallReplicas) -> None:
    """A submission and its repetition at another replica at once make one call."""
    await halls.hire(ANN)
    await halls.submit("r-0")
    asks = [call(name, key=b"k" * 32, body=b"b" * 32) for name in ("r-1", "r-2")]
    async with halls.observer.transaction():
        await halls.observer.execute("LOCK TABLE submission IN SHARE MODE")
        submitting = [begun(outcome(halls.one, asks[0])), begun(outcome(halls.other, asks[1]))]
        await halls.waiting(2)
    found: list[Submitted] = list(await asyncio.gather(*submitting))
    assert sorted(one.repeated for one in found) == [False, True]
    assert len({one.request_id for one in found}) == 1
    assert sorted(await halls.drain(ANN)) == ["r-0", found[0].request_id]
    await halls.call_books_balance()


async def test_a_new_lane_and_a_new_worker(halls: CallReplicas) -> None:
    """Of a lane and a worker that come to a service at once at two replicas, each knows the other."""
    await halls.hire()
    await halls.login(ANN, ANN)
    await halls.login(BEN, BEN)
    submitted, registered = await halls.in_turn("service", f"id = '{MATH}'", call("r-1"), registration(ANN))
    assert (submitted, registered) == (Submitted("r-1"), Registered(1))
    assert await halls.drain(ANN) == ["r-1"]
    windows = registration(BEN, platform="windows")
    registered, submitted = await halls.in_turn(
        "service", f"id = '{MATH}'", windows, call("r-2", requires=Requires(platform="windows"))
    )
    assert (registered, submitted) == (Registered(1), Submitted("r-2"))
    assert await halls.drain(ANN) == []
    assert await halls.drain(BEN) == ["r-2"]


async def test_goodbye_and_lock(halls: CallReplicas) -> None:
    """A worker that says goodbye while it locks what it was offered may still own it, and then answer it."""
    await halls.hire(ANN, BEN)
    await halls.submit("r-1", dispatch=Dispatch.RACE)
    assert await halls.drain(ANN) == ["r-1"]
    async with halls.locked("work", await halls.work("r-1")):
        locking = begun(outcome(halls.one, Lock(ANN, ANN, MATH, "r-1")))
        await halls.waiting(1)
        leaving = begun(outcome(halls.other, Goodbye(ANN, ANN)))
        await until_async(lambda: halls.has_left(leaving), waiting_for="the goodbye, or until it waits too")
    assert isinstance(await locking, Locked)
    assert isinstance(await leaving, int)
    assert (await halls.view("r-1")).holder == ANN
    assert (await outcome(halls.one, response(ANN, "r-1"))).state is State.DONE
    await halls.call_books_balance()
