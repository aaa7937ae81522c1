"""Plan workers against a real server, on both databases: from registration to the last task."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import httpx

from tests.conftest import StartHall
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN, Database, HallProcess
from tests.waiting import until


class Client:
    """Speaks to one server with one token, over a connection of its own for each request."""

    def __init__(self, hall: HallProcess, token: str) -> None:
        self.hall = hall
        self.headers = {"Authorization": f"Bearer {token}"}

    def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        """The answer."""
        content = None if body is None else json.dumps(body)
        return httpx.request(method, self.hall.url + path, content=content, headers=self.headers, timeout=30)

    def call(self, status: int, method: str, path: str, body: object = None) -> Any:
        """The JSON of an answer that has that status."""
        answer = self.send(method, path, body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


def apply(hall: HallProcess, plan: str, *tasks: str) -> None:
    """Apply a plan."""
    file = {"id": plan, "name": plan, "tasks": [{"id": task, "description": f"do {task}"} for task in tasks]}
    answer = Client(hall, ADMIN_TOKEN).send("PUT", f"/admin/plans/{plan}", file)
    assert answer.status_code in (200, 201), answer.text


def until_parked(hall: HallProcess) -> None:
    """Wait until one claim waits at that server."""
    operator = Client(hall, ADMIN_TOKEN)
    until(lambda: "hall_parked_claims 1" in operator.send("GET", "/metrics").text, waiting_for="the claim to be parked")


def test_a_plan_is_worked_off(database: Database, start_hall: StartHall) -> None:
    """Register, claim, heartbeat, complete, release, fail; over a restart everything is as it was."""
    hall = start_hall(database)
    me = Client(hall, BOOTSTRAP_TOKEN).call(201, "POST", "/workers/register", {"hostname": "here"})
    worker = Client(hall, me["token"])
    apply(hall, "p", "T1", "T2", "T3")
    name, claim = {"worker_id": me["worker_id"]}, {"worker_id": me["worker_id"], "plan_id": "p"}
    task = worker.call(200, "POST", "/tasks/claim", claim)["task"]
    assert (task["id"], task["version"], task["status"]) == ("T1", 2, "CLAIMED")
    assert worker.call(200, "POST", f"/workers/{me['worker_id']}/heartbeat", name) == {"ok": True}
    done = worker.call(200, "POST", "/tasks/T1/complete", {**name, "version": 2})
    assert (done["task"]["status"], done["task"]["version"]) == ("DONE", 3)
    second = worker.call(200, "POST", "/tasks/claim", claim)["task"]
    worker.call(200, "POST", "/tasks/T2/release", {**name, "version": second["version"]})
    hall.restart()
    worker = Client(hall, me["token"])
    again = worker.call(200, "POST", "/tasks/claim", claim)["task"]
    assert (again["id"], again["version"]) == ("T2", 4)
    failed = worker.call(200, "POST", "/tasks/T2/fail", {**name, "version": 4, "reason": "exit_code=1"})
    assert failed["task"]["status"] == "FAILED"
    conflict = worker.call(409, "POST", "/tasks/T1/complete", {**name, "version": 2})
    assert (conflict["actual_version"], conflict["actual_status"]) == (3, "DONE")


def test_a_parked_claim_is_woken(database: Database, start_hall: StartHall) -> None:
    """A claim that waits is answered as soon as there is work."""
    hall = start_hall(database)
    answers: list[Any] = []
    worker = Client(hall, WORKER_TOKEN)
    body = {"worker_id": "w", "plan_id": "p"}
    waiting = threading.Thread(target=lambda: answers.append(worker.call(200, "POST", "/tasks/claim", body)))
    waiting.start()
    until_parked(hall)
    apply(hall, "p", "T1")
    waiting.join(10)
    assert answers[0]["task"]["id"] == "T1"


def test_a_parked_claim_is_woken_across_replicas(postgres_database: Database, start_hall: StartHall) -> None:
    """Work that comes to one replica wakes a claim that waits at another, well before the re-check."""
    first = start_hall(postgres_database, name="first")
    second = start_hall(
        Database("postgres", postgres_database.directory / "second", postgres_database.url), name="second"
    )
    worker = Client(second, WORKER_TOKEN)
    took: list[float] = []
    for number in range(5):
        answered: list[float] = []

        def claim(plan: str, answered: list[float] = answered) -> None:
            worker.call(200, "POST", "/tasks/claim", {"worker_id": "w", "plan_id": plan})
            answered.append(time.monotonic())

        waiting = threading.Thread(target=claim, args=(f"p{number}",))
        waiting.start()
        until_parked(second)
        applied = time.monotonic()
        apply(first, f"p{number}", "T1")
        waiting.join(10)
        took.append(answered[0] - applied)
    assert sorted(took)[2] < 0.3, took
