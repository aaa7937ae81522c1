"""The exam, part 1: handing out work, ending hand-overs, giving them back."""

from __future__ import annotations

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.retry import Backoff, Policy
from hiringhall.domain.steering import CANCELLED_BY_OPERATOR
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import (
    DeletePlan,
    DirectWorker,
    PausePlan,
    Reconcile,
    Return,
    Settle,
    SweepRetries,
    Swept,
    Take,
    Taken,
)
from hiringhall.ports.questions import ReadyLanes
from tests.storage.desk import ANN, BEN, Desk, accepted, refused, task


async def test_a_first_claim_shows_version_2(desk: Desk) -> None:
    """A fresh task has version 1, so its first claim shows 2, and the contents come back as they were given."""
    await desk.hire(ANN)
    await desk.plan("p", task("T-1", note="do it"))
    view = await desk.take_one(ANN, "p")
    assert (view.plan, view.task_id, view.state, view.version, view.priority) == ("p", "T-1", State.HELD, 2, 2)
    assert '"do it"' in view.detail
    assert not view.started


async def test_order_of_taking(desk: Desk) -> None:
    """Order: priority critical, high, medium, low; then plan order, whatever the dependencies."""
    await desk.hire(ANN)
    await desk.plan(
        "p",
        task("needs-last", "last"),
        task("low", priority=3),
        task("medium-1"),
        task("critical", priority=0),
        task("medium-2"),
        task("high", priority=1),
        task("last", priority=3),
    )
    taken = await desk.take(ANN, "p", limit=100)
    assert [view.task_id for view in taken.tasks] == ["critical", "high", "medium-1", "medium-2", "low", "last"]
    assert taken.drained


async def test_several_lanes_are_merged(desk: Desk) -> None:
    """A take from several plans takes what comes first in all of them together."""
    await desk.hire(ANN)
    await desk.plan("p", task("p-0", priority=3), task("p-1"))
    await desk.plan("q", task("q-0", priority=1), task("q-1", priority=3))
    assert [view.task_id for view in (await desk.take(ANN, "p", "q", "none", limit=3)).tasks] == ["q-0", "p-1", "p-0"]


async def test_drained_tells_that_nothing_is_left(desk: Desk) -> None:
    """`drained` is told with the last unit that was ready, and with nothing; not while something is left."""
    await desk.hire(ANN)
    await desk.plan("p", task("T-1"), task("T-2"))
    assert not (await desk.take(ANN, "p")).drained
    assert (await desk.take(ANN, "p")).drained
    assert await desk.take(ANN, "p") == Taken((), drained=True)
    assert await desk.take(ANN, "none") == Taken((), drained=True)


async def test_two_takes_of_one_batch_share(desk: Desk) -> None:
    """Two workers who ask at once never get the same unit, and both are told when nothing is left."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("T-1"), task("T-2"))
    lanes = (plan_lane("p"),)
    first, second = await desk.ask_all(Take(ANN, lanes), Take(BEN, lanes))
    assert [view.task_id for taken in (first, second) for view in taken.tasks] == ["T-1", "T-2"]
    assert first.drained
    assert second.drained


async def test_who_gets_nothing(desk: Desk) -> None:
    """A quiet, terminating or unknown worker gets nothing, and a paused plan gives nothing."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("T-1"))
    assert await desk.ask(DirectWorker(ANN, quiet=True))
    assert await desk.ask(DirectWorker(BEN, terminate=True))
    for worker in (ANN, BEN, "plan:w-unknown"):
        assert (await desk.take(worker, "p")).tasks == ()
    assert await desk.ask(DirectWorker(ANN, quiet=False))
    assert await desk.ask(PausePlan("p", paused=True))
    assert await desk.read(ReadyLanes((plan_lane("p"),))) == []
    assert await desk.take(ANN, "p") == Taken((), drained=True)
    assert await desk.ask(PausePlan("p", paused=False))
    assert desk.rung("p") == 1
    assert await desk.read(ReadyLanes((plan_lane("p"), plan_lane("none")))) == [plan_lane("p")]
    assert len((await desk.take(ANN, "p")).tasks) == 1


