"""Real workers behind a network that loses, repeats and delays what it carries."""

from __future__ import annotations

import threading
from collections import Counter

from hiringhall_worker import PlanWorker
from hiringhall_worker import Task as WorkerTask
from tests.conftest import StartHall
from tests.faults.books import mesh
from tests.faults.proxy import Fault, FaultProxy
from tests.hall_client import HallClient
from tests.hall_process import BOOTSTRAP_TOKEN, Database
from tests.waiting import until

PLAN = "P"
WORKERS = 6
TASKS_PER_ROUND = 40
EXPLAINED = {"connection_lost", "answer_lost", "lease_expired", "worker_offline"}


class Crew:
    """Workers in threads of the test, and what their handlers were given."""

    def __init__(self, url: str) -> None:
        self.runs: Counter[tuple[str, int]] = Counter()
        self.errors: list[Exception] = []
        self._workers = [
            PlanWorker(
                url,
                plan=PLAN,
                bootstrap_token=BOOTSTRAP_TOKEN,
                concurrency=2,
                heartbeat_seconds=0.3,
                hold_seconds=1.0,
                answer_seconds=2.0,
            )
            for _ in range(WORKERS)
        ]
        self._threads = [threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in self._workers]

    def __enter__(self) -> Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in self._threads), "a worker does not end"

    def _run(self, worker: PlanWorker) -> None:
        try:
            worker.run(self._work)
        except Exception as error:  # noqa: BLE001 - the test tells what it was
            self.errors.append(error)

    def _work(self, task: WorkerTask) -> None:
        self.runs[task.id, task.version] += 1


def test_workers_finish_a_plan_through_a_lossy_network(
    database: Database, start_hall: StartHall, fault_rounds: int
) -> None:
    """Each task is done exactly once in the store, no hand-over is run twice, and each repetition has its cause."""
    hall = start_hall(database, HALL_VISIBILITY_TIMEOUT=2, HALL_HEARTBEAT_DELAY=0.5)
    with HallClient(hall.url) as client, FaultProxy(hall.url, share=0.25, seed=5) as proxy:
        client.apply(PLAN, *mesh(TASKS_PER_ROUND * fault_rounds, width=16), max_abandoned=1000)
        with Crew(proxy.url) as crew:
            until(lambda: client.is_finished(PLAN), within_seconds=60 + 10 * fault_rounds, waiting_for="the plan")
            proxy.share = 0.0
        assert not crew.errors
        assert all(proxy.happened[fault] for fault in Fault), proxy.happened
        causes: Counter[str] = Counter()
        for task_id in client.tasks(PLAN):
            lines = client.history(PLAN, task_id)
            moves = Counter(line["move"] for line in lines)
            assert moves["complete"] == 1, lines
            assert moves["hold"] == moves["release"] + 1, lines
            causes.update(line["cause"] for line in lines if line["move"] == "release")
            handed = {(task_id, line["version"]) for line in lines if line["move"] == "hold"}
            assert {run for run in crew.runs if run[0] == task_id} <= handed
        assert set(causes) <= EXPLAINED, causes
        assert max(crew.runs.values()) == 1, [run for run, count in crew.runs.items() if count > 1]
        assert len(crew.runs) <= TASKS_PER_ROUND * fault_rounds + causes.total()
