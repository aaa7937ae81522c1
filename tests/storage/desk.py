"""A desk at which one store is asked one thing at a time, and after each the books are checked."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from hiringhall.domain.lease import Terms
from hiringhall.domain.lifecycle import Move
from hiringhall.domain.names import plan_worker
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane, topic_of_plan, topic_of_worker
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import Applied, Apply, Ask, Register, Settle, Steer, Take, Taken, TaskView
from hiringhall.ports.questions import FindTasks, FindWorkers, HistoryLine, ReadHistory, TaskRow, WorkerView
from tests.storage.snapshot import Edge, crossed_edges
from tests.storage.subjects import Subject

START = 1_700_000_000_000
ANN, BEN = plan_worker("w-ann"), plan_worker("w-ben")
Kind = TypeVar("Kind")


def task(task_id: str, *needs: str, **members: Any) -> TaskSpec:
    """A task of a plan file; `priority`, `policy` and `state` may be given, and `note` for other contents."""
    note = members.pop("note", "")
    detail = f'"description":"{note}","dependencies":[{",".join(map(repr, needs))}]'
    return TaskSpec(task_id, needs, members.pop("priority", 2), detail, **members)


class Desk:
    """One store, a clock that moves by hand, and what was seen."""

    def __init__(self, subject: Subject, terms: Terms) -> None:
        self.subject = subject
        self.terms = terms
        self.now = START
        self.rings: dict[str, int] = {}
        self.crossed: set[Edge] = set()
        self._picture: dict[str, Any] | None = None

    async def ask(self, ask: Ask) -> Any:
        """Ask for one thing, a millisecond after the last; check the books; return the outcome."""
        (outcome,) = await self.ask_all(ask)
        return outcome

    async def ask_all(self, *asks: Ask) -> list[Any]:
        """Ask for several things at once."""
        self.now += 1
        before = self._picture or await self.look()
        committed = await self.subject.store.commit(asks, now=self.now)
        after = self._picture = await self.look()
        self.compare(before, after)
        self.rings = dict(committed.rings)
        for outcome in committed.outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        if all(isinstance(outcome, Refused) for outcome in committed.outcomes):
            assert self.same(before, after), "a refused ask changed something"
        return committed.outcomes

    def same(self, before: dict[str, Any], after: dict[str, Any]) -> bool:
        """Whether nothing has changed that may not change by an ask that is refused."""
        return after == before

    async def look(self) -> dict[str, Any]:
        """A picture of everything that matters here."""
        return await self.subject.snapshot()

    def compare(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Check the books, and which edges of the lifecycle were crossed."""
        check_books(after)
        self.crossed |= crossed_edges(before, after)

    async def read(self, query: Any) -> Any:
        """Ask a question."""
        return await self.subject.store.read(query)

    async def plan(self, plan: str, *tasks: TaskSpec, **options: Any) -> Applied:
        """Apply a plan file, which has to be accepted."""
        outcome = await self.apply(plan, *tasks, **options)
        assert isinstance(outcome, Applied), outcome
        return outcome

    async def apply(self, plan: str, *tasks: TaskSpec, prune: bool = False, name: str = "") -> Applied | Refused:
        """Apply a plan file."""
        outcome: Applied | Refused = await self.ask(Apply(PlanFile(plan, name, tasks), prune))
        return outcome

    async def hire(self, *workers: str) -> None:
        """Register workers."""
        for worker in workers:
            assert await self.ask(Register(worker))

    async def take(self, worker: str, *plans: str, limit: int = 1, **members: Any) -> Taken:
        """Take from the lanes of plans."""
        taken: Taken = await self.ask(Take(worker, tuple(map(plan_lane, plans)), limit, **members))
        return taken

    async def take_one(self, worker: str, plan: str, **members: Any) -> TaskView:
        """Take exactly one task."""
        (view,) = (await self.take(worker, plan, **members)).tasks
        return view

    async def settle(self, worker: str, view: TaskView, move: Move, **members: Any) -> TaskView | Conflict | Refused:
        """Complete, fail or release what was taken."""
        outcome: TaskView | Conflict | Refused = await self.ask(
            Settle(worker, view.task_id, view.version, move, **{"plan": view.plan, **members})
        )
        return outcome

    async def complete(self, worker: str, view: TaskView) -> TaskView:
        """Complete what was taken, which has to be accepted."""
        return accepted(await self.settle(worker, view, Move.COMPLETE))

    async def fail(self, worker: str, view: TaskView, reason: str = "broken") -> TaskView:
        """Fail what was taken, which has to be accepted."""
        return accepted(await self.settle(worker, view, Move.FAIL, reason=reason))

    async def steer(self, plan: str, task_id: str, move: Move, **members: Any) -> TaskView | Refused:
        """Carry out an operator's verb."""
        outcome: TaskView | Refused = await self.ask(Steer(plan, task_id, move, **members))
        return outcome

    async def row(self, plan: str, task_id: str) -> TaskRow:
        """A task as an operator sees it."""
        (row,) = await self.read(FindTasks(task_id, plan))
        assert isinstance(row, TaskRow)
        return row

    async def state(self, plan: str, task_id: str) -> str:
        """Where a task stands."""
        return (await self.row(plan, task_id)).view.state.value

    async def worker(self, key: str) -> WorkerView:
        """A worker as the hall knows it."""
        (view,) = await self.read(FindWorkers((key,)))
        assert isinstance(view, WorkerView)
        return view

    async def history(self, plan: str, task_id: str) -> list[HistoryLine]:
        """The audit log of a task."""
        lines: list[HistoryLine] = await self.read(ReadHistory((await self.row(plan, task_id)).view.work))
        return lines

    def rung(self, plan: str) -> int:
        """How many were woken for a plan by the last ask."""
        return self.rings.get(topic_of_plan(plan), 0)

    def rung_for(self, worker: str) -> bool:
        """Whether the last ask woke a worker."""
        return topic_of_worker(worker) in self.rings


def accepted(outcome: Any) -> TaskView:
    """The task that an accepted ask answers with."""
    assert isinstance(outcome, TaskView), outcome
    return outcome


def refused(outcome: Any, code: str) -> Refused:
    """The refusal that was expected."""
    assert isinstance(outcome, Refused), outcome
    assert outcome.code == code, outcome
    assert outcome.detail
    return outcome


def check_books(picture: dict[str, Any]) -> None:
    """What always holds: counters equal open edges, counts equal units, and states agree with both."""
    waiting_on = Counter(dependent for _, dependent in picture["unmet"])
    counts: dict[str, Counter[str]] = {plan: Counter() for plan in picture["plans"]}
    for name, members in picture["tasks"].items():
        assert members["waiting_on"] == waiting_on[name], (
            f"{name} counts {members['waiting_on']}, edges {waiting_on[name]}"
        )
        state = members["state"].value
        assert state != "waiting" or members["waiting_on"], f"{name} waits for nothing"
        assert state != "ready" or not members["waiting_on"], f"{name} is ready too early"
        assert (state == "held") == (members["holder"] is not None), f"{name} is {state}, holder {members['holder']}"
        counts[name[0]]["retrying" if members["retry_at"] is not None else state] += 1
    assert picture["tallies"] == {plan: dict(count) for plan, count in counts.items()}
    assert picture["unmet"] <= picture["edges"]
    for dependency, dependent in picture["edges"] - picture["unmet"]:
        state = picture["tasks"][dependency]["state"].value
        assert state in ("done", "skipped"), f"{dependent} does not wait for {dependency}, which is {state}"
