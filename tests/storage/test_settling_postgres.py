"""What workers usually say of their tasks is one statement per move on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.ports.asks import Apply, Register, Settle, Take, TaskView
from hiringhall.storage.postgres.store import PostgresStore

ANN = "plan:ann"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """A store with a plan of four tasks and a worker."""
    opened = await PostgresStore.open(postgres_url)
    tasks = tuple(TaskSpec(name, (), 2, '"description":""') for name in "abcd")
    await opened.commit([Register(ANN), Apply(PlanFile("p", "p", tasks))])
    yield opened
    await opened.close()


async def taken(store: PostgresStore) -> list[TaskView]:
    """Take all that is ready."""
    (outcome,) = (await store.commit([Take(ANN, (plan_lane("p"),), 10)])).outcomes
    return list(outcome.tasks)


def said(view: TaskView, move: Move, reason: str | None = None) -> Settle:
    """What the worker says of a task that it was handed."""
    return Settle(ANN, view.task_id, view.version, move, "p", reason)


async def test_each_move_is_one_statement(store: PostgresStore) -> None:
    """Completions are one statement and releases another, however many there are, and in whatever order they come."""
    a, b, c, d = await taken(store)
    before = store.statements_run
    moves = (Move.RELEASE, Move.COMPLETE, Move.RELEASE, Move.COMPLETE)
    asks = [said(view, move) for view, move in zip((a, b, c, d), moves, strict=True)]
    committed = await store.commit(asks)
    assert [view.state for view in committed.outcomes] == [State.READY, State.DONE, State.READY, State.DONE]
    assert [view.task_id for view in committed.outcomes] == ["a", "b", "c", "d"]
    assert committed.rings == {topic_of_plan("p"): 2}
    assert store.statements_run - before == 2


async def test_the_first_of_two_is_accepted(store: PostgresStore) -> None:
    """Of two asks about one hand-over in a batch the first is accepted, whatever their moves."""
    a, b, *_ = await taken(store)
    asks = [said(a, Move.RELEASE), said(a, Move.COMPLETE), said(b, Move.FAIL, "broken"), said(b, Move.COMPLETE)]
    outcomes = (await store.commit(asks)).outcomes
    assert [getattr(outcome, "state", None) for outcome in outcomes] == [State.READY, None, State.FAILED, None]
    assert [outcome.actual_state for outcome in (outcomes[1], outcomes[3])] == [State.READY, State.FAILED]
