"""Every server of a hall stands still for longer than any lease, as a suspended laptop or a paused machine does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.conftest import StartHall
from tests.hall_client import HallClient
from tests.hall_process import Database, HallProcess
from tests.waiting import until

VISIBILITY_SECONDS = 1.0
PLAN = "P"


@pytest.fixture
def halls(database: Database, start_hall: StartHall) -> list[HallProcess]:
    """All servers that a database can have: two on PostgreSQL, one on SQLite."""
    count = 2 if database.dialect == "postgres" else 1
    folders = [replace(database, directory=database.directory / str(number)) for number in range(count)]
    return [
        start_hall(folder, HALL_VISIBILITY_TIMEOUT=VISIBILITY_SECONDS, HALL_HEARTBEAT_DELAY=VISIBILITY_SECONDS / 2)
        for folder in folders
    ]


@pytest.fixture
def clients(halls: list[HallProcess]) -> Iterator[list[HallClient]]:
    """A client of each server."""
    with ExitStack() as stack:
        yield [stack.enter_context(HallClient(hall.url)) for hall in halls]


def pass_time(seconds: float) -> None:
    """Let a time pass that is the very thing to be tested."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end, within_seconds=seconds + 5)


def stand_still(halls: list[HallProcess]) -> None:
    """Suspend all servers for three visibility timeouts."""
    for hall in halls:
        hall.suspend()
    pass_time(3 * VISIBILITY_SECONDS)
    for hall in halls:
        hall.resume()


def test_leases_outlive_a_standstill(halls: list[HallProcess], clients: list[HallClient]) -> None:
    """Living holders keep their tasks: time in which nobody could be heard does not count. A dead one's returns."""
    here, there = clients[0], clients[-1]
    here.apply(PLAN, "A", "B", "C")
    living, busy, dead = here.register("living"), here.register("busy"), here.register("dead")
    assert living.heartbeat()
    kept, late, given_up = living.claim(PLAN), busy.claim(PLAN), dead.claim(PLAN)
    stand_still(halls)
    resumed = time.monotonic()
    assert busy.complete(late)["version"] == 3
    returned = living.at(there)

    def dead_one_lost_its_task() -> bool:
        assert returned.heartbeat()
        return bool(here.task(PLAN, given_up["id"])["state"] == "ready")

    until(dead_one_lost_its_task, within_seconds=20, waiting_for="the dead worker's task to return")
    assert time.monotonic() - resumed > 0.9 * VISIBILITY_SECONDS
    assert returned.complete(kept)["version"] == 3
    for task in (kept, late):
        assert [line["move"] for line in here.history(PLAN, task["id"])] == ["submit", "hold", "complete"]
        assert here.task(PLAN, task["id"])["abandoned"] == 0
    assert [line["cause"] for line in here.history(PLAN, given_up["id"])] == [None, "first", "lease_expired"]
    assert living.claim(PLAN)["version"] == 4
