"""Whom the hall probes, and when: every rule, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from hiringhall.ports.store import StoreUnavailable
from hiringhall.probe.addresses import Rules, parse_networks
from hiringhall.probe.policy import BACKOFF, IN_FLIGHT_MAX, NOT_DRAINED
from hiringhall.probe.prober import Kind, Result
from hiringhall.probe.records import Records
from tests.probe.stage import LANE, Stage, settled

MakeStage = Callable[..., Awaitable[Stage]]


@pytest.fixture
async def make_stage() -> AsyncIterator[MakeStage]:
    """Makes stages, and stops them."""
    made: list[Stage] = []

    async def make(**about: Any) -> Stage:
        stage = Stage(**about)
        made.append(stage)
        await settled()
        return stage

    yield make
    for stage in made:
        await stage.probes.stop()


@pytest.fixture
async def stage(make_stage: MakeStage) -> Stage:
    """One stage."""
    return await make_stage()


async def test_one_unit_has_one_worker_probed(stage: Stage) -> None:
    """A unit that becomes ready leads to one probe of one of the lane's workers, with the id of the request."""
    await stage.registers("a", "b", "c")
    await stage.commits(request_id="r-1")
    assert stage.prober.made == [("a", "r-1")]
    await stage.ends("a")
    await stage.drains("a")
    await stage.clock.passes(60)
    assert stage.probed == ["a"]
    assert stage.state("a").last == "acknowledged, and drained"


async def test_many_units_have_as_many_workers_probed(stage: Stage) -> None:
    """Units that become ready together have different workers probed, each once."""
    await stage.registers("a", "b", "c")
    await stage.commits(count=2)
    assert stage.probed == ["a", "b"]
    await stage.commits(count=5)
    assert stage.probed == ["a", "b", "c"]


async def test_the_one_probed_longest_ago_is_next(stage: Stage) -> None:
    """Probes go round."""
    await stage.registers("a", "b", "c")
    for key in "abcab":
        await stage.commits()
        await stage.ends(key)
        await stage.drains(key)
    assert stage.probed == list("abcab")


async def test_other_lanes_have_nobody_probed(stage: Stage) -> None:
    """A ring of another lane, of a request or of a worker is nobody's business here."""
    await stage.registers("a")
    await stage.commits(lane="call:other")
    assert stage.probed == []
    await stage.commits(lane="worker:a")
    assert stage.probed == ["a"], "its own lane is its business"


async def test_one_probe_per_worker_is_in_flight(stage: Stage) -> None:
    """While a worker is probed it is not probed again, on whatever lane work becomes ready."""
    await stage.registers("a", lanes=["call:x", "call:y"])
    for lane in ("call:x", "call:y", "call:x"):
        await stage.commits(lane=lane)
    await stage.clock.passes(60)
    assert stage.probed == ["a"]


async def test_a_registration_during_a_probe_begins_no_second_one(stage: Stage) -> None:
    """A worker that registers again while it is probed is probed once more only when that probe is over."""
    await stage.registers("a")
    await stage.commits()
    await stage.registers("a")
    await stage.commits()
    assert stage.probed == ["a"]
    await stage.fails("a")
    assert stage.probed == ["a", "a"]
    assert stage.state("a").failures == 0, "what failed was the probe of its former life"


async def test_probes_in_flight_are_bounded(stage: Stage) -> None:
    """However much becomes ready, only so many probes are made at once; the rest follow."""
    keys = [f"w{number}" for number in range(IN_FLIGHT_MAX + 10)]
    for key in keys:
        await stage.registers(key, lanes=[f"call:{key}"])
    for key in keys:
        await stage.commits(lane=f"call:{key}")
    assert len(stage.probed) == IN_FLIGHT_MAX
    for key in keys:
        await stage.ends(key)
    assert sorted(stage.probed) == sorted(keys)
    assert stage.prober.most_at_once == IN_FLIGHT_MAX


