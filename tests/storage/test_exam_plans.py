"""The exam, part 2: plan files and whole plans."""

from __future__ import annotations

import pytest

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.retry import Policy
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import Applied, DeletePlan, PausePlan, RetryPlan, Swept, Unblock
from hiringhall.ports.questions import FindPlan, FindTasks, KnownTasks, ListPlans, ListTasks, ReadyLanes
from tests.storage.desk import ANN, Desk, accepted, refused, task

TRICKY = ("a/b", "%2F", "ü ☃", "x'--\"; DROP TABLE work", "T-1@2,3", "...", " ", "_%", "A", "a")


async def test_apply_and_apply_again(desk: Desk) -> None:
    """Apply is atomic and idempotent: the same file again changes nothing."""
    file = (task("b", "a"), task("a"), task("c", "b", "a"), task("x", state=State.DONE), task("y", "x"))
    assert await desk.plan("p", *file) == Applied("p", 5, 0, 0, 0, created=True)
    assert desk.rung("p") == 2
    before = await desk.subject.snapshot()
    assert await desk.plan("p", *file) == Applied("p", 0, 0, 5, 0, created=False)
    assert await desk.subject.snapshot() == before
    assert desk.rings == {}
    rows = await desk.read(ListTasks("p"))
    assert [(row.view.task_id, row.view.state.value, row.waiting_on, row.view.version) for row in rows] == [
        ("b", "waiting", 1, 1), ("a", "ready", 0, 1), ("c", "waiting", 2, 1), ("x", "done", 0, 1), ("y", "ready", 0, 1),
    ]  # fmt: skip


async def test_the_same_file_again_after_everything_moved(desk: Desk) -> None:
    """An unchanged task is unchanged whatever became of it, even if an operator gave it another priority."""
    file = (task("a"), task("b"), task("c", "a"))
    await desk.hire(ANN)
    await desk.plan("p", *file)
    accepted(await desk.steer("p", "b", Move.REPRIORITISE, priority=0))
    await desk.take_one(ANN, "p")
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    before = await desk.subject.snapshot()
    assert await desk.plan("p", *file) == Applied("p", 0, 0, 3, 0, created=False)
    assert await desk.subject.snapshot() == before


async def test_an_empty_plan_is_fine(desk: Desk) -> None:
    """An empty plan is stored, found and named anew."""
    assert await desk.plan("p", name="one \x00") == Applied("p", 0, 0, 0, 0, created=True)
    assert (await desk.read(FindPlan("p"))).name == "one \x00"
    assert await desk.plan("p", name="other") == Applied("p", 0, 0, 0, 0, created=False)
    assert (await desk.read(FindPlan("p"))).name == "other"
    assert await desk.read(FindPlan("none")) is None
    assert await desk.read(ListTasks("p")) == []


async def test_states_of_a_file_are_honoured(desk: Desk) -> None:
    """`status` of a new task: done, skipped and failed are honoured, and satisfy dependents or do not."""
    await desk.plan(
        "p",
        task("done", state=State.DONE),
        task("skipped", state=State.SKIPPED),
        task("failed", state=State.FAILED),
        task("a", "done", "skipped"),
        task("b", "failed"),
    )
    assert [await desk.state("p", name) for name in ("done", "skipped", "failed", "a", "b")] == [
        "done", "skipped", "failed", "ready", "waiting",
    ]  # fmt: skip
    assert (await desk.row("p", "b")).blocked_by == "failed"
    assert [line.state for line in await desk.history("p", "done")] == ["done"]


async def test_a_waiting_task_names_the_failed_one_above_it(desk: Desk) -> None:
    """What waits, and only that, tells the failed task for which it waits, of several the first by name."""
    failed = State.FAILED
    await desk.plan(
        "p",
        task("z", state=failed),
        task("m", "z", state=failed),
        task("free"),
        task("1", "z"),
        task("2", "1", "free"),
        task("3", "2", "m"),
        task("4", "3", "1"),
        task("5", "free"),
    )
    rows = await desk.read(ListTasks("p"))
    assert {row.view.task_id: row.blocked_by for row in rows} == {
        "z": None, "m": None, "free": None, "1": "z", "2": "z", "3": "m", "4": "m", "5": None,
    }  # fmt: skip


