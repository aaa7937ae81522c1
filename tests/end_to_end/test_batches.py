"""Several tasks in one answer, on a real server: `max_tasks` of a claim, `Prefer: next` of a settle."""

from __future__ import annotations

from typing import Any

from tests.conftest import StartHall
from tests.hall_client import HallClient, Worker, fine
from tests.hall_process import WORKER_TOKEN, Database

NEXT = {"Prefer": "next"}


def _claim(worker: Worker, **members: Any) -> Any:
    body = {"worker_id": worker.id, "plan_id": "p", "wait": 0, **members}
    return worker.client.call("POST", "/tasks/claim", body, token=worker.token)


def _settle(worker: Worker, verb: str, task: Any, headers: dict[str, str] | None = None, **members: Any) -> Any:
    body = {"worker_id": worker.id, "version": task["version"], "reason": "r", **members}
    return worker.client.call("POST", f"/tasks/{task['id']}/{verb}", body, token=worker.token, headers=headers)


def test_a_claim_of_several_is_answered_with_a_list(database: Database, start_hall: StartHall) -> None:
    """With `max_tasks` from 1 to 100 the answer is a list of so many at most, in order, each held; nothing is 204."""
    with HallClient(start_hall(database).url) as client:
        names = [f"T{number:03}" for number in range(1, 251)]
        client.apply("p", *names)
        worker = client.register()
        found = []
        for asked, answered in ((1, 1), (2, 2), (100, 100), (99, 99), (100, 48)):
            answer = fine(_claim(worker, max_tasks=asked))
            assert set(answer) == {"tasks"}
            assert len(answer["tasks"]) == answered
            found += answer["tasks"]
        assert [task["id"] for task in found] == names
        assert {(task["status"], task["version"], task["plan_id"]) for task in found} == {("CLAIMED", 2, "p")}
        assert _claim(worker, max_tasks=100).status_code == 204
        assert {task["worker_id"] for task in client.tasks("p").values() if task["state"] == "held"} == {worker.id}
        for task in found[:3]:
            assert fine(_settle(worker, "complete", task))["task"]["status"] == "DONE"


def test_a_claim_of_too_many_is_refused(sqlite_database: Database, start_hall: StartHall) -> None:
    """`max_tasks` is a whole number from 1 to 100; anything else is refused by name, and nothing is handed over."""
    with HallClient(start_hall(sqlite_database).url) as client:
        client.apply("p", "T1")
        for asked in ("0", "-1", "101", "1.5", '"2"', "[]", "{}", "true", "9223372036854775808", "1e400"):
            body = f'{{"worker_id":"w","plan_id":"p","wait":0,"max_tasks":{asked}}}'
            answer = client.call("POST", "/tasks/claim", body.encode(), token=WORKER_TOKEN)
            assert (answer.status_code, answer.json()["error_code"]) == (422, "validation_error")
            assert "max_tasks" in answer.json()["detail"]
        assert client.tasks("p")["T1"]["status"] == "PENDING"


def test_a_settle_brings_the_next_task(database: Database, start_hall: StartHall) -> None:
    """`Prefer: next` with `plan_id` adds `next`, claimed already, also one that the settle has freed; or null."""
    with HallClient(start_hall(database).url) as client:
        client.apply("p", "T1", {"id": "T2", "dependencies": ["T1"]}, "T3", {"id": "T4", "dependencies": ["T3"]})
        worker = client.register()
        task = worker.claim("p")
        answer = fine(_settle(worker, "complete", task, NEXT, plan_id="p"))
        assert (answer["task"]["id"], answer["task"]["status"]) == ("T1", "DONE")
        following = answer["next"]
        assert (following["id"], following["status"]) == ("T2", "CLAIMED")
        held = client.tasks("p")["T2"]
        assert (held["worker_id"], held["version"]) == (worker.id, following["version"])
        assert "next" not in fine(_settle(worker, "complete", following, plan_id="p"))
        last = worker.claim("p")
        answer = fine(_settle(worker, "fail", last, NEXT, plan_id="p"))
        assert (answer["task"]["status"], answer["next"]) == ("FAILED", None)


def test_next_is_only_for_who_asks(sqlite_database: Database, start_hall: StartHall) -> None:
    """Without `plan_id`, on release, in a conflict, of a paused plan, for a quiet worker nothing more is handed."""
    with HallClient(start_hall(sqlite_database).url) as client:
        client.apply("p", "T1", "T2", "T3")
        worker = client.register()
        task = worker.claim("p")
        assert "next" not in fine(_settle(worker, "complete", task, NEXT))
        assert "next" not in _settle(worker, "complete", task, NEXT, plan_id="p").json()
        task = worker.claim("p")
        assert "next" not in fine(_settle(worker, "release", task, NEXT, plan_id="p"))
        task = worker.claim("p")
        fine(client.call("POST", "/admin/plans/p/pause"))
        assert fine(_settle(worker, "complete", task, NEXT, plan_id="p"))["next"] is None
        fine(client.call("POST", "/admin/plans/p/resume"))
        task = worker.claim("p")
        client.direct(worker.id, "quiet")
        client.apply("p", "T1", "T2", "T3", "T4")
        assert fine(_settle(worker, "fail", task, NEXT, plan_id="p"))["next"] is None
        assert client.counts("p")["held"] == 0