async def test_a_failed_probe_leads_to_the_next_worker(stage: Stage) -> None:
    """If one does not answer, the next one is probed for the same request, and so on until all have failed."""
    await stage.registers("a", "b", "c")
    await stage.commits(request_id="r-1")
    for key in "abc":
        await stage.fails(key)
    assert stage.prober.made == [("a", "r-1"), ("b", "r-1"), ("c", "r-1")]
    assert stage.state("a").last == "failed: nothing listens there"


async def test_whoever_does_not_drain_in_time_has_failed(stage: Stage) -> None:
    """A worker that acknowledged and did not drain within 2 s counts as failed, and the next one is probed."""
    await stage.registers("a", "b")
    await stage.commits()
    await stage.ends("a")
    await stage.clock.passes(1.9)
    assert stage.probed == ["a"]
    await stage.clock.passes(0.4)
    assert stage.probed == ["a", "b"]
    assert stage.state("a").last == f"failed: {NOT_DRAINED}"
    assert stage.state("a").failures == 1


async def test_a_drain_in_time_is_no_failure(stage: Stage) -> None:
    """A worker that drains before the 2 s are over, or even before its acknowledgement is read, did well."""
    await stage.registers("a", "b")
    await stage.commits()
    await stage.ends("a")
    await stage.clock.passes(1.9)
    await stage.drains("a")
    await stage.commits()
    await stage.drains("b")
    await stage.ends("b")
    await stage.clock.passes(60)
    assert stage.probed == ["a", "b"]
    assert stage.state("a").failures == stage.state("b").failures == 0


async def test_probing_goes_on_while_work_stays_ready(stage: Stage) -> None:
    """Each drain that leaves something leads to the next probe at once, and the last drain to none."""
    await stage.registers("a")
    await stage.commits()
    for left in (True, True, False):
        await stage.ends("a")
        await stage.drains("a", more=left)
    assert stage.probed == ["a", "a", "a"]
    await stage.clock.passes(60)
    assert stage.probed == ["a", "a", "a"]


async def test_one_with_full_hands_is_not_probed_at_once(stage: Stage) -> None:
    """A drain that was given nothing, although something is left, is not answered by a probe in the same moment."""
    await stage.registers("a")
    await stage.commits()
    await stage.ends("a")
    await stage.drains("a", more=True, taken=False)
    assert stage.probed == ["a"]
    await stage.clock.passes(6)
    assert stage.probed == ["a", "a"], "the next look at the store finds it again"


async def test_a_unit_that_comes_during_a_drain_is_not_forgotten(stage: Stage) -> None:
    """A ring of which a drain may have seen nothing is kept until the store says whether anything is ready."""
    await stage.registers("a")
    await stage.commits()
    await stage.commits()
    await stage.ends("a")
    stage.probes.drained("a", False)  # and one unit is left, which was committed meanwhile
    await stage.clock.passes(0.3)
    assert stage.probed == ["a", "a"]
    await stage.ends("a")
    await stage.drains("a")
    await stage.commits(lane="call:other")
    assert stage.probed == ["a", "a"]


async def test_failures_back_off_and_end_at_a_heartbeat(stage: Stage) -> None:
    """After the n-th failure a worker rests 1, 2, 4 … 60 s, jittered, and is tried at its first heartbeat after."""
    await stage.registers("a")
    await stage.commits()
    rests = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    for failures, rest in enumerate(rests, 1):
        stage.luck = 0.0
        await stage.fails("a")
        assert stage.state("a").failures == failures
        assert stage.state("a").next_in_seconds == pytest.approx(rest)
        await stage.clock.passes(rest - 0.1)
        await stage.beats("a")
        assert len(stage.probed) == failures, "too early"
        await stage.clock.passes(30)
        assert len(stage.probed) == failures, "not without a heartbeat"
        await stage.beats("a")
        assert len(stage.probed) == failures + 1
        assert stage.state("a").next_in_seconds is None
    await stage.ends("a")
    await stage.drains("a")
    assert stage.state("a").failures == 0


