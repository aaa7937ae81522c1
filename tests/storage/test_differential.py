"""Random batches go to the oracle and to a database: outcomes, rings, and everything stored must agree after each."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import structs

from hiringhall.domain.lifecycle import MOVES, Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict
from hiringhall.ports.asks import ORDER, Applied, FoldTallies, Settle, Swept, Taken, TaskView
from hiringhall.ports.calls import Drained, ForgetCalls, Locked, Message, RequestView, Responded
from hiringhall.ports.questions import FindTasks, ListTasks, ListWorkers, ReadyLanes, TaskRow, WorkerView
from hiringhall.storage.model import ModelStore
from tests.storage.batches import PLANS, TERMS, Draft, ReturnByName, SteerByName, Writer, addressed
from tests.storage.desk import check_books
from tests.storage.snapshot import Edge, crossed_edges
from tests.storage.subjects import Subject, open_subject

BATCHES_MIN = 40
SEEDS = {"sqlite": 2, "postgres": 1}
LOOK_EVERY = {"sqlite": 1, "postgres": 3}
LOOK_CLOSELY_EVERY = 6
BATCHES_MAX = 4_000
OF_CALLS = {Move.WITHDRAW, Move.EXPIRE, Move.COMPLETE_LATE, Move.FAIL_LATE, Move.GATHER, Move.LOSE}
OF_PLANS = {kind for kind in ORDER if kind.__module__ == Settle.__module__}
TO_CROSS = {(state, move) for state, move in MOVES if move not in OF_CALLS}
UNCOUNTED = (FoldTallies, ForgetCalls)
"""Sweeps whose counts are of rows, and so each store's own."""
REGRESSIONS = Path(__file__).with_name("regression_seeds.txt")


def seeds(kind: str) -> list[int]:
    """Seeds that once failed, and then as many as HALL_DIFFERENTIAL_SEEDS says."""
    lines = (line.partition("#")[0].strip() for line in REGRESSIONS.read_text().splitlines())
    count = int(os.environ.get("HALL_DIFFERENTIAL_SEEDS", SEEDS[kind]))
    return list(dict.fromkeys([*(int(line) for line in lines if line), *range(1, count + 1)]))


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind in SEEDS for seed in seeds(kind)])
async def test_agrees_with_the_oracle(kind: str, seed: int, request: pytest.FixtureRequest) -> None:
    """A database does exactly what the domain decides, whatever the batches, on every edge of the lifecycle."""
    async with open_subject(kind, TERMS, request) as subject:
        await Comparison(seed, subject).run()


