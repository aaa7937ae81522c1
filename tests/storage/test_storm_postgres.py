"""Two replicas that do random things at once on one PostgreSQL database: whatever the order, the books balance."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import asyncpg
import pytest

from hiringhall.domain.refusals import Refused
from hiringhall.ports.asks import ORDER
from hiringhall.ports.calls import Drain, FindRequests, Submit
from hiringhall.storage.model import ModelStore
from hiringhall.storage.postgres.store import PostgresStore
from tests.storage.batches import TERMS, Draft, addressed
from tests.storage.call_batches import CallWriter
from tests.storage.call_books import check_call_books
from tests.storage.desk import check_books
from tests.storage.subjects import Subject

ROUNDS = 25
AT_ONCE = 8
USUAL = {Submit, Drain}


class Storm:
    """Batches that are written with the oracle in mind, and carried out at once by two replicas."""

    def __init__(self, seed: int, stores: tuple[PostgresStore, PostgresStore], subject: Subject) -> None:
        self.stores, self.subject = stores, subject
        self.oracle = ModelStore(TERMS)
        self.writer = CallWriter(seed, self.oracle.hall)
        self.accepted: set[type[Any]] = set()

    async def round(self) -> None:
        """Write some batches one after the other, carry them out beside each other, and check the books."""
        batches = []
        for _ in range(AT_ONCE):
            drafts, now = self.writer.batch()
            numbers = {("", name): work for name, work in self.oracle.hall.book.numbers.items()}
            await self.oracle.commit([addressed(draft, numbers) for draft in drafts], now=now)
            batches.append((drafts, now))
        numbers = await self._numbers()
        at = batches[-1][1]
        running = [
            self._carry_out(self.stores[place % 2], drafts, numbers, at) for place, (drafts, _) in enumerate(batches)
        ]
        await asyncio.gather(*running)
        picture = await self.subject.call_snapshot()
        check_books(picture)
        check_call_books(picture)

    async def _numbers(self) -> dict[tuple[str, str], int]:
        names = tuple(self.oracle.hall.book.numbers)
        return {("", view.request_id): view.work for view in await self.stores[0].read(FindRequests(names))}

    async def _carry_out(
        self, store: PostgresStore, drafts: list[Draft], numbers: dict[tuple[str, str], int], now: int
    ) -> None:
        asks = [addressed(draft, numbers) for draft in drafts]
        for kind in ORDER:
            meant = [ask for ask in asks if type(ask) is kind]
            committed = await store.commit(meant, now=now) if meant else None
            for outcome in committed.outcomes if committed else ():
                if isinstance(outcome, BaseException):
                    raise outcome
                if not isinstance(outcome, Refused):
                    self.accepted.add(kind)


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("HALL_STORM_SEEDS", "2"))))
async def test_the_books_balance_after_a_storm(seed: int, postgres_url: str) -> None:
    """Whatever two replicas do at once: counters equal open children, counts equal units, what has ended has an outcome
    and no offers, and numbers of feedback are within what was counted."""
    stores = (await PostgresStore.open(postgres_url, terms=TERMS), await PostgresStore.open(postgres_url, terms=TERMS))
    reader = await asyncpg.connect(postgres_url)

    async def rows(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await reader.fetch(text)]

    try:
        storm = Storm(seed, stores, Subject("postgres", stores[0], rows))
        for _ in range(ROUNDS):
            await storm.round()
        assert storm.accepted >= USUAL
    finally:
        await reader.close()
        for store in stores:
            await store.close()
