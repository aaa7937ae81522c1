"""Drains stand in several lanes at once: rings in any of them, lanes that come, rings that are lost or of no use."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from hiringhall.domain.call import NOTHING_REQUIRED, Dispatch, call_lane
from hiringhall.domain.lifecycle import State
from hiringhall.domain.topics import topic_of
from hiringhall.operations.recheck import Recheck
from hiringhall.ports.calls import Drain, FindRequests, Submit
from hiringhall.ports.questions import FindWorkers
from hiringhall.storage.model.store import ModelStore
from tests.operations.parts import Conversation
from tests.operations.test_claim_races import Dawdling
from tests.waiting import until_async
from tests.wire.services.bureau import SERVICE, Bureau, ServiceWorker, bureau, on_databases
from tests.wire.services.conftest import made

__all__ = ["made"]

METHODS = ("red", "green", "blue")
CALLS = 60
ROUNDS_MAX = 6_000


async def unrung(bureau: Bureau, request_id: str, method: str = "red") -> dict[str, int]:
    """A call whose rings have not come here; returns them."""
    ask = Submit(request_id, "client", SERVICE, method, b"null", 60_000)
    committed = await bureau.store.store.commit([ask])
    return dict(committed.rings)


async def familiar(bureau: Bureau, *workers: str) -> list[ServiceWorker]:
    """Workers who know a lane for each method, all of them empty."""
    hired = [await bureau.hire(worker, *METHODS) for worker in workers]
    for method in METHODS:
        await bureau.submit(method)
    while await hired[0].ids():
        pass
    return hired


async def ids_of(drain: Conversation) -> list[str]:
    """The ids that a drain brings."""
    return [message["request_id"] for message in await drain.json()]


async def test_a_ring_in_any_lane_wakes(made: Bureau) -> None:
    """Whatever method is called, a parked drain gets it, and is in no line afterwards."""
    (worker,) = await familiar(made, "w")
    for method in METHODS:
        waiting = await worker.waiting()
        assert len(made.wakeups.waited_for()) == len(METHODS) + 1
        request_id = await made.submit(method)
        assert await ids_of(waiting) == [request_id]
        assert not made.wakeups.waited_for()


async def test_rings_in_several_lanes_are_one_look(made: Bureau) -> None:
    """A drain that is rung in all of its lanes at once looks once, and gets everything."""
    (worker,) = await familiar(made, "w")
    waiting = await worker.waiting()
    rings: Counter[str] = Counter()
    for number, method in enumerate(METHODS):
        rings.update(await unrung(made, f"r-x{number}", method))
    looks = len(made.store.asked(Drain))
    made.wakeups.ring_committed(rings)
    assert await ids_of(waiting) == ["r-x0", "r-x1", "r-x2"]
    assert len(made.store.asked(Drain)) == looks + 1


async def test_rings_in_several_lanes_wake_several(made: Bureau) -> None:
    """Rings in two lanes reach two drains, although the first in line stands in both."""
    first, second = await familiar(made, "a", "b")
    one, other = await first.waiting(), await second.waiting()
    rings = Counter(await unrung(made, "r-x", "red"))
    rings.update(await unrung(made, "r-y", "blue"))
    made.wakeups.ring_committed(rings)
    assert sorted(await ids_of(one) + await ids_of(other)) == ["r-x", "r-y"]


async def test_a_ring_during_the_look_is_not_lost(made: Bureau) -> None:
    """A ring in any lane while a drain is being looked for in vain has it look again before it waits."""
    (worker,) = await familiar(made, "w")
    await made.submit("red")
    await worker.ids()
    waiting = await worker.waiting()
    looks = len(made.store.asked(Drain))
    made.store.hold_up()
    made.wakeups.ring(topic_of(lane_of("green")))
    await until_async(lambda: _so_many(made, looks + 1))
    made.wakeups.ring(topic_of(lane_of("blue")))
    made.store.go_on()
    await until_async(lambda: _so_many(made, looks + 2), waiting_for="a second look")
    await made.settle_down()
    assert not waiting.answered
    assert len(made.store.asked(Drain)) == looks + 2


async def test_whoever_is_served_wakes_the_next(made: Bureau) -> None:
    """If there is more than a drain's share, it wakes the next in line, though there was one ring only."""
    first, second = await familiar(made, "a", "b")
    one, other = await first.waiting(), await second.waiting()
    await unrung(made, "r-x")
    rings = await unrung(made, "r-y")
    made.wakeups.ring_committed(rings)
    assert sorted(await ids_of(one) + await ids_of(other)) == ["r-x", "r-y"]


async def test_an_offer_wakes_the_next(made: Bureau) -> None:
    """A call in a race reaches everybody who waits, even if there was one ring only."""
    workers = await familiar(made, "a", "b", "c")
    await made.race("red")
    for worker in workers:
        await worker.ids()
    waiting = [await worker.waiting() for worker in workers]
    ask = Submit("r-x", "client", SERVICE, "red", b"null", 60_000, dispatch=Dispatch.RACE)
    await made.store.store.commit([ask])
    made.wakeups.ring(topic_of(lane_of("red", Dispatch.RACE)), 1)
    assert [await ids_of(drain) for drain in waiting] == [["r-x"]] * 3


