"""Random batches go to the oracle and to a database: outcomes, rings, and everything stored must agree after each."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hiringhall.domain.lifecycle import MOVES, Move
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict
from hiringhall.ports.store import (
    ORDER,
    Applied,
    FindTasks,
    FoldTallies,
    ListTasks,
    ListWorkers,
    ReadyLanes,
    Swept,
    Taken,
    TaskRow,
    TaskView,
    WorkerView,
)
from hiringhall.storage.model import ModelStore
from tests.storage.batches import PLANS, TERMS, Draft, Writer, addressed
from tests.storage.desk import check_books
from tests.storage.snapshot import Edge, crossed_edges
from tests.storage.subjects import Subject, open_subject

BATCHES_MIN = 40
BATCHES_MAX = 4_000
OF_CALLS = {Move.WITHDRAW, Move.EXPIRE}
TO_CROSS = {(state, move) for state, move in MOVES if move not in OF_CALLS}
REGRESSIONS = Path(__file__).with_name("regression_seeds.txt")


def seeds() -> list[int]:
    """Seeds that once failed, and then as many as HALL_DIFFERENTIAL_SEEDS says."""
    lines = REGRESSIONS.read_text().splitlines()
    once_failed = [int(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()]
    count = int(os.environ.get("HALL_DIFFERENTIAL_SEEDS", "2"))
    return list(dict.fromkeys([*once_failed, *range(1, count + 1)]))


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_agrees_with_the_oracle(kind: str, seed: int, request: pytest.FixtureRequest) -> None:
    """A database does exactly what the domain decides, whatever the batches, on every edge of the lifecycle."""
    async with open_subject(kind, TERMS, request) as subject:
        await Comparison(seed, subject).run()


class Comparison:
    """One run of one seed."""

    def __init__(self, seed: int, subject: Subject) -> None:
        self.seed = seed
        self.subject = subject
        self.oracle = ModelStore(TERMS)
        self.writer = Writer(seed, self.oracle.hall)
        self.crossed: set[Edge] = set()
        self.succeeded: set[type[Any]] = set()
        self.pictures: dict[str, Any] = self.oracle.snapshot()

    async def run(self) -> None:
        """Go on until every verb has succeeded and every edge was crossed."""
        for number in range(BATCHES_MAX):
            await self._one(number)
            complete = self.succeeded >= set(ORDER) and self.crossed >= TO_CROSS
            if complete and number >= BATCHES_MIN:
                return
        verbs = sorted(verb.__name__ for verb in set(ORDER) - self.succeeded)
        pytest.fail(f"seed {self.seed}: never succeeded: {verbs}; never crossed: {sorted(TO_CROSS - self.crossed)}")

    async def _one(self, number: int) -> None:
        drafts, now = self.writer.batch()
        told = f"seed {self.seed}, batch {number} at {now}:\n" + "\n".join(f"  {draft}" for draft in drafts)
        expected = await self._commit(Subject("model", self.oracle, _none), drafts, now)
        found = await self._commit(self.subject, drafts, now)
        assert _readable(found[0]) == _readable(expected[0]), told
        assert found[1] == expected[1], f"rings; {told}"
        picture = self.oracle.snapshot()
        actual = await self.subject.snapshot()
        for part, content in picture.items():
            assert actual[part] == content, f"{part}; {told}"
        check_books(picture)
        assert await _read_all(self.subject) == await _read_all(Subject("model", self.oracle, _none)), told
        self.crossed |= crossed_edges(self.pictures, picture)
        self.pictures = picture
        self.succeeded |= {type(addressed(d, {})) for d, o in zip(drafts, expected[0], strict=True) if _is_success(o)}

    async def _commit(self, subject: Subject, drafts: list[Draft], now: int) -> tuple[list[Any], dict[str, int]]:
        numbers = await _numbers(subject)
        asks = [addressed(draft, numbers) for draft in drafts]
        by_channel: dict[str, list[int]] = {}
        for place, ask in enumerate(asks):
            by_channel.setdefault(subject.store.channel(ask), []).append(place)
        outcomes: list[Any] = [None] * len(asks)
        rings: dict[str, int] = {}
        committed = await subject.store.commit(asks, now=now)
        for place, (ask, outcome) in enumerate(zip(asks, committed.outcomes, strict=True)):
            outcomes[place] = Swept() if isinstance(ask, FoldTallies) else _nameless(outcome)
        for topic, count in committed.rings.items():
            rings[topic] = rings.get(topic, 0) + count
        return outcomes, rings


async def _none() -> dict[str, Any]:
    return {}


async def _numbers(subject: Subject) -> dict[tuple[str, str], int]:
    rows: list[TaskRow] = []
    for plan in PLANS:
        rows += await subject.store.read(ListTasks(plan))
    return {(row.view.plan, row.view.task_id): row.view.work for row in rows}


async def _read_all(subject: Subject) -> dict[str, Any]:
    """What the port tells, apart from numbers of units."""
    read = subject.store.read
    workers: list[WorkerView] = await read(ListWorkers())
    return {
        "tasks": {plan: [_nameless(row) for row in await read(ListTasks(plan))] for plan in PLANS},
        "workers": workers,
        "ready": sorted(await read(ReadyLanes(tuple(map(plan_lane, (*PLANS, "none")))))),
        "everywhere": [_nameless(row) for row in await read(FindTasks("T-1"))],
    }


def _nameless(outcome: Any) -> Any:
    """An outcome without what may differ: numbers of units, and the words of a refusal."""
    match outcome:
        case TaskView():
            return replace(outcome, work=0)
        case TaskRow():
            return replace(outcome, view=_nameless(outcome.view))
        case Taken():
            return replace(outcome, tasks=tuple(map(_nameless, outcome.tasks)))
        case Refused():
            return Refused(outcome.code, "", outcome.task_id)
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
        case Applied():
            return outcome.added > 0
        case _:
            return outcome is None or isinstance(outcome, Swept | TaskView) or bool(outcome)