class Comparison:
    """One run of one seed."""

    verbs: ClassVar[set[type[Any]]] = OF_PLANS
    edges: ClassVar[set[Edge]] = TO_CROSS

    def __init__(self, seed: int, subject: Subject) -> None:
        self.seed = seed
        self.subject = subject
        self.oracle = ModelStore(TERMS)
        self.expected = Subject("model", self.oracle)
        self.writer = self._writer(seed)
        self.crossed: set[Edge] = set()
        self.succeeded: set[type[Any]] = set()
        self.pictures: dict[str, Any] = {}

    def _writer(self, seed: int) -> Writer:
        return Writer(seed, self.oracle.hall)

    async def run(self) -> None:
        """Go on until every verb has succeeded and every edge was crossed."""
        self.pictures = await self._look(self.expected)
        for number in range(BATCHES_MAX):
            await self._one(number)
            complete = self.succeeded >= self.verbs and self.crossed >= self.edges
            if complete and number >= BATCHES_MIN:
                return
        verbs = sorted(verb.__name__ for verb in self.verbs - self.succeeded)
        pytest.fail(f"seed {self.seed}: never succeeded: {verbs}; never crossed: {sorted(self.edges - self.crossed)}")

    async def _look(self, subject: Subject, *, histories: bool = True) -> dict[str, Any]:
        """A picture of everything that is compared."""
        return await subject.snapshot(histories=histories)

    def _check(self, picture: dict[str, Any]) -> None:
        """The books balance; note which edges were crossed since the last look."""
        check_books(picture)
        self.crossed |= crossed_edges(self.pictures, picture)

    async def _one(self, number: int) -> None:
        drafts, now = self.writer.batch()
        told = f"seed {self.seed}, batch {number} at {now}:\n" + "\n".join(f"  {draft}" for draft in drafts)
        expected = await self._commit(self.expected, drafts, now)
        found = await self._commit(self.subject, drafts, now)
        assert _readable(found[0]) == _readable(expected[0]), told
        assert found[1] == expected[1], f"rings; {told}"
        picture = await self._look(self.expected)
        closely = number % LOOK_CLOSELY_EVERY == 0
        if number % LOOK_EVERY[self.subject.kind] == 0:
            actual = await self._look(self.subject, histories=closely)
            for part, content in picture.items():
                assert actual[part] == content or ("histories" in part and not closely), f"{part}; {told}"
        if closely:
            assert await self._read_all(self.subject) == await self._read_all(self.expected), told
        self._check(picture)
        self.pictures = picture
        self.succeeded |= {type(addressed(d, {})) for d, o in zip(drafts, expected[0], strict=True) if _is_success(o)}

    async def _commit(self, subject: Subject, drafts: list[Draft], now: int) -> tuple[list[Any], dict[str, int]]:
        named = any(isinstance(draft, ReturnByName | SteerByName) for draft in drafts)
        numbers = await self._numbers(subject) if named else {}
        asks = [addressed(draft, numbers) for draft in drafts]
        outcomes: list[Any] = [None] * len(asks)
        rings: dict[str, int] = {}
        committed = await subject.store.commit(asks, now=now)
        for place, (ask, outcome) in enumerate(zip(asks, committed.outcomes, strict=True)):
            outcomes[place] = Swept() if isinstance(ask, UNCOUNTED) else nameless(outcome)
        for topic, count in committed.rings.items():
            rings[topic] = rings.get(topic, 0) + count
        return outcomes, rings

    async def _numbers(self, subject: Subject) -> dict[tuple[str, str], int]:
        rows: list[TaskRow] = []
        for plan in PLANS:
            rows += await subject.store.read(ListTasks(plan))
        return {(row.view.plan, row.view.task_id): row.view.work for row in rows}

    async def _read_all(self, subject: Subject) -> dict[str, Any]:
        """What the port tells, apart from numbers of units."""
        read = subject.store.read
        workers: list[WorkerView] = await read(ListWorkers())
        return {
            "tasks": {plan: [nameless(row) for row in await read(ListTasks(plan))] for plan in PLANS},
            "workers": workers,
            "ready": sorted(await read(ReadyLanes(tuple(map(plan_lane, (*PLANS, "none")))))),
            "everywhere": [nameless(row) for row in await read(FindTasks("T-1"))],
        }


def nameless(outcome: Any) -> Any:
    """An outcome without what may differ: numbers of units, and the words of a refusal."""
    match outcome:
        case TaskView() | Message() | Locked() | Responded():
            return structs.replace(outcome, work=0)
        case RequestView():
            return replace(outcome, work=0)
        case Drained():
            return structs.replace(outcome, messages=tuple(map(nameless, outcome.messages)))
        case TaskRow():
            return replace(outcome, view=nameless(outcome.view))
        case Taken():
            return structs.replace(outcome, tasks=tuple(map(nameless, outcome.tasks)))
        case Refused():
            return Refused(outcome.code, "", outcome.task_id)
        case Conflict(actual_state=State.WAITING):
            # Both are PENDING; whether an edge is closed by then depends on the order within the batch.
            return replace(outcome, actual_state=State.READY)
        case _:
            return outcome


def _readable(outcomes: list[Any]) -> list[str]:
    return [repr(outcome) for outcome in outcomes]


def _is_success(outcome: Any) -> bool:
    match outcome:
        case Refused() | Conflict() | None if outcome is not None:
            return False
        case Taken():
            return bool(outcome.tasks)
        case Drained():
            return bool(outcome.messages)
        case Applied():
            return outcome.added > 0
        case _:
            return outcome is None or isinstance(outcome, Swept | TaskView) or bool(outcome)