async def test_no_worker_is_handed_one_version_twice(desk: Desk) -> None:
    """Where an earlier hand-over of another plan's task would collide, the hall skips version numbers."""
    await desk.hire(ANN, BEN)
    for plan in ("p", "q", "r"):
        await desk.plan(plan, task("T-1"))
    taken = await desk.take(ANN, "p", "q", limit=2)
    assert [view.version for view in taken.tasks] == [2, 3]
    assert (await desk.take_one(ANN, "r")).version == 4
    await desk.plan("s", task("T-1"))
    assert (await desk.take_one(BEN, "s")).version == 2


async def test_versions_are_skipped_even_after_a_plan_was_deleted(desk: Desk) -> None:
    """Hand-over records outlive their plan, so that its successor of the same name gives no version twice."""
    await desk.hire(ANN)
    await desk.plan("p", task("T-1"))
    await desk.take_one(ANN, "p")
    assert await desk.ask(DeletePlan("p", force=True))
    await desk.plan("p", task("T-1"))
    assert (await desk.take_one(ANN, "p")).version == 3


async def test_a_claim_with_a_key_is_replayed(desk: Desk) -> None:
    """A claim's key replays the hand-over only while that worker still holds it at that version."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("T-1"), task("T-2"))
    first = await desk.take_one(ANN, "p", key=b"k" * 32)
    again = await desk.take_one(ANN, "p", key=b"k" * 32)
    assert (again.work, again.version) == (first.work, first.version)
    assert (await desk.take_one(BEN, "p", key=b"k" * 32)).task_id == "T-2"
    await desk.complete(ANN, first)
    assert (await desk.take(ANN, "p", key=b"k" * 32)).tasks == ()


async def test_complete(desk: Desk) -> None:
    """Complete ends in DONE one version on, makes dependents ready at once, and rings for each."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"), task("c", "a", "a"), task("d", "b", "c"))
    done = await desk.complete(ANN, await desk.take_one(ANN, "p"))
    assert (done.state, done.version) == (State.DONE, 3)
    assert desk.rung("p") == 2
    assert [await desk.state("p", name) for name in "bcd"] == ["ready", "ready", "waiting"]
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    assert desk.rung("p") == 0
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    assert desk.rung("p") == 1
    assert (await desk.row("p", "d")).waiting_on == 0


async def test_two_dependencies_done_in_one_batch(desk: Desk) -> None:
    """Each edge is honoured once, also when two dependencies end in one batch."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b"), task("c", "a", "b"))
    one, other = await desk.take_one(ANN, "p"), await desk.take_one(BEN, "p")
    await desk.ask_all(
        Settle(ANN, one.task_id, one.version, Move.COMPLETE), Settle(BEN, other.task_id, other.version, Move.COMPLETE)
    )
    assert desk.rung("p") == 1
    assert await desk.state("p", "c") == "ready"


async def test_fail_blocks_dependents(desk: Desk) -> None:
    """A FAILED dependency leaves dependents PENDING, with the failed ancestor named."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"), task("c", "b"))
    failed = await desk.fail(ANN, await desk.take_one(ANN, "p"), "broken \x00 'x'")
    assert failed.state is State.FAILED
    assert [(await desk.row("p", name)).blocked_by for name in "abc"] == [None, "a", "a"]
    assert (await desk.history("p", "a"))[-1].reason == "broken \x00 'x'"


async def test_fail_skips_all_descendants(desk: Desk) -> None:
    """With `on_failure: skip` all descendants are skipped in the same move."""
    await desk.hire(ANN)
    await desk.plan(
        "p", task("a", policy=Policy(on_failure="skip")), task("b", "a"), task("x"), task("c", "b", "x"), task("d", "c")
    )
    await desk.fail(ANN, await desk.take_one(ANN, "p"))
    assert [await desk.state("p", name) for name in "abxcd"] == ["failed", "skipped", "ready", "skipped", "skipped"]
    assert (await desk.history("p", "d"))[-1].reason == "a failed"