async def test_a_changed_file_changes_pending_tasks(desk: Desk) -> None:
    """A changed file adds and updates PENDING tasks; their versions rise, their dependencies are counted anew."""
    await desk.plan("p", task("a"), task("b", "a"), task("c"))
    assert await desk.plan(
        "p", task("a"), task("b", note="new"), task("c", "a", priority=0), task("d", "c")
    ) == Applied("p", 1, 2, 1, 0, created=False)
    assert desk.rung("p") == 1  # b became ready
    rows = {row.view.task_id: row for row in await desk.read(ListTasks("p"))}
    assert [(name, row.view.state.value, row.view.version) for name, row in rows.items()] == [
        ("a", "ready", 1), ("b", "ready", 2), ("c", "waiting", 2), ("d", "waiting", 1),
    ]  # fmt: skip
    assert rows["c"].view.priority == 0
    assert '"new"' in rows["b"].view.detail


async def test_held_and_finished_tasks_are_not_altered(desk: Desk) -> None:
    """What would alter held or finished tasks is refused, naming them; nothing of the file is stored then."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b"), task("c", "a", "b"))
    await desk.take_one(ANN, "p")
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    told = refused(
        await desk.apply("p", task("a", priority=0), task("b", note="x"), task("c"), task("new")), "plan_conflict"
    )
    assert "'a'" in told.detail
    assert "'b'" in told.detail
    assert "'c'" not in told.detail
    assert await desk.read(KnownTasks("p", ("a", "c", "new"))) == {"a", "c"}


async def test_dependencies_on_stored_tasks(desk: Desk) -> None:
    """Dependencies may name tasks already stored; what is neither in the file nor stored is listed."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b"))
    await desk.complete(ANN, await desk.take_one(ANN, "p"))
    assert (await desk.plan("p", task("c", "a"), task("d", "b"))).added == 2
    assert [await desk.state("p", name) for name in "cd"] == ["ready", "waiting"]
    rows = await desk.read(ListTasks("p"))
    assert [row.view.task_id for row in rows] == ["a", "b", "c", "d"]
    told = refused(await desk.apply("p", task("e", "a", "no"), task("f", "nor")), "validation_error")
    assert "'no'" in told.detail
    assert "'nor'" in told.detail
    refused(await desk.apply("q", task("x", "a")), "validation_error")
    assert await desk.read(FindPlan("q")) is None


@pytest.mark.parametrize("direct", [True, False])
async def test_cycles_through_stored_tasks(desk: Desk, direct: bool) -> None:
    """A cycle that a file closes over stored tasks is refused, however it runs."""
    await desk.plan("p", task("a"), task("c", "a"), task("u", "c"))
    file = (task("a", "c"),) if direct else (task("a", "u"), task("u", "c"))
    refused(await desk.apply("p", *file), "validation_error")
    assert await desk.state("p", "a") == "ready"


async def test_prune(desk: Desk) -> None:
    """Tasks that the file lacks stay, unless pruned: then PENDING ones go, if nothing that remains depends on them."""
    await desk.hire(ANN)
    await desk.plan("p", task("held"), task("a"), task("b", "a"), task("c", "b"))
    await desk.take_one(ANN, "p")
    assert (await desk.plan("p", task("a"))).pruned == 0
    told = refused(await desk.apply("p", task("c", "b"), prune=True), "plan_conflict")
    assert "'b'" in told.detail
    told = refused(await desk.apply("p", task("new", "a"), prune=True), "plan_conflict")
    assert "'a'" in told.detail
    assert await desk.plan("p", task("a"), prune=True) == Applied("p", 0, 0, 1, 2, created=False)
    assert [row.view.task_id for row in await desk.read(ListTasks("p"))] == ["held", "a"]


async def test_a_held_task_keeps_what_it_depends_on(desk: Desk) -> None:
    """A pending task stays if a task outside the file still depends on it."""
    await desk.plan("p", task("a"), task("b", "a", state=State.DONE))
    refused(await desk.apply("p", prune=True), "plan_conflict")


async def test_seq_follows_the_file(desk: Desk) -> None:
    """A file that holds all stored tasks says the order itself; one that does not adds at the end."""
    await desk.plan("p", task("a"), task("b"))
    await desk.plan("p", task("new"), task("a", note="x"), task("b", note="x"))
    assert [row.view.task_id for row in await desk.read(ListTasks("p"))] == ["new", "a", "b"]
    await desk.plan("p", task("last"))
    assert [row.view.task_id for row in await desk.read(ListTasks("p"))] == ["new", "a", "b", "last"]


