"""Reading on SQLite: what requests wait for goes on beside long lists, and no question goes on for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.ports.asks import Apply
from hiringhall.ports.questions import Alive, ListTasks
from hiringhall.ports.store import StoreUnavailable
from hiringhall.storage.sqlite import reading
from hiringhall.storage.sqlite.store import SqliteStore


async def test_a_question_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its time a read is ended with StoreUnavailable, and the next one is answered."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    specs = (TaskSpec(f"T-{place}", (), 2, '"description":""') for place in range(20_000))
    await store.commit([Apply(PlanFile("p", "p", tuple(specs)))])
    with monkeypatch.context() as patch:
        patch.setattr(reading, "READ_SECONDS_MAX", 0.0)
        with pytest.raises(StoreUnavailable, match="took longer"):
            await store.read(ListTasks("p", limit=20_000))
    assert len(await store.read(ListTasks("p", limit=20_000))) == 20_000
    await store.close()


async def test_lists_do_not_hold_up_what_requests_wait_for(tmp_path: Path) -> None:
    """While a list is being read, the question whether the database answers is answered."""
    store = await SqliteStore.open(tmp_path / "hall.db")
    specs = (TaskSpec(f"T-{place}", (), 2, '"description":""') for place in range(20_000))
    await store.commit([Apply(PlanFile("p", "p", tuple(specs)))])
    lists = [asyncio.ensure_future(store.read(ListTasks("p", limit=20_000))) for _ in range(5)]
    await asyncio.sleep(0)
    assert await store.read(Alive())
    assert not all(task.done() for task in lists)
    await asyncio.gather(*lists)
    await store.close()
