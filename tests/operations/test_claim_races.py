"""Workers who hang up, lose answers, release and complete in random order, without any re-check: no ring is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import Ask
from hiringhall.ports.questions import ListTasks
from hiringhall.ports.store import Committed
from hiringhall.storage.model.store import ModelStore
from tests.operations.parts import Conversation, Office, office
from tests.waiting import until_async

TASKS = 60
WORKERS = 12
ROUNDS_MAX = 4_000


class Dawdling(ModelStore):
    """A store whose commits take a random number of turns, some before and some after the change."""

    def __init__(self, store: ModelStore, dice: random.Random) -> None:
        self.__dict__ = store.__dict__
        self.dice = dice

    async def commit(self, asks: Sequence[Ask], *, now: int | None = None) -> Committed:
        for _ in range(self.dice.randrange(3)):
            await asyncio.sleep(0)
        committed = await super().commit(asks, now=now)
        for _ in range(self.dice.randrange(3)):
            await asyncio.sleep(0)
        return committed


class Worker:
    """Claims one task after the other, and often goes away at the worst moment."""

    def __init__(self, made: Office, name: str, dice: random.Random, done: Counter[str]) -> None:
        self.made, self.name, self.dice, self.done = made, name, dice, done
        self.claim: Conversation | None = None

    async def step(self) -> None:
        """Do one random thing."""
        if self.claim is None:
            self.claim = self.made.claim(self.name)
        elif not self.claim.answered:
            if self.dice.random() < 0.15:
                self.claim.hang_up()
                self.claim = None
        else:
            claim, self.claim = self.claim, None
            reply = await claim.reply()
            if reply.status == 204:
                return
            task = (await claim.json())["task"]
            await self.use(claim, task)

    async def use(self, claim: Conversation, task: dict[str, Any]) -> None:
        """Finish what was claimed, or do not."""
        chance = self.dice.random()
        if chance < 0.2:
            assert claim.lost is not None
            claim.lost()
        elif chance < 0.4:
            await self.made.settle("release", task["id"], task["version"], self.name, reason="r").json()
        else:
            await self.made.settle("complete", task["id"], task["version"], self.name).json()
            self.done[task["id"]] += 1


@pytest.mark.parametrize("seed", range(12))
async def test_nothing_is_lost_and_nothing_is_done_twice(seed: int) -> None:
    """Every task is completed once, although nobody looks unless rung, and nothing is held in the end."""
    dice = random.Random(seed)
    async with office() as made:
        model = made.store.store
        assert isinstance(model, ModelStore)
        made.store.store = Dawdling(model, dice)
        done: Counter[str] = Counter()
        workers = [Worker(made, f"w{number}", dice, done) for number in range(WORKERS)]
        applied = 0
        for _ in range(ROUNDS_MAX):
            if applied < TASKS and dice.random() < 0.2:
                some = dice.randint(1, 5)
                await made.apply(*(f"T{applied + number}" for number in range(some)))
                applied += some
            await dice.choice(workers).step()
            for _ in range(dice.randrange(3)):
                await asyncio.sleep(0)
            if applied >= TASKS and len(done) == applied:
                break
        await made.hall.coalescer.idle()
        await made.turns()
        rows = await made.store.read(ListTasks("p"))
        assert {row.view.state for row in rows} == {State.DONE}
        assert set(done.values()) == {1}


@pytest.mark.parametrize("seed", range(6))
async def test_what_is_ready_never_waits_beside_a_waiter(seed: int) -> None:
    """Once all is quiet, either no task is ready or nobody is parked."""
    dice = random.Random(1000 + seed)
    async with office() as made:
        model = made.store.store
        assert isinstance(model, ModelStore)
        made.store.store = Dawdling(model, dice)
        for round_number in range(25):
            claims = [made.claim(f"w{number}") for number in range(dice.randrange(8))]
            applying = asyncio.ensure_future(made.apply(*(f"R{round_number}-{n}" for n in range(dice.randrange(6)))))
            for claim in claims:
                if dice.random() < 0.3:
                    claim.hang_up()
                await asyncio.sleep(0)
            await applying

            async def quiet() -> bool:
                await made.turns(30)
                return not made.hall.coalescer.waiting

            await until_async(quiet)
            await made.hall.coalescer.idle()
            rows = await made.store.read(ListTasks("p", states=(State.READY,)))
            assert not (rows and made.wakeups.waited_for()), (round_number, rows, made.hall.parked)
            for claim in claims:
                if not claim.answered and not claim.gone:
                    claim.hang_up()
