"""The exam, part 3: operators' verbs on single tasks, and every edge of the lifecycle."""

from __future__ import annotations

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import MOVES, Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.retry import Policy
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import DeletePlan, Return, Steer
from hiringhall.ports.questions import ListTasks
from tests.storage.desk import ANN, BEN, Desk, accepted, refused, task


async def test_start(desk: Desk) -> None:
    """CLAIMED → IN_PROGRESS: the holder's answers with the handed version are accepted; once is enough."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b"))
    refused(await desk.steer("p", "a", Move.START), "wrong_state")
    view = await desk.take_one(ANN, "p")
    started = accepted(await desk.steer("p", "a", Move.START))
    assert (started.state, started.started, started.version) == (State.HELD, True, 3)
    refused(await desk.steer("p", "a", Move.START), "wrong_state")
    released = accepted(await desk.settle(ANN, view, Move.RELEASE))
    assert (released.version, released.started) == (4, False)


async def test_skip(desk: Desk) -> None:
    """PENDING, FAILED → SKIPPED satisfies dependents; held only by force, with the holder fenced and told."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b", "a"), task("c", "b"), task("d"))
    accepted(await desk.steer("p", "b", Move.SKIP))
    assert [await desk.state("p", name) for name in "abc"] == ["ready", "skipped", "ready"]
    assert desk.rung("p") == 1
    view = await desk.take_one(ANN, "p")
    assert "force" in refused(await desk.steer("p", "a", Move.SKIP), "wrong_state").detail
    accepted(await desk.steer("p", "a", Move.SKIP, force=True))
    assert desk.rung_for(ANN)
    assert await desk.settle(ANN, view, Move.COMPLETE) == Conflict("a", 2, 3, State.SKIPPED, finished_by_self=False)
    refused(await desk.steer("p", "a", Move.SKIP, force=True), "wrong_state")
    await desk.fail(ANN, await desk.take_one(ANN, "p"))
    accepted(await desk.steer("p", "c", Move.SKIP))


async def test_cancel(desk: Desk) -> None:
    """PENDING, CLAIMED, IN_PROGRESS → FAILED; no retry follows, and descendants are skipped if the policy says so."""
    await desk.hire(ANN)
    policy = Policy(on_failure="skip", max_attempts=5)
    await desk.plan("p", task("a", policy=policy), task("b", "a"), task("c"))
    accepted(await desk.steer("p", "b", Move.CANCEL))
    await desk.take_one(ANN, "p")
    accepted(await desk.steer("p", "a", Move.START))
    cancelled = accepted(await desk.steer("p", "a", Move.CANCEL))
    assert (cancelled.state, (await desk.row("p", "a")).retry_at) == (State.FAILED, None)
    assert [await desk.state("p", name) for name in "bc"] == ["failed", "ready"]
    refused(await desk.steer("p", "a", Move.CANCEL), "wrong_state")
    await desk.plan("q", task("a", policy=policy), task("b", "a"))
    accepted(await desk.steer("q", "a", Move.CANCEL))
    assert await desk.state("q", "b") == "skipped"


async def test_retry(desk: Desk) -> None:
    """FAILED → PENDING, attempts from zero; it waits if a dependency is open."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"))
    refused(await desk.steer("p", "a", Move.RETRY), "wrong_state")
    await desk.fail(ANN, await desk.take_one(ANN, "p"))
    accepted(await desk.steer("p", "b", Move.CANCEL))
    assert accepted(await desk.steer("p", "b", Move.RETRY)).state is State.WAITING
    assert accepted(await desk.steer("p", "a", Move.RETRY)).state is State.READY
    assert desk.rung("p") == 1
    await desk.take_one(ANN, "p")
    assert (await desk.history("p", "a"))[-1].cause == "operator"


async def test_reset(desk: Desk) -> None:
    """DONE, FAILED, SKIPPED → PENDING; PENDING dependents wait again."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"), task("c", "b"))
    for state in ("ready", "held"):
        assert await desk.state("p", "a") == state
        refused(await desk.steer("p", "a", Move.RESET, cascade=True), "wrong_state")
        view = None if state == "held" else await desk.take_one(ANN, "p")
    assert view is None
    (row,) = await desk.read(ListTasks("p", states=(State.HELD,)))
    await desk.complete(ANN, row.view)
    assert await desk.state("p", "b") == "ready"
    assert accepted(await desk.steer("p", "a", Move.RESET)).state is State.READY
    assert desk.rung("p") == 1
    assert await desk.state("p", "b") == "waiting"


