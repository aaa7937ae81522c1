"""The wire of the published clients, which differs from the document, under /whilly and on a port of its own."""

from __future__ import annotations

import json

import pytest

from hiringhall.domain.plan import PlanFile, TaskSpec
from hiringhall.ports.asks import Apply, DirectWorker
from hiringhall.wire.plans.routes import published_router
from tests.operations.parts import BOOTSTRAP, DETAIL, SHARED, Conversation, Office


def claim(hall: Office, **more: object) -> Conversation:
    """A claim on that mount."""
    return hall.send("POST", "/whilly/tasks/claim", {"worker_id": "w", "plan_id": "p", **more})


async def test_claim_answers_task_and_plan(hall: Office) -> None:
    """`{task, plan}`, and no plan inside the task."""
    await hall.apply("T-001")
    body = await claim(hall).json()
    assert list(body) == ["task", "plan"]
    assert body["plan"] is None
    assert set(body["task"]) == {
        "id", "status", "version", "priority", "description", "dependencies", "key_files", "acceptance_criteria",
        "test_steps", "prd_requirement",
    }  # fmt: skip


async def test_conflicts_have_exactly_six_members(hall: Office) -> None:
    """The key is `error`, and unknown members would kill the client."""
    await hall.apply("T")
    await claim(hall).json()
    done = {"worker_id": "w", "version": 2, "cost_usd": None}
    body = await hall.send("POST", "/whilly/tasks/T/complete", done).json()
    assert "plan_id" not in body["task"]
    body = await hall.send("POST", "/whilly/tasks/T/complete", done).json(409)
    assert list(body) == ["error", "detail", "task_id", "expected_version", "actual_version", "actual_status"]
    assert body["error"] == "version_conflict"


async def test_release_needs_a_reason(hall: Office) -> None:
    """There `release` carries `reason`."""
    await hall.apply("T")
    await claim(hall).json()
    body = await hall.send("POST", "/whilly/tasks/T/release", {"worker_id": "w", "version": 2}).json(422)
    assert body["detail"] == "reason: is required"
    done = {"worker_id": "w", "version": 2, "reason": "shutdown"}
    assert (await hall.send("POST", "/whilly/tasks/T/release", done).json())["task"]["status"] == "PENDING"


@pytest.mark.parametrize("description", ["x" * 9_000, 'ü"\\\u0000☃' * 3_000, "y" * 8_192])
async def test_long_descriptions_are_cut(hall: Office, description: str) -> None:
    """The clients accept 8 192 characters; a longer one is cut with a marker, the other members stay as they are."""
    members = json.loads("{" + DETAIL + "}") | {"description": description}
    detail = json.dumps(members, ensure_ascii=False)[1:-1]
    await hall.hall.coalescer.one(Apply(PlanFile("p", "P", (TaskSpec("T", (), 1, detail),))))
    task = (await claim(hall).json())["task"]
    if len(description) > 8192:
        assert len(task["description"]) == 8192
        assert task["description"].endswith("(cut)")
        assert description.startswith(task["description"][:8000])
    else:
        assert task["description"] == description
    assert task["key_files"] == ["a.py"]


async def test_a_plan_is_shown_in_full_to_workers(hall: Office) -> None:
    """With a valid bearer the plan has its tasks; without one only `{id, name}`; 404 for one that nobody knows."""
    await hall.apply(*(f"T{number}" for number in range(3)))
    path = "/whilly/api/v1/plans/p"
    body = await hall.send("GET", path).json()
    assert (body["id"], body["name"]) == ("p", "P")
    assert [task["id"] for task in body["tasks"]] == ["T0", "T1", "T2"]
    for token in (None, "wrong"):
        assert await hall.send("GET", path, token=token).json() == {"id": "p", "name": "P"}
    me = await hall.send("POST", "/whilly/workers/register", {"hostname": "h"}, BOOTSTRAP).json(201)
    assert "tasks" in await hall.send("GET", path, token=me["token"]).json()
    assert (await hall.send("GET", "/whilly/api/v1/plans/x").json(404))["error"] == "not_found"


async def test_control_state(hall: Office) -> None:
    """Nobody is paused, not even a quieted worker: it would give back what it has just finished."""
    me = await hall.send("POST", "/whilly/workers/register", {"hostname": "h", "tags": ["a"]}, BOOTSTRAP).json(201)
    path = "/whilly/workers/control-state"
    body = await hall.send("GET", path, token=me["token"]).json()
    assert body["paused"] is False
    assert body["updated_at"].endswith("+00:00")
    await hall.hall.coalescer.one(DirectWorker(f"plan:{me['worker_id']}", quiet=True))
    quieted = await hall.send("GET", path, token=me["token"]).reply()
    assert dict(quieted.headers)[b"hall-directive"] == b"quiet"
    assert b'"paused":false' in quieted.body
    assert (await hall.send("GET", path, token=None).reply()).status == 401


async def test_events(hall: Office) -> None:
    """Diagnostic events are understood and not kept; the events of a task are its audit log."""
    await hall.apply("T")
    await claim(hall).json()
    event = {"worker_id": "w", "event_type": "llm.started", "payload": {"a": 1}}
    assert await hall.send("POST", "/whilly/tasks/T/events", event).json() == {"ok": False}
    body = await hall.send("GET", "/whilly/tasks/T/events").json()
    assert [event["event_type"] for event in body["events"]] == ["task.created", "CLAIM"]
    assert body["events"][1]["payload"]["worker_id"] == "w"
    assert await hall.send("GET", "/whilly/tasks/nowhere/events").json() == {"events": []}


async def test_what_only_the_root_knows_is_ignored(hall: Office) -> None:
    """`wait`, `max_tasks` and `Prefer` belong to the document's mount."""
    await hall.apply("T1", "T2")
    assert "task" in await claim(hall, max_tasks=2, wait="x").json()
    done = {"worker_id": "w", "version": 2, "plan_id": "p"}
    body = await hall.send("POST", "/whilly/tasks/T1/complete", done, headers={"Prefer": "next"}).json()
    assert "next" not in body


async def test_the_mount_is_closed(hall: Office) -> None:
    """Below /whilly, and on its own port, everything is answered in that form."""
    body = await hall.send("POST", "/whilly/admin/plans").json(404)
    assert (body["error"], body["task_id"]) == ("not_found", None)
    router = published_router(hall.hall)
    hall.router = router
    assert (await hall.send("GET", "/admin/plans").json(404))["error"] == "not_found"
    assert await hall.send("GET", "/health").json() == {"status": "ok"}
    assert (await hall.send("DELETE", "/tasks/claim", token=SHARED).json(405))["error"] == "method_not_allowed"
