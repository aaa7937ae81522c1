"""The whole of it on a real event loop: workers with real ports, and a store that the test plays."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hiringhall.config import Settings
from hiringhall.domain.topics import topic_of, topic_of_service
from hiringhall.ports.no_probes import NoProbes
from hiringhall.ports.probes import LazyWorker, Probes
from hiringhall.probe.addresses import Rules
from hiringhall.probe.own import OwnPlaces
from hiringhall.probe.prober import Prober, Result
from hiringhall.probe.scheduler import ProbeScheduler
from hiringhall.wakeups.local import LocalWakeups
from tests.probe.ports import WakeUpPort, acknowledges, wake_up_port
from tests.probe.stage import LANE, Stage, Store, settled
from tests.waiting import until_async


def scheduler(store: Store) -> ProbeScheduler:
    """As a server on loopback has it."""
    probes = ProbeScheduler(Prober(Rules()), store, jitter=lambda: 0.5)
    probes.start(OwnPlaces(Settings(), (), [("127.0.0.1", 8400)]).rules)
    return probes


async def test_a_committed_unit_wakes_a_worker_at_its_port() -> None:
    """A ring that this process committed sends the documented packet to one worker, which drains, and all is well."""
    store, wakeups = Store(), LocalWakeups()
    probes = scheduler(store)
    wakeups.after_commit(probes.rings_committed)

    async def drains(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await acknowledges(port, reader, writer)
        store.ready = []
        probes.drained("service:s/w", more_ready=False)

    async with wake_up_port(drains) as port:
        store.workers["service:s/w"] = LazyWorker(
            "service:s/w", "127.0.0.1", port.port, "127.0.0.1", False, lanes=(LANE,)
        )
        probes.registered("service:s/w", "s", "127.0.0.1", port.port, "127.0.0.1", False, [LANE])
        probes.announced(LANE, "r-1")
        store.ready = [LANE]
        wakeups.ring_committed({topic_of(LANE): 1, topic_of("request r-1"): 1})

        async def drained() -> bool:
            state = probes.state_of("service:s/w")
            return state is not None and state.last == "acknowledged, and drained"

        await until_async(drained, waiting_for="the drain")
        await probes.stop()
    assert [json.loads(packet)["Message"] for packet in port.packets] == [
        {"MessageText": "pull_signal", "Parameters": "r-1"}
    ]


async def test_the_hall_does_not_probe_itself() -> None:
    """A worker that registers the hall's own port is told why it is not probed as soon as the rules are known."""
    store = Store()
    probes = scheduler(store)
    probes.registered("service:s/w", "s", "127.0.0.1", 8400, "127.0.0.1", False, [LANE])

    async def refused() -> bool:
        state = probes.state_of("service:s/w")
        return state is not None and "belongs to the hall itself" in (state.refused or "")

    await until_async(refused, waiting_for="the refusal")
    await probes.stop()


async def test_the_first_call_of_a_method_wakes_a_worker_at_once() -> None:
    """A lane that is made by a commit is looked for with the workers that are known of its service."""
    stage = Stage()
    await stage.registers("a", "b", lanes=())
    await stage.clock.passes(10)
    for key in ("a", "b"):
        stage.store.workers[key] = replace(stage.store.workers[key], lanes=(LANE,))
    stage.store.ready.append(LANE)
    stage.probes.rings_committed({topic_of_service("another"): 1})
    looks = stage.store.looks
    stage.probes.rings_committed({topic_of(LANE): 1, topic_of_service("s"): 1})
    await stage.clock.passes(0.3)
    assert stage.store.looks == looks + 1
    assert stage.store.again == {"a", "b"}
    assert stage.probed == ["a"]
    await stage.probes.stop()


async def test_what_happens_during_a_look_is_looked_at_afterwards() -> None:
    """A lane that is made while a look is under way is found by the next one, which follows at once."""
    stage = Stage()
    await stage.registers("a", lanes=())
    await stage.clock.passes(10)
    look, answered = stage.store.ready_lanes, asyncio.Event()

    async def slow(lane_keys: Sequence[str], limit: int) -> Sequence[str]:
        found = list(await look(lane_keys, limit))
        await answered.wait()
        return found

    stage.store.ready_lanes = slow  # type: ignore[method-assign]
    stage.probes.rings_committed({topic_of_service("s"): 1})
    await settled()
    stage.store.workers["a"] = replace(stage.store.workers["a"], lanes=(LANE,))
    stage.store.ready.append(LANE)
    stage.probes.rings_committed({topic_of(LANE): 1, topic_of_service("s"): 1})
    answered.set()
    await stage.clock.passes(0.5)
    assert stage.probed == ["a"]
    await stage.probes.stop()


async def test_stopping_cuts_off_what_is_in_flight() -> None:
    """A process that ends does not wait for workers that do not answer, and probes nobody any more."""

    async def listens(port: WakeUpPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await port.packet(reader)

    store = Store()
    store.ready = [LANE]
    async with wake_up_port(listens) as port:
        worker = LazyWorker("service:s/w", "127.0.0.1", port.port, "127.0.0.1", False, lanes=(LANE,))
        store.workers[worker.key] = worker
        probes = scheduler(store)
        probes.announced(LANE, "r-1")
        probes.work_ready(topic_of(LANE))

        async def probed() -> bool:
            return bool(port.packets)

        await until_async(probed, waiting_for="the probe")
        await probes.stop()
        probes.work_ready(topic_of(LANE), count=5)
        await settled()

        async def ended() -> bool:
            return port.ended == port.connected == 1

        await until_async(ended, waiting_for="the end of the connection")


async def test_a_bug_harms_neither_the_caller_nor_the_probing(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever tells the probe something is never failed by it; the log says what happened, and probing goes on."""
    stage = Stage()
    await stage.registers("a", "b")
    made = stage.prober.probe

    async def breaks(worker: LazyWorker, request_id: str | None) -> Result:
        if worker.key == "a":
            raise ZeroDivisionError
        return await made(worker, request_id)

    stage.prober.probe = breaks  # type: ignore[method-assign]
    with caplog.at_level(logging.ERROR):
        await stage.commits()
        stage.probes.registered("c", "s", "192.0.2.7", 55_222, "192.0.2.7", False, None)  # type: ignore[arg-type]
    assert stage.probed == ["b"]
    assert "bug in the hall" in stage.state("a").last
    assert caplog.text.count("the probing of Lazy workers failed") == 2
    await stage.probes.stop()


def test_a_hall_may_have_no_probes() -> None:
    """Where nobody is probed, everything may be told, and nothing comes of it."""
    probes: Probes = NoProbes()
    assert probes.registered("w", "s", "192.0.2.7", 55_222, "192.0.2.7", False, []) is None
    probes.drained("w", more_ready=True)
    probes.rings_committed({"topic": 1})
    assert probes.state_of("w") is None