async def test_reset_with_dependents_in_hand(desk: Desk) -> None:
    """A reset is refused, naming them, if a dependent is held or finished; `cascade` resets those too."""
    await desk.hire(ANN, BEN)
    await desk.plan("p", task("a"), task("b", "a"), task("c", "a"), task("d", "b"), task("e", "d"))
    for _ in range(2):
        await desk.complete(ANN, await desk.take_one(ANN, "p"))
    await desk.take(BEN, "p", limit=2)
    told = refused(await desk.steer("p", "a", Move.RESET), "wrong_state")
    assert "'b'" in told.detail
    assert "'c'" in told.detail
    assert accepted(await desk.steer("p", "a", Move.RESET, cascade=True)).state is State.READY
    assert [await desk.state("p", name) for name in "abcde"] == ["ready", "waiting", "waiting", "waiting", "waiting"]
    assert desk.rung_for(BEN)
    assert sorted((await desk.worker(BEN)).cancels) == ["p/c", "p/d"]
    assert desk.rung("p") == 1


async def test_reset_of_a_failed_task_brings_back_what_was_skipped_for_it(desk: Desk) -> None:
    """Descendants that were skipped after a failure are finished: a reset needs `cascade`, and resets them too."""
    await desk.hire(ANN)
    await desk.plan("p", task("a", policy=Policy(on_failure="skip")), task("b", "a"), task("c", "b"))
    await desk.fail(ANN, await desk.take_one(ANN, "p"))
    assert "'b'" in refused(await desk.steer("p", "a", Move.RESET), "wrong_state").detail
    accepted(await desk.steer("p", "a", Move.RESET, cascade=True))
    assert [await desk.state("p", name) for name in "abc"] == ["ready", "waiting", "waiting"]


async def test_take_back(desk: Desk) -> None:
    """CLAIMED, IN_PROGRESS → PENDING: the holder is told, its answer refused."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"))
    refused(await desk.steer("p", "a", Move.RELEASE), "wrong_state")
    view = await desk.take_one(ANN, "p")
    accepted(await desk.steer("p", "a", Move.RELEASE))
    assert desk.rung("p") == 1
    assert desk.rung_for(ANN)
    assert await desk.settle(ANN, view, Move.COMPLETE) == Conflict("a", 2, 3, State.READY)


async def test_reprioritise(desk: Desk) -> None:
    """A PENDING task gets another place in the order; others are refused."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b"), task("c", "a"))
    assert accepted(await desk.steer("p", "b", Move.REPRIORITISE, priority=0)).priority == 0
    assert accepted(await desk.steer("p", "c", Move.REPRIORITISE, priority=0)).state is State.WAITING
    assert (await desk.take_one(ANN, "p")).task_id == "b"
    refused(await desk.steer("p", "b", Move.REPRIORITISE, priority=1), "wrong_state")


OF_CALLS = {Move.WITHDRAW, Move.EXPIRE, Move.COMPLETE_LATE, Move.FAIL_LATE, Move.GATHER, Move.LOSE}
VERBS = (Move.START, Move.SKIP, Move.CANCEL, Move.RETRY, Move.RESET, Move.RELEASE, Move.REPRIORITISE)


async def test_every_edge_of_the_lifecycle_is_crossed(desk: Desk) -> None:
    """Every move of the table is made by some verb of the port from each of its states, but for those of calls."""
    await desk.hire(ANN)
    for state in ("waiting", "ready", "held", "failed", "done", "skipped"):
        for move in VERBS:
            plan = f"one {state} {move}"
            await desk.plan(
                plan,
                task("first"),
                task("ready"),
                task("waiting", "first"),
                task("held", priority=0),
                *(task(name, state=State(name)) for name in ("failed", "done", "skipped")),
            )
            await desk.take_one(ANN, plan)
            outcome = await desk.ask(Steer(plan, state, move, force=True, priority=1))
            allowed = (State(state), move) in MOVES
            assert isinstance(outcome, Refused) is not allowed, (state, move, outcome)
            assert await desk.ask(DeletePlan(plan, force=True))
    await _cross_the_rest(desk)
    assert {(state, move) for state, move in MOVES if move not in OF_CALLS} - desk.crossed == set()


async def _cross_the_rest(desk: Desk) -> None:
    """Moves that workers, sweeps and plan files make."""
    once = Policy(max_abandoned=1)
    await desk.plan("rest", task("a"), task("b", "a"), task("c"), task("d", policy=once), task("e", "d"))
    await desk.plan("rest", task("a"), task("b", "a", note="x"), task("c", note="x"), task("d", policy=once))
    await desk.complete(ANN, await desk.take_one(ANN, "rest"))  # complete a, unblock b
    accepted(await desk.steer("rest", "a", Move.RESET))  # block b
    await desk.fail(ANN, await desk.take_one(ANN, "rest"))  # fail a
    lost = next(view for view in (await desk.take(ANN, "rest", limit=9)).tasks if view.task_id == "d")
    assert await desk.ask(Return(lost.work, lost.version, ANN, Cause.LEASE_EXPIRED))  # abandon d
