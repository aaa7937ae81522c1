"""Several replicas: workers, heartbeats and drains that this one does not hear of, and what the store tells it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from hiringhall.domain.topics import EVERYTHING, topic_of
from hiringhall.ports.probes import LazyWorker
from hiringhall.probe.policy import NOT_DRAINED, VIEW_SECONDS
from tests.probe.stage import LANE, SOURCE, Stage, settled


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A replica at which nobody registers."""
    stage = Stage()
    await settled()
    yield stage
    await stage.probes.stop()


def elsewhere(stage: Stage, key: str, **about: Any) -> None:
    """A worker registered at another replica, or the store has news of it."""
    known = stage.store.workers.get(key) or LazyWorker(key, SOURCE, 55_222, SOURCE, False, lanes=(LANE,))
    stage.store.workers[key] = replace(known, **about)


async def test_a_worker_of_another_replica_is_probed(stage: Stage) -> None:
    """Who registered elsewhere is found by asking the store when its lane is rung here."""
    elsewhere(stage, "a")
    await stage.commits(request_id="r-1")
    assert stage.prober.made == [("a", "r-1")]


async def test_what_is_ready_is_found_after_a_restart(stage: Stage) -> None:
    """Work that was ready before this process began, on a lane that it never heard of, has a worker probed."""
    elsewhere(stage, "a")
    stage.store.ready = [LANE]
    await stage.clock.passes(VIEW_SECONDS + 0.1)
    assert stage.probed == ["a"]


async def test_rings_that_could_not_be_told_lead_to_a_look(stage: Stage) -> None:
    """The topic of everything has the store asked at once."""
    elsewhere(stage, "a")
    stage.store.ready = [LANE]
    stage.probes.rings_committed({EVERYTHING: 1})
    await stage.clock.passes(0.3)
    assert stage.probed == ["a"]


async def test_a_drain_elsewhere_is_no_failure(stage: Stage) -> None:
    """A worker that acknowledged, and was handed something at another replica since, did well."""
    elsewhere(stage, "a", handed=7)
    await stage.commits(request_id="r-1")
    await stage.ends("a")
    elsewhere(stage, "a", handed=8)
    await stage.clock.passes(2.3)
    assert stage.state("a").failures == 0
    assert stage.state("a").last == "acknowledged, and drained"


async def test_work_that_was_taken_elsewhere_is_no_failure(stage: Stage) -> None:
    """If nothing is ready any more, whoever acknowledged did what it could, and nobody else is probed."""
    elsewhere(stage, "a", handed=7)
    elsewhere(stage, "b", handed=7)
    await stage.commits(request_id="r-1")
    await stage.ends("a")
    stage.store.ready = []
    await stage.clock.passes(2.3)
    assert stage.state("a").failures == 0
    assert stage.state("a").last == "acknowledged, and the work was taken"
    await stage.clock.passes(60)
    assert stage.probed == ["a"]


async def test_no_drain_anywhere_is_a_failure(stage: Stage) -> None:
    """If the work is still ready and the worker was handed nothing, it failed, and the next one is probed."""
    elsewhere(stage, "a", handed=7)
    elsewhere(stage, "b", handed=7)
    await stage.commits(request_id="r-1")
    await stage.ends("a")
    await stage.clock.passes(2.3)
    assert stage.state("a").last == f"failed: {NOT_DRAINED}"
    assert stage.probed == ["a", "b"]


async def test_a_heartbeat_elsewhere_ends_the_rest(stage: Stage) -> None:
    """A worker that rests is tried again when the store tells of a heartbeat after its back-off."""
    elsewhere(stage, "a", beat=1)
    await stage.commits(request_id="r-1")
    await stage.fails("a")
    await stage.clock.passes(20)
    assert stage.probed == ["a"]
    elsewhere(stage, "a", beat=2)
    await stage.clock.passes(VIEW_SECONDS + 0.1)
    assert stage.probed == ["a", "a"]


async def test_one_who_left_elsewhere_is_not_probed(stage: Stage) -> None:
    """A worker that the store no longer tells of is probed no more, even if it registered here."""
    await stage.registers("a")
    elsewhere(stage, "b")
    await stage.clock.passes(1)
    del stage.store.workers["a"]
    await stage.clock.passes(VIEW_SECONDS)
    await stage.commits(request_id="r-1")
    assert stage.probed == ["b"]


async def test_one_who_moved_is_probed_where_it_is_now(stage: Stage) -> None:
    """A worker that registered anew elsewhere, with another port, begins anew."""
    elsewhere(stage, "a")
    await stage.commits(request_id="r-1")
    await stage.fails("a")
    elsewhere(stage, "a", port=55_333)
    await stage.clock.passes(VIEW_SECONDS + 0.1)
    assert stage.probed == ["a", "a"]


async def test_a_hall_without_lazy_workers_is_asked_little(stage: Stage) -> None:
    """Rings of lanes that no Lazy worker serves cost a look in some seconds, however many there are."""
    stage.probes.announced(LANE, "r-1")
    looks = stage.store.looks
    for _ in range(1_000):
        stage.probes.rings_committed({topic_of(LANE): 1, topic_of("call:never announced"): 1})
        await stage.clock.passes(0.02)
    assert stage.store.looks - looks <= 20 / VIEW_SECONDS * 2.5
    assert len(stage.store.viewed) <= 20 / VIEW_SECONDS * 2.5


async def test_a_quiet_hall_is_asked_once_in_five_seconds(stage: Stage) -> None:
    """With nothing ready, the store gets one question in about five seconds, and none about workers."""
    await stage.clock.passes(1_000)
    assert 195 <= stage.store.looks <= 230
    assert stage.store.viewed == []


async def test_a_storm_of_rings_is_not_a_storm_of_looks(stage: Stage) -> None:
    """Rings of many lanes are answered by few looks, each about many lanes."""
    for number in range(500):
        stage.probes.announced(f"call:{number}", "r-1")
    looks = stage.store.looks
    for number in range(500):
        stage.probes.rings_committed({topic_of(f"call:{number}"): 1})
        await stage.clock.passes(0.01)
    assert stage.store.looks - looks <= 5 / 0.2 + 2
