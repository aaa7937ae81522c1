"""A sweep that found an expired hold while its holder was completing the task."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from hiringhall.domain.lifecycle import Move
from hiringhall.ports.asks import Beat, Settle, SweepSilent, Swept
from tests.storage.conftest import TERMS
from tests.storage.desk import ANN, BEN, Desk, accepted, task
from tests.storage.subjects import open_subject
from tests.waiting import until_async

LONG_AFTER_MS = TERMS.visibility_timeout_ms + TERMS.slack_ms + 10_000

WAITING_FOR_LOCKS = """
SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


async def silent_holder(desk: Desk) -> tuple[Settle, Settle]:
    """A worker that took two tasks and was not heard since: the completions that it is about to send."""
    await desk.plan("P", task("A"), task("B"))
    await desk.hire(ANN, BEN)
    first, second = (await desk.take(ANN, "P", limit=2)).tasks
    await desk.ask(Beat())
    end = desk.now + LONG_AFTER_MS
    while desk.now < end:
        desk.now = min(end, desk.now + 3_000)
        await desk.ask(Beat())
    return (
        Settle(ANN, first.task_id, first.version, Move.COMPLETE, plan="P"),
        Settle(ANN, second.task_id, second.version, Move.COMPLETE, plan="P"),
    )


async def test_rescue_versus_success_between_two_connections(request: pytest.FixtureRequest, postgres_url: str) -> None:
    """A task that is completed after the sweep found it expired, and before the sweep locked it, stays done."""
    async with open_subject("postgres", TERMS, request) as subject:
        desk = Desk(subject, TERMS)
        _, completion = await silent_holder(desk)
        store = subject.store
        blocker = await asyncpg.connect(postgres_url)
        observer = await asyncpg.connect(postgres_url)
        try:
            hold = blocker.transaction()
            await hold.start()
            await blocker.execute("SELECT id FROM work ORDER BY id LIMIT 1 FOR UPDATE")
            sweep = asyncio.create_task(store.commit([SweepSilent()], now=desk.now))

            async def sweep_waits() -> bool:
                return bool(await observer.fetchval(WAITING_FOR_LOCKS))

            await until_async(sweep_waits, waiting_for="the sweep to wait for the first task")
            (outcome,) = (await store.commit([completion], now=desk.now)).outcomes
            done = accepted(outcome)
            assert not sweep.done()
            await hold.rollback()
            assert (await sweep).outcomes == [Swept(1)]
        finally:
            await blocker.close()
            await observer.close()
        assert await desk.state("P", "A") == "ready"
        row = await desk.row("P", "B")
        assert (row.view.state.value, row.view.version) == ("done", done.version)
        assert [line.move for line in await desk.history("P", "B")] == ["submit", "hold", "complete"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_rescue_versus_success_by_order(kind: str, request: pytest.FixtureRequest) -> None:
    """Whichever comes first counts: a completed task is not swept, and a swept one is not completed."""
    async with open_subject(kind, TERMS, request) as subject:
        desk = Desk(subject, TERMS)
        early, late = await silent_holder(desk)
        accepted(await desk.ask(early))
        assert await desk.ask(SweepSilent()) == Swept(1)
        conflict = await desk.ask(late)
        assert (conflict.expected_version, conflict.actual_version) == (2, 3)
        assert conflict.actual_state.value == "ready"
        assert [line.move for line in await desk.history("P", "A")] == ["submit", "hold", "complete"]
        assert [line.move for line in await desk.history("P", "B")] == ["submit", "hold", "release"]
        assert (await desk.take_one(BEN, "P")).version == 4