def test_the_back_off_is_between_1_and_60_seconds() -> None:
    """Whatever the dice say, a rest lasts between 1 and 60 s."""
    rests = [BACKOFF.delay_ms(failures, luck) for failures in range(1, 200) for luck in (0.0, 0.5, 1.0)]
    assert min(rests) == 1_000
    assert max(rests) == 60_000


async def test_a_new_registration_begins_anew(stage: Stage) -> None:
    """A worker that starts again is probed at once for what is ready, whatever its former life did."""
    await stage.registers("a")
    await stage.commits()
    await stage.fails("a")
    await stage.registers("a")
    assert stage.probed == ["a", "a"]
    assert stage.state("a").failures == 0


async def test_a_refused_address_is_told_and_never_probed(stage: Stage) -> None:
    """The reason stands in the worker's state from its registration on, and other workers are probed instead."""
    await stage.registers("a", ip="10.0.0.1")
    await stage.registers("b")
    await stage.commits(count=2)
    assert stage.probed == ["b"]
    refused = stage.state("a").refused
    assert refused is not None
    assert "HALL_PROBE_NETWORKS" in refused
    assert stage.state("a").last == f"refused: {refused}"
    assert stage.state("a").failures == 0
    assert stage.state("b").refused is None


async def test_an_address_refused_at_the_last_moment_has_the_next_one_probed(stage: Stage) -> None:
    """Rules that change between the decision and the probe are those of the probe."""
    await stage.registers("a", "b")
    await stage.commits()
    await stage.ends("a", Result(Kind.REFUSED, "no"))
    assert stage.probed == ["a", "b"]
    assert stage.state("a").refused == "no"


async def test_new_rules_are_applied_to_those_who_are_there(make_stage: MakeStage) -> None:
    """What is refused under the rules at first may be probed once the real rules are known."""
    stage = await make_stage(rules=Rules(networks=parse_networks("10.0.0.0/8")))
    await stage.registers("a", ip="10.0.0.1")
    await stage.commits()
    assert stage.probed == ["a"]
    assert stage.state("a").last == "not probed yet"


async def test_one_who_is_gone_is_not_probed(stage: Stage) -> None:
    """A worker that said goodbye is forgotten; what it was probed for goes to the next one at once."""
    await stage.registers("a", "b")
    await stage.leaves("b")
    await stage.commits()
    await stage.ends("a")
    await stage.registers("b")
    await stage.leaves("a")
    assert stage.probed == ["a", "b"]
    assert stage.probes.state_of("a") is None


async def test_a_store_that_is_away_blames_nobody(stage: Stage) -> None:
    """While the store does not answer nobody can drain: no worker fails for it, and probing goes on afterwards."""
    await stage.registers("a")
    await stage.commits()
    await stage.ends("a")
    stage.store.failure = StoreUnavailable("away")
    await stage.clock.passes(10)
    assert stage.state("a").failures == 0
    stage.store.failure = None
    await stage.clock.passes(10)
    assert len(stage.probed) >= 2


async def test_what_is_remembered_is_bounded(make_stage: MakeStage) -> None:
    """However many workers and lanes come and go, only so many are remembered, and the newest are."""
    records = Records(workers_max=10, lanes_max=30)
    stage = await make_stage(records=records)
    for number in range(200):
        await stage.registers(f"w{number}", lanes=[f"call:{number}", LANE])
        stage.probes.announced(f"call:announced {number}", "r-1")
        assert len(records.workers) <= 10
        assert len(records.lanes) <= 30
        for topic, lane in records.lanes.items():
            assert all(topic in records.workers[key].lanes for key in lane.workers)
        for key, record in records.workers.items():
            assert all(key in records.lanes[topic].workers for topic in record.lanes)
    await stage.commits(lane="call:199")
    assert stage.probed == ["w199"]
    assert stage.probes.state_of("w0") is None