async def test_a_failed_task_is_tried_again(desk: Desk) -> None:
    """Between attempts the task is failed with `retry_at`, not final for dependents; then comes the cause `retry`."""
    await desk.hire(ANN)
    policy = Policy(on_failure="skip", max_attempts=2, backoff=Backoff(2.0, 2.0, 60.0))
    await desk.plan("p", task("a", policy=policy), task("b", "a"))
    failed = await desk.fail(ANN, await desk.take_one(ANN, "p"))
    row = await desk.row("p", "a")
    assert (failed.state, row.retry_at, row.attempts) == (State.FAILED, desk.now + 2_000, 1)
    assert await desk.state("p", "b") == "waiting"
    assert (await desk.row("p", "b")).blocked_by is None
    assert await desk.ask(SweepRetries()) == Swept(0)
    desk.now += 1_998
    assert (await desk.ask(SweepRetries())).changed == 1
    assert desk.rung("p") == 1
    again = await desk.take_one(ANN, "p")
    assert (await desk.history("p", "a"))[-1].cause == "retry"
    await desk.fail(ANN, again)
    assert [await desk.state("p", name) for name in "ab"] == ["failed", "skipped"]
    assert (await desk.row("p", "a")).retry_at is None


async def test_release(desk: Desk) -> None:
    """Release makes the task PENDING one version on, wakes one receiver, and names its cause at the next hand-over."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    released = accepted(await desk.settle(ANN, await desk.take_one(ANN, "p"), Move.RELEASE, reason="shutdown"))
    assert (released.state, released.version) == (State.READY, 3)
    assert desk.rung("p") == 1
    again = await desk.take_one(BEN, "p")
    assert again.version == 4
    assert [line.cause for line in await desk.history("p", "a") if line.move == "hold"] == ["first", "shutdown"]
    await desk.settle(BEN, again, Move.RELEASE)
    await desk.take_one(BEN, "p")
    assert (await desk.history("p", "a"))[-1].cause == "released"


async def test_conflicts(desk: Desk) -> None:
    """A stale version, another's hold, a finished or pending task, and an unknown id are conflicts that tell."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    view = await desk.take_one(ANN, "p")

    async def complete(worker: str, version: int, task_id: str = "a") -> object:
        return await desk.ask(Settle(worker, task_id, version, Move.COMPLETE))

    assert await complete(ANN, 1) == Conflict("a", 1, 2, State.HELD)
    assert await complete(BEN, 2) == Conflict("a", 2, 2, State.HELD)
    assert await complete(ANN, 2, "nowhere") == Conflict("nowhere", 2)
    await desk.complete(ANN, view)
    assert await complete(ANN, 2) == Conflict("a", 2, 3, State.DONE, finished_by_self=True)
    assert await complete(BEN, 3) == Conflict("a", 3, 3, State.DONE, finished_by_self=False)
    await desk.steer("p", "a", Move.RESET)
    assert await complete(ANN, 2) == Conflict("a", 2, 4, State.READY)


async def test_a_lost_lease_is_fenced(desk: Desk) -> None:
    """A result from a worker that lost its lease to another holder is refused; the newer holder's result stands."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    old = await desk.take_one(ANN, "p")
    assert await desk.ask(Return(old.work, old.version, ANN, Cause.CONNECTION_LOST))
    new = await desk.take_one(BEN, "p")
    assert await desk.settle(ANN, old, Move.COMPLETE) == Conflict("a", 2, 4, State.HELD)
    assert (await desk.complete(BEN, new)).state is State.DONE


async def test_a_delivery_that_was_repeated_is_not_given_back(desk: Desk) -> None:
    """If a claim was repeated and answered again, losing its first answer returns nothing; losing its last does."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    first = await desk.take_one(ANN, "p", key=b"k" * 32)
    again = await desk.take_one(ANN, "p", key=b"k" * 32)
    assert (again.version, first.delivery, again.delivery) == (first.version, 1, 2)
    assert not await desk.ask(Return(first.work, first.version, ANN, Cause.CONNECTION_LOST, first.delivery))
    assert await desk.ask(Return(again.work, again.version, ANN, Cause.CONNECTION_LOST, again.delivery))


