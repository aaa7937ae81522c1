"""Big new plans on SQLite: in portions, and yet all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.refusals import Refused
from hiringhall.ports.asks import Applied, Apply, Forget, Register, Take
from hiringhall.ports.questions import FindPlan, ListPlans, ListTasks
from hiringhall.storage.procedures import staging
from hiringhall.storage.sqlite.store import SqliteStore

TASKS = staging.STAGED_TASKS_MIN + 17


def _nothing(_stage: staging.Stage) -> Iterator[None]:
    yield from ()


def big_plan(plan: str, count: int = TASKS) -> PlanFile:
    """Chains of four, so that a portion depends on the one before."""
    specs = (
        TaskSpec(f"T-{place}", (f"T-{place - 1}",) if place % 4 else (), 2, f'"description":"{place}"')
        for place in range(count)
    )
    return PlanFile(plan, plan, tuple(specs))


async def test_a_staged_plan_equals_one_stored_at_once(tmp_path: Path) -> None:
    """A plan that was stored in portions has the same tasks, order, counts and ready work as one stored at once."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    file = big_plan("p")
    (applied,) = (await store.commit([Apply(file)])).outcomes
    assert applied == Applied("p", TASKS, 0, 0, 0, created=True)
    rows = await store.read(ListTasks("p", limit=2 * TASKS))
    assert [row.view.task_id for row in rows] == [spec.task_id for spec in file.tasks]
    assert [row.waiting_on for row in rows] == [len(spec.dependencies) for spec in file.tasks]
    plan = await store.read(FindPlan("p"))
    roots = sum(not spec.dependencies for spec in file.tasks)
    assert plan.counts == {"ready": roots, "waiting": TASKS - roots}
    again = (await store.commit([Apply(file)])).outcomes
    assert again == [Applied("p", 0, 0, TASKS, 0, created=False)]
    await store.close()


async def test_nothing_of_a_staged_plan_shows_before_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the portions nobody sees the plan or can take of it; a crash leaves nothing but rows to be deleted."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    await store.commit([Register("plan:w")])
    seen: list[tuple[object, object]] = []
    add = staging.add

    def spying(layout: object, start: int) -> object:
        if start:
            seen.append((store._lists.answer(FindPlan("p")), store._lists.answer(ListPlans())))
        if start == 3 * staging.PORTION_TASKS:
            raise SystemError("the power fails here")
        return add(layout, start)  # type: ignore[arg-type]

    monkeypatch.setattr(staging, "add", spying)
    monkeypatch.setattr(staging, "abandon", _nothing)
    with pytest.raises(SystemError):
        await store.commit([Apply(big_plan("p"))])
    assert seen == [(None, [])] * 3
    assert (await store.commit([Take("plan:w", ("plan:p",))])).outcomes[0].tasks == ()
    await store.close()
    monkeypatch.undo()

    store = await SqliteStore.open(tmp_path / "hall.db")
    assert await store.read(ListPlans()) == []
    purged = 0
    for _ in range(20):
        purged += (await store.commit([Forget()])).outcomes[0].changed
    assert purged == 3 * staging.PORTION_TASKS
    assert isinstance((await store.commit([Apply(big_plan("p"))])).outcomes[0], Applied)
    await store.close()


async def test_another_plan_of_that_id_may_come_meanwhile(tmp_path: Path) -> None:
    """Of two big files for one new plan, one is stored first, and the other is judged against it."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    first, second = big_plan("p"), big_plan("p", TASKS + 5)
    outcomes = await asyncio.gather(store.commit([Apply(first)]), store.commit([Apply(second)]))
    applied = sorted((outcome.outcomes[0] for outcome in outcomes), key=lambda outcome: outcome.created)
    assert applied[1].created
    assert not applied[0].created
    assert applied[0].added + applied[1].added == TASKS + 5
    await store.close()


async def test_a_big_file_with_an_unknown_dependency_is_refused_as_a_whole(tmp_path: Path) -> None:
    """A file that names a task which exists nowhere is not staged at all."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    file = big_plan("p")
    lost = PlanFile("p", "p", (*file.tasks, TaskSpec("T-lost", ("T-nowhere",), 2, '"description":""')))
    (refused,) = (await store.commit([Apply(lost)])).outcomes
    assert isinstance(refused, Refused)
    assert "T-nowhere" in refused.detail
    assert await store.read(ListPlans()) == []
    await store.close()