async def test_lists_are_paged(desk: Desk) -> None:
    """Plans and tasks come in pages, by id and in plan order, and by state."""
    for plan in ("p", "q", "r"):
        await desk.plan(plan, *(task(str(number), *(["0"] if number else [])) for number in range(5)))
    assert [plan.id for plan in await desk.read(ListPlans(after="p", limit=1))] == ["q"]
    first = await desk.read(ListTasks("q", limit=2))
    rest = await desk.read(ListTasks("q", after=(first[-1].seq, first[-1].view.work)))
    assert [row.view.task_id for row in first + rest] == ["0", "1", "2", "3", "4"]
    assert [row.view.task_id for row in await desk.read(ListTasks("q", states=(State.READY,)))] == ["0"]
    assert sorted(row.view.plan for row in await desk.read(FindTasks("3"))) == ["p", "q", "r"]
    assert (await desk.read(FindPlan("q"))).counts == {"ready": 1, "waiting": 4}


async def test_tricky_ids(desk: Desk) -> None:
    """Ids are any text of 1..256 characters without control characters: they come back as they were given."""
    await desk.hire(ANN)
    for plan in TRICKY:
        await desk.plan(plan, *map(task, TRICKY), task("x" * 256, *TRICKY))
        assert [row.view.task_id for row in await desk.read(ListTasks(plan))] == [*TRICKY, "x" * 256]
    taken = await desk.take(ANN, *TRICKY, limit=100)
    assert len(taken.tasks) == len(TRICKY) ** 2
    assert await desk.complete(ANN, taken.tasks[0])
    assert sorted(plan.id for plan in await desk.read(ListPlans())) == sorted(TRICKY)


async def test_delete_plan(desk: Desk) -> None:
    """Deleting a plan with held tasks is refused unless forced; then holders are told, their answers about nothing."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", "a"))
    view = await desk.take_one(ANN, "p")
    assert "'a'" in refused(await desk.ask(DeletePlan("p")), "in_use").detail
    assert await desk.ask(DeletePlan("p", force=True)) is True
    assert desk.rung_for(ANN)
    assert (await desk.worker(ANN)).cancels == ("p/a",)
    assert await desk.ask(DeletePlan("p")) is False
    assert await desk.settle(ANN, view, Move.COMPLETE) == Conflict("a", 2)
    assert await desk.read(FindTasks("a")) == []
    assert await desk.read(ReadyLanes((plan_lane("p"),))) == []


async def test_a_deleted_plan_may_come_again(desk: Desk) -> None:
    """A plan that is applied again after it was deleted begins anew, with nothing of the old one."""
    await desk.hire(ANN)
    for _ in range(3):
        assert (await desk.plan("p", task("a"), task("b", "a"))).created
        assert (await desk.read(FindPlan("p"))).counts == {"ready": 1, "waiting": 1}
        assert await desk.ask(DeletePlan("p")) is True


async def test_verbs_on_plans_that_are_not_there(desk: Desk) -> None:
    """Verbs on plans and tasks that exist nowhere say so."""
    assert await desk.ask(PausePlan("none", paused=True)) is False
    assert await desk.ask(RetryPlan("none")) is None
    assert await desk.ask(Unblock("none")) == Swept(0)
    await desk.plan("p", task("a"))
    for plan, task_id in (("none", "a"), ("p", "none")):
        for move in (Move.START, Move.SKIP, Move.CANCEL, Move.RETRY, Move.RESET, Move.RELEASE):
            refused(await desk.steer(plan, task_id, move), "not_found")


async def test_retry_plan(desk: Desk) -> None:
    """Every failed task of a plan is retried, attempts from zero."""
    await desk.hire(ANN)
    await desk.plan("p", task("a"), task("b", policy=Policy(max_attempts=3)), task("c"))
    for _ in range(2):
        await desk.fail(ANN, await desk.take_one(ANN, "p"))
    assert (await desk.read(FindPlan("p"))).counts == {"ready": 1, "failed": 1, "retrying": 1}
    assert await desk.ask(RetryPlan("p")) == 2
    assert desk.rung("p") == 2
    assert (await desk.read(FindPlan("p"))).counts == {"ready": 3}
    assert (await desk.row("p", "b")).attempts == 0
    assert await desk.ask(RetryPlan("p")) == 0