async def test_the_shared_token_settles_by_version(desk: Desk) -> None:
    """With the shared bearer a matching version settles, whoever holds the task; another version never does."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    view = await desk.take_one(ANN, "p")
    stale = await desk.ask(Settle(BEN, "a", 1, Move.COMPLETE, any_holder=True))
    assert isinstance(stale, Conflict)
    assert accepted(await desk.settle(BEN, view, Move.COMPLETE, any_holder=True)).state is State.DONE


async def test_the_version_never_chooses_among_plans(desk: Desk) -> None:
    """A task id with a version means the task that this worker was handed with exactly that version."""
    await desk.hire(ANN, BEN)
    for plan in ("p", "q"):
        await desk.plan(plan, task("T-1"))
    p_view, q_view = await desk.take_one(ANN, "p"), await desk.take_one(BEN, "q")
    assert p_view.version == q_view.version
    assert accepted(await desk.settle(BEN, q_view, Move.COMPLETE, plan=None)).plan == "q"
    assert accepted(await desk.settle(ANN, p_view, Move.COMPLETE, plan=None)).plan == "p"


async def test_resolution_without_a_record(desk: Desk) -> None:
    """Without a hand-over of that version: the only one that it holds, the only one in the hall, else ambiguous."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("T-1"), task("only"))
    await desk.plan("q", task("T-1"))
    view = await desk.take_one(ANN, "q")

    async def meant(worker: str, task_id: str, plan: str | None = None) -> object:
        return await desk.ask(Settle(worker, task_id, 77, Move.COMPLETE, plan))

    assert await meant(ANN, "T-1") == Conflict("T-1", 77, view.version, State.HELD)
    assert await meant(ANN, "T-1", "p") == Conflict("T-1", 77, 1, State.READY)
    assert await meant(ANN, "T-1", "none") == Conflict("T-1", 77)
    assert await meant(ANN, "only") == Conflict("only", 77, 1, State.READY)
    told = refused(await meant(BEN, "T-1"), "ambiguous_task_id")
    assert told.task_id == "T-1"
    assert "'p'" in told.detail
    assert "'q'" in told.detail


async def test_a_late_answer_for_a_deleted_plan_ends_nobody_elses_work(desk: Desk) -> None:
    """Hand-over records outlive their plan: a late answer for it is about nothing, also with the shared bearer."""
    await desk.hire(ANN, BEN)
    await desk.plan("old", task("T-1"))
    late = await desk.take_one(ANN, "old")
    assert await desk.ask(DeletePlan("old", force=True))
    await desk.plan("new", task("T-1"))
    held = await desk.take_one(BEN, "new")
    assert held.version == late.version
    assert await desk.settle(ANN, late, Move.COMPLETE, plan=None, any_holder=True) == Conflict("T-1", late.version)
    assert await desk.state("new", "T-1") == "held"


