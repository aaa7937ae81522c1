"""The Python client of the published wheels, unmodified, against this hall, call by call."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.acceptance.agent import SLOW
from tests.acceptance.conftest import OpenWorkplace
from tests.acceptance.wheels import LATER, Wheel
from tests.acceptance.workplace import SECONDS, Workplace
from tests.waiting import until

LONG = "ü" * 9_000
REFUSED = {"raised": "AuthError", "status": 401}
FORBIDDEN = {"raised": "AuthError", "status": 403}
TASK: dict[str, Any] = {
    "priority": "critical",
    "description": 'Say "ü"\\\u0000\u2028☃.',
    "key_files": ["a.py", "b/ü.py"],
    "acceptance_criteria": ["it runs"],
    "test_steps": ["pytest -q"],
    "prd_requirement": "Day 4",
}


@pytest.fixture(params=["own", "shared"])
def report(request: pytest.FixtureRequest, open_workplace: OpenWorkplace) -> dict[str, Any]:
    """What the client found, with a token of the worker's own or with the one that all share."""
    workplace = open_workplace(HALL_CLAIM_HOLD=0.5)
    workplace.apply(
        "calls",
        {"id": "Aufgabe ü 1", **TASK},
        {"id": "to-fail", "priority": "high", "dependencies": ["Aufgabe ü 1"]},
        {"id": "to-release", "description": LONG},
    )
    workplace.apply("later", "L-1", "L-2", name="N" * 300)
    report: dict[str, Any] = workplace.calls(whose=request.param)
    return report


def conflict(task: str, expected: int, version: int | None, status: str | None) -> dict[str, Any]:
    """What the client knows of a conflict."""
    return {
        "raised": "VersionConflictError", "error_code": "version_conflict", "task_id": task,
        "expected_version": expected, "actual_version": version, "actual_status": status,
    }  # fmt: skip


def test_every_call_of_the_client(report: dict[str, Any], wheel: Wheel) -> None:
    """Each call gives what the published server gives, and the wheel's own models accept every answer."""
    assert report["invalid"] == []
    assert {line[:3] for line in report["checked"]} >= {"200", "201", "204", "401", "403", "409"}
    found = report["found"]
    check_tokens(found)
    check_tasks(found)
    if wheel == LATER:
        check_what_came_later(found)


def check_tokens(found: dict[str, Any]) -> None:
    """Known and unknown workers, and what is refused."""
    assert re.fullmatch(r"w-[\w-]{12}", found["register"]["worker_id"])
    assert found["heartbeat"] == {"ok": True}
    assert found["heartbeat, unknown"] == {"ok": False}
    assert found["heartbeat, another's"] == FORBIDDEN
    assert found["heartbeat, wrong token"] == REFUSED
    assert found["claim, wrong token"] == REFUSED
    assert found["register, wrong token"] == REFUSED


def check_tasks(found: dict[str, Any]) -> None:
    """Every end of a task, and every conflict."""
    first = "Aufgabe ü 1"
    assert (found["claim"]["id"], found["claim"]["version"]) == (first, 2)
    assert found["claim"]["description"] == TASK["description"]
    done = found["complete"]["task"]
    assert {name: done[name] for name in TASK} == TASK
    assert (done["status"], done["version"]) == ("DONE", 3)
    assert found["complete again"] == conflict(first, 2, 3, "DONE")
    assert found["fail what is done"] == conflict(first, 2, 3, "DONE")
    assert found["complete with the new version"] == conflict(first, 3, 3, "DONE")
    failed = found["fail"]["task"]
    assert (failed["id"], failed["status"], failed["dependencies"]) == ("to-fail", "FAILED", [first])
    handed = found["claim to release"]
    assert len(handed["description"]) == 8_192
    assert handed["description"].startswith(LONG[:8_000])
    released = found["release"]["task"]
    assert (released["status"], released["version"]) == ("PENDING", handed["version"] + 1)
    assert found["release again"] == conflict("to-release", handed["version"], handed["version"] + 1, "PENDING")
    assert found["claim again"]["version"] == handed["version"] + 2
    assert found["complete at last"]["task"]["status"] == "DONE"
    assert found["complete what is nowhere"] == conflict("nowhere", 1, None, None)
    assert found["claim, unknown plan"] is None
    assert found["claim, nothing left"] is None


def check_what_came_later(found: dict[str, Any]) -> None:
    """The routes that only the later client knows, and what it says beside."""
    assert found["plan"]["id"] == "later"
    assert len(found["plan"]["name"]) == 256
    assert found["plan without a name"] == {"id": "calls", "name": "calls"}
    assert found["plan, unknown"] == {"raised": "HTTPClientError", "status": 404}
    assert set(found["plan, by anybody"]) == {"id", "name"}
    assert found["control state"]["paused"] is False
    assert "ok" in found["record"]
    assert found["complete with costs"]["task"]["status"] == "DONE"
    assert [event["event_type"] for event in found["events"]] == ["task.created", "CLAIM", "COMPLETE"]
    assert found["events of reviews"] == []
    assert found["fail in detail"]["task"]["status"] == "FAILED"


@pytest.mark.parametrize("wheel", [LATER], ids=[LATER.version], indirect=True)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_worker_registers_with_the_published_command(workplace: Workplace) -> None:
    """The later client's `whilly worker register` gives an id and a token with which a worker does a task."""
    workplace.apply("plan", "T-001")
    worker_id, token = workplace.register("a-host")
    worker = workplace.worker("plan", "--once", worker_id=worker_id, token=token)
    assert worker.wait() == 0, worker.said
    assert workplace.history("plan", "T-001")[-1]["worker_id"] == worker_id


@pytest.mark.parametrize("wheel", [LATER], ids=[LATER.version], indirect=True)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_quieted_worker_finishes_what_it_holds(workplace: Workplace) -> None:
    """A worker that an operator has quieted still completes its task, and takes no other."""
    workplace.apply("plan", "T-001", "T-002")
    worker_id, token = workplace.register("a-host")
    worker = workplace.worker("plan", agent=SLOW, worker_id=worker_id, token=token)
    until(lambda: workplace.agent.notes, within_seconds=SECONDS, waiting_for=f"the agent of:\n{worker.said}")
    workplace.ask("POST", f"/admin/workers/{worker_id}/quiet")
    workplace.agent.let_go()
    workplace.until_parked(1)
    assert workplace.statuses("plan") == {"T-001": "DONE", "T-002": "PENDING"}
