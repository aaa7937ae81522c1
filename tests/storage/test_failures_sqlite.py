"""What the store on SQLite does when the disk is full in the middle of a batch, and when it is being closed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from hiringhall.domain.plan import PlanFile
from hiringhall.ports.asks import Apply, PausePlan, Register
from hiringhall.ports.store import StoreUnavailable
from hiringhall.storage.sqlite.store import SqliteStore
from hiringhall.storage.sqlite.thread import CallThread
from tests.storage.desk import task

SPARE_PAGES = 8


async def test_what_was_done_before_the_disk_was_full_is_told(tmp_path: Path) -> None:
    """Where each ask of a poisoned batch goes alone and the disk fills up, those that were carried out are told so."""
    store = await SqliteStore.open(tmp_path / "hall.sqlite")
    pages = store._writing.pragma("page_count")
    store._writing.pragma("max_page_count", pages + SPARE_PAGES)
    poison = Register("plan:poison", hostname=object())  # type: ignore[arg-type]
    big = Apply(PlanFile("p", "P", tuple(task(f"T-{number}", note="x" * 1_000) for number in range(500))))
    committed = await store.commit([Register("plan:a"), poison, big, PausePlan("p", paused=True)])
    assert committed.outcomes[0] is True
    assert isinstance(committed.outcomes[1], TypeError)
    assert isinstance(committed.outcomes[2], StoreUnavailable)
    assert committed.outcomes[3] is False
    await store.close()


async def test_a_call_behind_the_end_is_refused() -> None:
    """Whoever calls while the thread finishes what was asked before is told so, and does not wait for ever."""
    thread = CallThread("examined")
    go_on = threading.Event()
    first = asyncio.create_task(thread.call(lambda: go_on.wait(10)))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(thread.stop())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(thread.call(lambda: None), 5)
    go_on.set()
    assert await asyncio.wait_for(first, 5)
    await asyncio.wait_for(stopping, 5)
