"""The server in plain dicts is honest: it decides what a hall decides about claims and settles."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.halls import NotStarted, running_hall
from bench.load import LoadFailed, run_pairs
from bench.operators import apply_files
from bench.plans import plan_file, plan_files
from bench.scenarios.wake import Parking, must
from bench.targets import Target, seated
from bench.wires import HeldTask, Refused, decode_claim

MEMORY = (sys.executable, "-m", "bench.memory_server")


@pytest.fixture(params=["plans", "whilly"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Target]:
    """The server, spoken to on either wire."""
    async with running_hall("in memory", MEMORY, cores=None, data_folder=tmp_path) as found:
        prefix = "/whilly" if request.param == "whilly" else ""
        yield replace(found, wire=request.param, address=found.address.at(prefix))


async def test_workers_work_a_plan_off(target: Target) -> None:
    """Every claimed task is completed, and the run ends with the plan."""
    await apply_files(target, "p", plan_files("p", "fan-in", 550, most=100))
    async with seated([target], 4) as seats:
        measured = await run_pairs([target], seats, "p", tasks=550, seconds=10, warm_up_seconds=0)
    assert measured.pairs >= 540
    assert measured.pairs_per_second > 0
    assert measured.spent.server_seconds > 0
    assert not measured.ran_dry


async def test_a_late_complete_is_a_conflict(target: Target) -> None:
    """The second complete of the same hand-over is a 409 that tells the present version and status."""
    await apply_files(target, "p", [plan_file("p", "flat", 0, 1)])
    async with seated([target], 1) as (seat,):
        task = decode_claim((await seat.connection.call(seat.speaker.claim("p"))).body).task
        await must(seat, seat.speaker.complete(task), "complete")
        again = await seat.connection.call(seat.speaker.complete(task))
        assert again.status == 409
        body = json.loads(again.body)
        assert (body["actual_version"], body["actual_status"]) == (3, "DONE")
        unknown = await seat.connection.call(seat.speaker.complete(HeldTask("nobody", 1)))
        assert json.loads(unknown.body)["actual_status"] is None


async def test_a_parked_claim_gets_what_is_released_and_a_gone_one_nothing(target: Target) -> None:
    """A claim whose connection is closed is no longer in the queue of the parked."""
    await apply_files(target, "p", [plan_file("p", "flat", 0, 1)])
    async with seated([target], 2) as (holder, waiter):
        task = decode_claim((await holder.connection.call(holder.speaker.claim("p"))).body).task
        async with seated([target], 1) as gone:
            Parking(gone, "p")
        for _ in range(2):  # by then the server has read what arrived before
            await holder.connection.call(holder.speaker.complete(HeldTask("nobody", 1)))
        parking = Parking([waiter], "p")
        await must(holder, holder.speaker.release(task), "release")
        _, seat, handed = await parking.next("memory")
        assert seat is waiter
        assert handed == HeldTask(task.id, task.version + 2)


async def test_a_run_without_tasks_says_so(target: Target) -> None:
    """Nothing to claim is a failure that names the plan, not a rate of zero."""
    async with seated([target], 1) as seats:
        with pytest.raises(LoadFailed, match="'empty'"):
            await run_pairs([target], seats, "empty", tasks=10, seconds=0.1, warm_up_seconds=0)


async def test_wrong_tokens_are_told(target: Target) -> None:
    """A refused registration shows the server's own words; no token at all names the options."""
    with pytest.raises(Refused, match="401 missing_or_invalid_bootstrap"):
        async with seated([replace(target, bootstrap_token="wrong")], 1):
            pass
    with pytest.raises(Refused, match="--bootstrap or --bearer"):
        async with seated([replace(target, bootstrap_token=None)], 1):
            pass


async def test_a_server_that_does_not_start_shows_what_it_printed(tmp_path: Path) -> None:
    """The output of a server that ends instead is in the error."""
    command = (sys.executable, "-c", "raise SystemExit('no disk')")
    with pytest.raises(NotStarted, match="no disk"):
        async with running_hall("broken", command, cores=None, data_folder=tmp_path):
            await asyncio.sleep(0)
