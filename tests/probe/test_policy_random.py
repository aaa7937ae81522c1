"""Random histories: whatever happens in whatever order, the books stay in order and nobody is forgotten."""

from __future__ import annotations

import random

import pytest

from hiringhall.ports.store import StoreUnavailable
from hiringhall.probe.policy import IN_FLIGHT_MAX, VIEW_SECONDS
from hiringhall.probe.prober import Kind, Result
from hiringhall.probe.records import WANTED_MAX, Phase, Records
from tests.probe.stage import SOURCE, Stage

WORKERS = [f"w{number}" for number in range(6)]
LANES = [f"call:{number}" for number in range(4)]


async def step(stage: Stage, dice: random.Random) -> None:
    """Something happens."""
    worker, lane = dice.choice(WORKERS), dice.choice(LANES)
    match dice.randrange(12):
        case 0:
            await stage.registers(worker, lanes=dice.sample(LANES, 2), port=dice.choice([55_222, 55_333, 80]))
        case 1:
            await stage.leaves(worker)
        case 2 | 3:
            await stage.commits(lane=lane, request_id=dice.choice(["r-1", None]), count=dice.randrange(1, 4))
        case 4 | 5:
            await stage.drains(worker, more=dice.random() < 0.5, taken=dice.random() < 0.8, lane=lane)
        case 6:
            await stage.beats(*WORKERS)
        case 7 if stage.prober.under_way:
            await stage.ends(dice.choice(sorted(stage.prober.under_way)))
        case 8 if stage.prober.under_way:
            await stage.fails(dice.choice(sorted(stage.prober.under_way)))
        case 9 if stage.prober.under_way:
            await stage.ends(dice.choice(sorted(stage.prober.under_way)), Result(Kind.REFUSED, "no"))
        case 10:
            stage.store.failure = dice.choice([None, None, StoreUnavailable("away")])
        case _:
            await stage.clock.passes(dice.choice([0.05, 0.3, 2.1, 7.0, 61.0]))


def check(stage: Stage, records: Records) -> None:
    """The books are in order."""
    assert len(stage.prober.under_way) <= IN_FLIGHT_MAX
    for topic, lane in records.lanes.items():
        assert 0 <= lane.wanted <= WANTED_MAX
        busy = [each for each in records.workers.values() if each.lane == topic]
        assert lane.under_way == len(busy)
        assert all(topic in records.workers[key].lanes for key in lane.workers)
    for key, record in records.workers.items():
        assert record.rests == (record.lane == "")
        assert all(key in records.lanes[topic].workers for topic in record.lanes)
        if record.phase is Phase.PROBED:
            assert key in stage.prober.under_way


@pytest.mark.parametrize("seed", range(40))
async def test_the_books_stay_in_order(seed: int) -> None:
    """After every step each lane knows how many are probed for it, and in the end ready work has a worker probed."""
    dice = random.Random(seed)
    small = seed % 4 == 0
    records = Records(workers_max=3, lanes_max=8) if small else Records()
    stage = Stage(records=records)
    for _ in range(150):
        await step(stage, dice)
        if not small:  # lanes that were forgotten are in nobody's books
            check(stage, records)
    stage.store.failure = None
    while stage.prober.under_way:
        for key in list(stage.prober.under_way):
            await stage.fails(key)
    probed = len(stage.probed)
    await stage.registers("fresh", lanes=LANES, ip=SOURCE)
    stage.store.ready = [LANES[0]]
    await stage.clock.passes(2 * VIEW_SECONDS)
    assert "fresh" in stage.probed[probed:] or set(stage.probed[probed:]) & set(WORKERS)
    await stage.probes.stop()
