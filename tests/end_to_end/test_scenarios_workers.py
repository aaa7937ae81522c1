"""What goes wrong around the end of a worker or of the server, with real workers made with the SDK."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.conftest import StartHall
from tests.hall_client import HallClient
from tests.hall_process import Database, HallProcess
from tests.plan_worker import PlanWorkerProcess
from tests.waiting import until

VISIBILITY_SECONDS = 1.5
HEARTBEAT_SECONDS = 0.4
PLAN = "P"


class Hire(Protocol):
    """Starts a worker of the plan."""

    def __call__(self, **options: Any) -> PlanWorkerProcess: ...


@pytest.fixture
def hall(database: Database, start_hall: StartHall) -> HallProcess:
    """A server to which a worker is soon offline."""
    return start_hall(database, HALL_VISIBILITY_TIMEOUT=VISIBILITY_SECONDS, HALL_HEARTBEAT_DELAY=HEARTBEAT_SECONDS)


@pytest.fixture
def client(hall: HallProcess) -> Iterator[HallClient]:
    """A client of that server."""
    with HallClient(hall.url) as client:
        yield client


@pytest.fixture
def hire(hall: HallProcess, tmp_path: Path) -> Iterator[Hire]:
    """Starts workers and ends them with the test."""
    started: list[PlanWorkerProcess] = []

    def start(**options: Any) -> PlanWorkerProcess:
        name = f"worker-{len(started) + 1}"
        settings = {"name": name, "heartbeat_seconds": HEARTBEAT_SECONDS, **options}
        started.append(PlanWorkerProcess(hall.url, PLAN, tmp_path / "work", **settings))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


def online(client: HallClient) -> list[str]:
    """The workers that the hall believes to be alive."""
    return [worker_id for worker_id, worker in client.workers().items() if worker["online"]]


def test_worker_holds_on_over_an_outage(hall: HallProcess, client: HallClient, hire: Hire) -> None:
    """A worker that was busy while the server was away for longer than the offline limit keeps its task, as itself."""
    client.apply(PLAN, "A")
    worker = hire()
    worker.until_started("A")
    version = client.task(PLAN, "A")["version"]
    hall.stop()
    away_since = time.monotonic()
    until(
        lambda: time.monotonic() - away_since > 2 * VISIBILITY_SECONDS,
        within_seconds=3 * VISIBILITY_SECONDS,
        waiting_for="an outage longer than the offline limit and the visibility timeout",
    )
    hall.start()
    until(lambda: len(online(client)) == 1, waiting_for="the worker to be online")
    worker.let_end()
    until(lambda: client.task(PLAN, "A")["state"] == "done", within_seconds=20, waiting_for="the task to be done")
    assert client.task(PLAN, "A")["version"] == version + 1
    assert [line["move"] for line in client.history(PLAN, "A")] == ["submit", "hold", "complete"]
    assert worker.running
    assert len(client.workers()) == 1


def test_a_long_task_runs_once_whatever_the_worker_was_set_to(client: HallClient, hire: Hire) -> None:
    """A worker beats as often as the hall asks, so a task that outlasts several visibility timeouts is kept."""
    client.apply(PLAN, "A")
    worker = hire(heartbeat_seconds=30)
    worker.until_started("A")
    since = time.monotonic()
    until(
        lambda: time.monotonic() - since > 3 * VISIBILITY_SECONDS,
        within_seconds=4 * VISIBILITY_SECONDS,
        waiting_for="the task to outlast the visibility timeout three times",
    )
    worker.let_end()
    until(lambda: client.is_finished(PLAN), within_seconds=20, waiting_for="the plan to finish")
    assert [line["move"] for line in client.history(PLAN, "A")] == ["submit", "hold", "complete"]


def test_unknown_worker_after_an_outage(hall: HallProcess, client: HallClient, hire: Hire) -> None:
    """A worker that the server forgot registers again by itself; what was given to another meanwhile is skipped."""
    client.apply(PLAN, "A")
    worker = hire(minted=False)
    worker.until_started("A")
    (forgotten,) = client.workers()
    hall.restart()
    client.remove(forgotten)
    peer = client.register("peer")
    taken = peer.claim(PLAN, wait=10)
    assert taken["id"] == "A"

    def registered_anew() -> bool:
        return len(set(client.workers()) - {forgotten, peer.id}) == 1

    until(registered_anew, within_seconds=20, waiting_for="the worker to register again")
    worker.let_end()
    until(
        lambda: "complete of P/A" in worker.logged, within_seconds=20, waiting_for="the refused completion in the log"
    )
    assert client.task(PLAN, "A")["worker_id"] == peer.id
    peer.complete(taken)
    client.apply(PLAN, "A", "B")
    until(lambda: client.is_finished(PLAN), within_seconds=20, waiting_for="the worker to go on with the plan")
    assert worker.running
    assert forgotten not in client.workers()
    until(lambda: set(online(client)) <= set(client.workers()) - {forgotten, peer.id}, waiting_for="no ghost online")
    assert [line["move"] for line in client.history(PLAN, "A")].count("complete") == 1


def test_unfinished_work_of_a_forgotten_worker_is_done_again(client: HallClient, hire: Hire) -> None:
    """A worker that was removed while it worked gets its task once more with its next claim, and ends it once."""
    client.apply(PLAN, "A")
    worker = hire(minted=False, concurrency=2)
    worker.until_started("A")
    (forgotten,) = client.workers()
    client.remove(forgotten)
    until(lambda: client.task(PLAN, "A")["version"] >= 4, within_seconds=20, waiting_for="the second hand-over")
    worker.let_end()
    until(lambda: client.is_finished(PLAN), within_seconds=20, waiting_for="the plan to finish")
    lines = client.history(PLAN, "A")
    assert [line["move"] for line in lines] == ["submit", "hold", "release", "hold", "complete"]
    assert lines[2]["worker_id"] == forgotten
    assert worker.running


def test_shutdown_hands_work_back(client: HallClient, hire: Hire) -> None:
    """SIGTERM during a task: a peer claims it within two seconds, and its budget of attempts is untouched."""
    client.apply(PLAN, "A", max_attempts=1, max_abandoned=1)
    worker = hire(heartbeat_seconds=30)
    worker.until_started("A")
    peer = client.register("peer")
    asked = time.monotonic()
    assert worker.terminate() == 0
    task = peer.claim(PLAN, wait=5)
    assert time.monotonic() - asked < 2.0
    now = client.task(PLAN, "A")
    assert (now["attempts"], now["abandoned"]) == (0, 0)
    assert task["version"] == 4
    assert [(line["move"], line["cause"]) for line in client.history(PLAN, "A")][2:] == [
        ("release", "shutdown"),
        ("hold", "shutdown"),
    ]
    peer.complete(task)
    assert client.is_finished(PLAN)