async def test_an_answer_with_a_key_is_replayed(desk: Desk) -> None:
    """A repeat by the same worker with the same version and both hashes is answered from the present row."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    view = await desk.take_one(ANN, "p")
    key, body = b"k" * 32, b"b" * 32
    first = accepted(await desk.settle(ANN, view, Move.COMPLETE, key=key, body=body))
    assert await desk.settle(ANN, view, Move.COMPLETE, key=key, body=body) == first
    refused(await desk.settle(ANN, view, Move.COMPLETE, key=key, body=b"c" * 32), "idempotency_key_reused")
    for other in ({}, {"key": b"l" * 32, "body": body}):
        assert isinstance(await desk.settle(ANN, view, Move.COMPLETE, **other), Conflict)
    assert isinstance(await desk.settle(BEN, view, Move.COMPLETE, key=key, body=body), Conflict)


async def test_a_hand_over_is_returned_once(desk: Desk) -> None:
    """A hand-over whose answer did not arrive returns at once, if it still stands."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"))
    view = await desk.take_one(ANN, "p")
    assert not await desk.ask(Return(view.work, view.version + 1, ANN, Cause.CONNECTION_LOST))
    assert not await desk.ask(Return(view.work, view.version, BEN, Cause.CONNECTION_LOST))
    assert await desk.ask(Return(view.work, view.version, ANN, Cause.CONNECTION_LOST))
    assert desk.rung("p") == 1
    assert not await desk.ask(Return(view.work, view.version, ANN, Cause.CONNECTION_LOST))
    assert not await desk.ask(Return(10**9, 2, ANN, Cause.CONNECTION_LOST))
    await desk.take_one(BEN, "p")
    assert (await desk.history("p", "a"))[-1].cause == "connection_lost"


async def test_what_is_not_named_returns(desk: Desk) -> None:
    """What a worker holds but does not name, and was handed long enough before the call arrived, returns."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b"), task("c"))
    named = await desk.take_one(ANN, "p")
    await desk.take_one(ANN, "p")
    await desk.take_one(BEN, "p")
    ask = Reconcile(ANN, frozenset({("p", "a", named.version)}), arrived_ms_ago=50)
    desk.now += desk.terms.answer_lost_after_ms - 100
    assert await desk.ask(ask) == 0
    desk.now += 200
    assert await desk.ask(ask) == 1
    assert desk.rung("p") == 1
    assert [await desk.state("p", name) for name in "abc"] == ["held", "ready", "held"]
    assert (await desk.history("p", "b"))[-1].cause == "answer_lost"


async def test_naming_the_present_version_counts_too(desk: Desk) -> None:
    """The hand-over stays valid after a start, under the handed version and under the present one."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    view = await desk.take_one(ANN, "p")
    started = accepted(await desk.steer("p", "a", Move.START))
    assert (started.started, started.version) == (True, view.version + 1)
    desk.now += desk.terms.answer_lost_after_ms + 1
    for version in (view.version, started.version):
        assert await desk.ask(Reconcile(ANN, frozenset({("p", "a", version)}))) == 0
    assert (await desk.complete(ANN, view)).version == 4


async def test_a_cancelled_task_tells_its_late_holder(desk: Desk) -> None:
    """Cancelled work answers the 409 that tells its end, once answered the worker is not told again."""
    await desk.hire(ANN)
    await desk.plan("p/1", task("a b"))
    view = await desk.take_one(ANN, "p/1")
    accepted(await desk.steer("p/1", "a b", Move.CANCEL))
    assert desk.rung_for(ANN)
    assert (await desk.worker(ANN)).cancels == ("p%2F1/a%20b",)
    assert (await desk.history("p/1", "a b"))[-1].reason == CANCELLED_BY_OPERATOR
    told = await desk.settle(ANN, view, Move.COMPLETE)
    assert told == Conflict("a b", 2, 3, State.FAILED, finished_by_self=False)
    assert (await desk.worker(ANN)).cancels == ()


async def test_a_new_hand_over_ends_the_word_to_stop(desk: Desk) -> None:
    """A worker that is handed anew what it was told to stop is not told to stop that."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    await desk.take_one(ANN, "p")
    accepted(await desk.steer("p", "a", Move.RELEASE))
    assert (await desk.worker(ANN)).cancels == ("p/a",)
    await desk.take_one(ANN, "p")
    assert (await desk.worker(ANN)).cancels == ()
