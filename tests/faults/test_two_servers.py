"""Two servers on one PostgreSQL behave as one."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.conftest import StartHall
from tests.faults.books import check_history, mesh
from tests.faults.load import Load
from tests.hall_client import HallClient, Worker
from tests.hall_process import Database, HallProcess
from tests.waiting import until

PLAN = "P"
REVOKED_WITHIN_SECONDS = 5.0
WOKEN_WITHIN_SECONDS = 0.15
"""Far below the second after which a lost ring is made good."""
ROUNDS = 9


@pytest.fixture
def halls(postgres_database: Database, start_hall: StartHall) -> tuple[HallProcess, HallProcess]:
    """Two servers, each with a data folder of its own."""
    folders = [replace(postgres_database, directory=postgres_database.directory / name) for name in "ab"]
    first, second = (
        start_hall(folder, name=f"hall-{folder.directory.name}", HALL_VISIBILITY_TIMEOUT=3) for folder in folders
    )
    return first, second


@pytest.fixture
def here(halls: tuple[HallProcess, HallProcess]) -> Iterator[HallClient]:
    """A client of one server."""
    with HallClient(halls[0].url) as client:
        yield client


@pytest.fixture
def there(halls: tuple[HallProcess, HallProcess]) -> Iterator[HallClient]:
    """A client of the other server."""
    with HallClient(halls[1].url) as client:
        yield client


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """Where calls wait that the test does not wait for."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def parked_claims(client: HallClient) -> int:
    """How many claims wait in a server."""
    found = [
        line for line in client.call("GET", "/metrics").text.splitlines() if line.startswith("hall_parked_claims ")
    ]
    return int(float(found[0].split()[1]))


def park(aside: ThreadPoolExecutor, worker: Worker, client: HallClient) -> Future[tuple[httpx.Response, float]]:
    """A claim of a worker that waits in a server, and when its answer came."""

    def claim() -> tuple[httpx.Response, float]:
        with HallClient(client.url) as own:
            answer = worker.at(own).ask_claim(PLAN, wait=20)
            return answer, time.monotonic()

    before = parked_claims(client)
    future = aside.submit(claim)
    until(lambda: parked_claims(client) > before, waiting_for="the claim to be parked")
    return future


def woken_after(future: Future[tuple[httpx.Response, float]], ring: Callable[[], Any]) -> float:
    """Seconds from the answer to what rings until a parked claim has its task."""
    ring()
    rung_at = time.monotonic()
    answer, answered_at = future.result(30)
    assert answer.status_code == 200, answer.text
    return answered_at - rung_at


def test_an_apply_there_wakes_a_claim_here(here: HallClient, there: HallClient, aside: ThreadPoolExecutor) -> None:
    """A claim that waits in one server is woken within milliseconds by a plan applied in the other."""
    worker = here.register()
    delays = []
    for number in range(ROUNDS):
        claim = park(aside, worker, here)
        delays.append(woken_after(claim, lambda: there.apply(PLAN, f"T-{number}")))  # noqa: B023
        worker.at(there).complete(claim.result()[0].json()["task"])
    assert statistics.median(delays) < WOKEN_WITHIN_SECONDS, delays


def test_a_completion_there_wakes_a_claim_here(here: HallClient, there: HallClient, aside: ThreadPoolExecutor) -> None:
    """A claim that waits in one server is woken within milliseconds when the other makes a task ready."""
    chain = [{"id": f"T-{n}", "dependencies": [f"T-{n - 1}"] if n else []} for n in range(ROUNDS + 1)]
    there.apply(PLAN, *chain)
    workers = here.register("one"), here.register("other")
    task = workers[0].at(there).claim(PLAN, wait=5)
    delays = []
    for number in range(ROUNDS):
        holder, waiter = workers[number % 2], workers[(number + 1) % 2]
        claim = park(aside, waiter, here)
        delays.append(woken_after(claim, lambda: holder.at(there).complete(task)))  # noqa: B023
        task = claim.result()[0].json()["task"]
    assert statistics.median(delays) < WOKEN_WITHIN_SECONDS, delays


def test_a_worker_of_one_server_is_known_to_the_other(here: HallClient, there: HallClient) -> None:
    """Registered here, a worker claims there, completes here, and beats there."""
    here.apply(PLAN, "A")
    worker = here.register()
    task = worker.at(there).claim(PLAN, wait=5)
    assert worker.at(here).complete(task)["status"] == "DONE"
    assert worker.at(there).heartbeat()
    assert there.is_finished(PLAN)


def test_a_paused_plan_is_paused_everywhere(here: HallClient, there: HallClient, aside: ThreadPoolExecutor) -> None:
    """A plan paused in one server hands out nothing in the other, until it is resumed: then at once."""
    here.apply(PLAN, "A")
    worker = here.register()
    assert here.call("POST", f"/admin/plans/{PLAN}/pause").status_code == 200
    assert worker.at(there).claim(PLAN) is None
    claim = park(aside, worker, there)
    assert woken_after(claim, lambda: here.call("POST", f"/admin/plans/{PLAN}/resume")) < 2.0


@pytest.mark.parametrize(("verb", "directive"), [("quiet", "quiet"), ("terminate", "terminate")])
def test_a_directive_here_ends_a_claim_there(
    here: HallClient, there: HallClient, aside: ThreadPoolExecutor, verb: str, directive: str
) -> None:
    """What a worker is told in one server ends its claim that waits in the other, at once and with the word."""
    worker = here.register()
    claim = park(aside, worker, there)
    told_at = time.monotonic()
    here.direct(worker.id, verb)
    answer, answered_at = claim.result(30)
    assert answer.status_code == 204
    assert answer.headers["hall-directive"] == directive
    assert answered_at - told_at < 2.0


def test_a_removed_worker_is_refused_everywhere(here: HallClient, there: HallClient) -> None:
    """A worker removed in one server is refused by the other within five seconds, though that had just served it."""
    worker = here.register()
    assert worker.at(there).heartbeat()
    here.remove(worker.id)
    until(
        lambda: worker.at(there).ask_claim(PLAN).status_code == 401,
        within_seconds=REVOKED_WITHIN_SECONDS,
        waiting_for="the token to be refused",
    )


def test_one_server_is_killed_and_the_plan_goes_on(
    halls: tuple[HallProcess, HallProcess], here: HallClient, there: HallClient, fault_rounds: int
) -> None:
    """Workers of two servers, of which one after the other is killed, lose nothing and do nothing twice."""
    load = Load([hall.url for hall in halls], PLAN, workers=16).start()
    for number in range(fault_rounds):
        there.apply(PLAN, *mesh(150, prefix=f"R{number}-"))
        enough = load.done + 60
        until(lambda: load.done >= enough, within_seconds=60, waiting_for="the load")  # noqa: B023
        halls[number % 2].restart(kill=True)
    until(lambda: there.is_finished(PLAN), within_seconds=120, waiting_for="the plan to finish")
    check_history(here, PLAN, load.stop())


def test_many_servers_start_at_once_on_an_empty_database(postgres_database: Database, start_hall: StartHall) -> None:
    """Servers that start at the same moment on an empty database all come up."""
    folders = [replace(postgres_database, directory=postgres_database.directory / f"more-{n}") for n in range(3)]
    started = [start_hall(folder, start=False) for folder in folders]
    threads = [threading.Thread(target=hall.start) for hall in started]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(hall.running for hall in started)
