"""What applying a plan passes on and tells, against a real server on both databases."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.conftest import StartHall
from tests.hall_process import ADMIN_TOKEN, WORKER_TOKEN, Database, HallProcess

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def put(hall: HallProcess, plan: str, tasks: list[dict[str, Any]], **headers: str) -> httpx.Response:
    """Apply a plan file."""
    body = json.dumps({"id": plan, "tasks": tasks})
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", **headers}
    return httpx.put(f"{hall.url}/admin/plans/{plan}", content=body, headers=headers, timeout=30)


def claim(hall: HallProcess, plan: str, **members: Any) -> httpx.Response:
    """Claim with the shared token, without waiting."""
    body = json.dumps({"worker_id": "w-tests", "plan_id": plan, "wait": 0, **members})
    headers = {"Authorization": f"Bearer {WORKER_TOKEN}"}
    return httpx.post(f"{hall.url}/tasks/claim", content=body, headers=headers, timeout=30)


def test_the_trace_context_reaches_the_worker(database: Database, start_hall: StartHall) -> None:
    """`traceparent` of the request that applied a plan comes with its tasks; one of another form does not."""
    hall = start_hall(database)
    assert put(hall, "traced", [{"id": "T1"}, {"id": "T2"}], traceparent=TRACE).status_code == 201
    assert put(hall, "plain", [{"id": "T1"}], traceparent="not a trace").status_code == 201
    first = claim(hall, "traced")
    assert first.headers["traceparent"] == TRACE
    settle = {"worker_id": "w-tests", "version": first.json()["task"]["version"], "plan_id": "traced"}
    headers = {"Authorization": f"Bearer {WORKER_TOKEN}", "Prefer": "next"}
    done = httpx.post(f"{hall.url}/tasks/T1/complete", content=json.dumps(settle), headers=headers, timeout=30)
    assert done.json()["next"]["id"] == "T2"
    assert done.headers["traceparent"] == TRACE
    assert "traceparent" not in claim(hall, "plain").headers


def test_every_problem_is_told_at_once(database: Database, start_hall: StartHall) -> None:
    """A file with a bad priority, a duplicate and a dependency that exists nowhere is refused with all three."""
    hall = start_hall(database)
    assert put(hall, "p", [{"id": "stored"}]).status_code == 201
    bad = [
        {"id": "a", "priority": "urgent"},
        {"id": "a", "dependencies": ["stored"]},
        {"id": "b", "dependencies": ["nowhere"]},
    ]
    refused = put(hall, "p", bad)
    assert refused.status_code == 422
    problems = {problem["field"]: problem["reason"] for problem in refused.json()["problems"]}
    assert {field.split(".")[0] for field in problems} == {"tasks[0]", "tasks[1]", "tasks[2]"}
    assert any("nowhere" in reason for reason in problems.values())
    assert not any("'stored'" in reason for reason in problems.values())
    assert claim(hall, "p").json()["task"]["id"] == "stored"
