"""Worker processes are killed at any moment while they work."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from tests.conftest import StartHall
from tests.hall_client import HallClient
from tests.hall_process import Database
from tests.plan_worker import PlanWorkerProcess
from tests.waiting import until

PLAN = "P"
WORKERS = 3
ABANDONED_MAX = 2
ABANDONED_CAUSES = {"lease_expired", "worker_offline"}


class Crew:
    """Workers of one plan; the place of one that was killed is taken by a new one."""

    def __init__(self, url: str, folder: Path, plan: str, size: int) -> None:
        self._url = url
        self._folder = folder
        self._plan = plan
        self._count = 0
        self._size = size
        self.workers: list[PlanWorkerProcess] = []

    def __enter__(self) -> Crew:
        self.fill()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

    def fill(self) -> None:
        """Start as many workers as are missing."""
        while len(self.workers) < self._size:
            self._count += 1
            name = f"{self._plan}-{self._count}"
            self.workers.append(
                PlanWorkerProcess(self._url, self._plan, self._folder, name=name, heartbeat_seconds=0.3, concurrency=2)
            )

    def kill(self, victim: PlanWorkerProcess) -> None:
        """Kill one of them."""
        self.workers.remove(victim)
        victim.kill()


def test_work_of_killed_workers_is_done_by_others(
    database: Database, start_hall: StartHall, tmp_path: Path, fault_rounds: int
) -> None:
    """Whatever killed workers held is handed over again for a true cause, is counted as abandoned, and gets done."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=1, HALL_HEARTBEAT_DELAY=0.5)
    dice = random.Random(3)
    abandoned: Counter[str] = Counter()
    victims = set()
    with HallClient(hall.url) as client, Crew(hall.url, tmp_path / "work", PLAN, WORKERS) as crew:
        for number in range(fault_rounds):
            client.apply(PLAN, *(f"R{number}-{task}" for task in range(2 * WORKERS)), max_abandoned=1000)
            victim = dice.choice(crew.workers)
            held = until(
                lambda: held_by(client, victim),  # noqa: B023
                within_seconds=30,
                waiting_for="the victim to work",
            )
            victims.add(victim.worker_id)
            crew.kill(victim)
            abandoned.update(held)
            for task_id in dice.sample(sorted(client.tasks(PLAN)), WORKERS):
                victim.let_end(task_id)
            crew.fill()
        crew.workers[0].let_end()
        until(lambda: client.is_finished(PLAN), within_seconds=60, waiting_for="the plan to finish")
        for task_id in client.tasks(PLAN):
            lines = client.history(PLAN, task_id)
            moves = [line["move"] for line in lines]
            assert moves.count("complete") == 1, lines
            assert moves[-1] == "complete", lines
            assert moves.count("hold") == moves.count("release") + 1, lines
            returns = [line for line in lines if line["move"] == "release"]
            assert len(returns) >= abandoned[task_id], lines
            assert {line["cause"] for line in returns} <= ABANDONED_CAUSES, lines
            assert {line["worker_id"] for line in returns} <= victims, lines
    assert abandoned.total() >= fault_rounds


def held_by(client: HallClient, worker: PlanWorkerProcess) -> list[str]:
    """What a worker holds whose handler has no leave to end."""
    return [
        task_id
        for task_id, task in client.tasks(PLAN).items()
        if task["worker_id"] == worker.worker_id and task["state"] == "held" and not worker.may_end(task_id)
    ]


def test_a_task_that_kills_its_workers_fails_for_good(
    database: Database, start_hall: StartHall, tmp_path: Path
) -> None:
    """A task abandoned as often as its plan allows is failed, with that as the reason, and is handed out no more."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=1, HALL_HEARTBEAT_DELAY=0.5)
    with HallClient(hall.url) as client:
        client.apply(PLAN, "poison", {"id": "after", "dependencies": ["poison"]}, max_abandoned=ABANDONED_MAX)
        with Crew(hall.url, tmp_path / "work", PLAN, 1) as crew:
            for number in range(1, ABANDONED_MAX + 1):
                until(
                    lambda: client.task(PLAN, "poison")["state"] == "held",
                    within_seconds=30,
                    waiting_for="a worker to take the task",
                )
                version = client.task(PLAN, "poison")["version"]
                crew.kill(crew.workers[0])
                until(
                    lambda: client.task(PLAN, "poison")["version"] > version,  # noqa: B023
                    within_seconds=30,
                    waiting_for="the task to leave the dead worker",
                )
                assert client.task(PLAN, "poison")["abandoned"] == number
                crew.fill()
            poison = client.task(PLAN, "poison")
            assert (poison["state"], poison["status"]) == ("failed", "FAILED")
            last = client.history(PLAN, "poison")[-1]
            assert last["state"] == "failed"
            assert "abandoned" in last["reason"]
            assert client.register().claim(PLAN, wait=1) is None
            assert client.task(PLAN, "after")["blocked_by"] == "poison"