def lane_of(method: str, dispatch: Dispatch = Dispatch.EXCLUSIVE) -> str:
    """The lane of calls that require nothing."""
    return call_lane(SERVICE, method, dispatch, NOTHING_REQUIRED)


async def _so_many(made: Bureau, looks: int) -> bool:
    return len(made.store.asked(Drain)) == looks


@on_databases
async def test_lost_rings_are_covered_by_the_re_check(made: Bureau) -> None:
    """What became ready unrung is found by the re-check, also in a lane that is so new that the worker does not stand
    in it yet."""
    worker = await made.hire("w", *METHODS)
    recheck = Recheck(made.hall)
    for number, method in enumerate(("red", "red", "blue")):
        waiting = await worker.waiting()
        await unrung(made, f"r-{method}-{number}", method)
        await made.turns()
        assert not waiting.answered
        await recheck.run_once()
        assert await ids_of(waiting) == [f"r-{method}-{number}"]


async def test_a_view_that_stays_as_it_was_costs_no_look(made: Bureau) -> None:
    """A drain whose worker's view is read again, and has not changed, stays parked without a look."""
    (worker,) = await familiar(made, "w")
    waiting = await worker.waiting()
    looks = len(made.store.asked(Drain))
    for _ in range(3):
        known = made.hall.presence.fresh(worker.key, made.hall.time())
        assert known is not None
        made.wakeups.ring(known.topic)
        await until_async(lambda: _is_fresh(made, worker))
    await made.settle_down()
    assert not waiting.answered
    assert len(made.store.asked(Drain)) == looks


async def _is_fresh(made: Bureau, worker: ServiceWorker) -> bool:
    return made.hall.presence.fresh(worker.key, made.hall.time()) is not None


async def test_workers_of_a_service_are_read_together(made: Bureau) -> None:
    """A new lane makes the views of all workers of the service stale, and they are read again in one question."""
    workers = [await made.hire(name, *METHODS) for name in "abcdefgh"]
    for worker in workers:
        await worker.waiting()
    reads = len([query for query in made.store.reads if isinstance(query, FindWorkers)])
    await made.submit("red")
    await made.settle_down()
    later = [query for query in made.store.reads if isinstance(query, FindWorkers)][reads:]
    assert len(later) <= 2
    assert max(len(query.keys) for query in later) == len(workers)


class Hand:
    """A worker that drains one call after the other, and often goes away at the worst moment."""

    def __init__(self, worker: ServiceWorker, dice: random.Random, done: Counter[str]) -> None:
        self.worker, self.dice, self.done = worker, dice, done
        self.drain: Conversation | None = None

    async def step(self) -> None:
        """Do one random thing."""
        if self.drain is None:
            self.drain = self.worker.drain("?wait=50")
        elif not self.drain.answered:
            if self.dice.random() < 0.15:
                self.drain.hang_up()
                self.drain = None
        else:
            drain, self.drain = self.drain, None
            messages = await drain.json()
            if messages and self.dice.random() < 0.2:
                assert drain.lost is not None
                drain.lost()
                return
            for message in messages:
                await self.answer(message)

    async def answer(self, message: dict[str, Any]) -> None:
        """Answer a call, which has to be accepted unless it was a race that another won."""
        request_id = message["request_id"]
        if message["lock_required"] and (await self.worker.lock(request_id).reply()).status != 200:
            return
        assert (await self.worker.respond(request_id).reply()).status == 200
        self.done[request_id] += 1


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_is_lost_and_nothing_is_done_twice(seed: int) -> None:
    """Every call is answered once, although nobody looks unless rung and workers come and go with other methods."""
    dice = random.Random(seed)
    model = ModelStore(_terms())
    async with bureau(Dawdling(model, dice)) as made:
        done: Counter[str] = Counter()
        hands = []
        for number in range(8):
            worker = await made.hire(f"w{number}", *dice.sample(METHODS, dice.randint(1, 3)))
            hands.append(Hand(worker, dice, done))
        everybody = await made.hire("everybody", *METHODS)
        hands.append(Hand(everybody, dice, done))
        ids: list[str] = []
        for _ in range(ROUNDS_MAX):
            if len(ids) < CALLS and dice.random() < 0.2:
                method = dice.choice(METHODS)
                ids.append(await (made.race(method) if dice.random() < 0.2 else made.submit(method)))
            await dice.choice(hands).step()
            for _ in range(dice.randrange(3)):
                await asyncio.sleep(0)
            if len(ids) >= CALLS and len(done) == len(ids):
                break
        await made.settle_down()
        views = await made.store.read(FindRequests(tuple(ids)))
        unfinished = [view.request_id for view in views if view.state is not State.DONE]
        assert not unfinished
        assert set(done.values()) == {1}
        for hand in hands:
            if hand.drain is not None and not hand.drain.answered:
                hand.drain.hang_up()


def _terms() -> Any:
    from hiringhall.config import Settings
    from hiringhall.operations.hall import terms_of

    return terms_of(Settings(data="unused"))
