"""Operators' routes about single units of work and about workers."""

from __future__ import annotations

from hiringhall.domain.lifecycle import Move
from tests.wire.operators.conftest import BOOTSTRAP, METRICS, WORKER, Operator


async def test_every_verb_moves_its_task(operator: Operator) -> None:
    """Each verb answers with the task as it is now, with a higher version."""
    await operator.apply("P", "A")
    task = await operator.take("P")
    version = task.version
    for verb, status in (
        ("start", "IN_PROGRESS"),
        ("release", "PENDING"),
        ("cancel", "FAILED"),
        ("retry", "PENDING"),
        ("skip", "SKIPPED"),
        ("reset", "PENDING"),
    ):
        moved = (await operator.call("POST", f"/admin/plans/P/tasks/A/{verb}"))["task"]
        assert moved["status"] == status
        assert moved["version"] > version
        version = moved["version"]
    body = {"priority": "critical"}
    moved = (await operator.call("POST", "/admin/plans/P/tasks/A/reprioritise", json=body))["task"]
    assert moved["priority"] == "critical"


async def test_a_verb_out_of_place_is_refused(operator: Operator) -> None:
    """What the state does not allow is 409, what does not exist is 404, and a priority must be one."""
    await operator.apply("P", "A")
    await operator.refused("POST", "/admin/plans/P/tasks/A/start", 409, "wrong_state")
    envelope = await operator.refused("POST", "/admin/plans/P/tasks/B/skip", 404, "not_found")
    assert envelope["task_id"] == "B"
    for text in ("{}", '{"priority": "x"}', "[]", '{"priority": 1}'):
        await operator.refused("POST", "/admin/plans/P/tasks/A/reprioritise", 422, "validation_error", content=text)
    await operator.refused("POST", "/admin/plans/P/tasks/A/cancel?force=true", 422, "validation_error")
    await operator.refused("POST", "/admin/plans/P/tasks/A/explode", 404, "not_found")


async def test_a_held_task_is_skipped_only_by_force(operator: Operator) -> None:
    """Skipping takes a task from its worker only if it is forced to."""
    await operator.apply("P", "A")
    await operator.take("P")
    await operator.refused("POST", "/admin/plans/P/tasks/A/skip", 409, "wrong_state")
    assert (await operator.call("POST", "/admin/plans/P/tasks/A/skip?force=true"))["task"]["status"] == "SKIPPED"


async def test_reset_cascades_when_told_to(operator: Operator) -> None:
    """A dependent that is finished keeps a task from being reset, unless it is reset too."""
    await operator.apply("P", "A", {"id": "B", "dependencies": ["A"]})
    for _ in range(2):
        await operator.settle(await operator.take("P"))
    envelope = await operator.refused("POST", "/admin/plans/P/tasks/A/reset", 409, "wrong_state")
    assert "B" in str(envelope)
    await operator.call("POST", "/admin/plans/P/tasks/A/reset?cascade=true")
    assert await operator.tasks("P") == {"A": "PENDING", "B": "PENDING"}


async def test_the_history_of_a_unit_is_told(operator: Operator) -> None:
    """State, log and story are found by PLAN/TASK, by plan and task, and by a task id of only one plan."""
    await operator.apply("a%2Fb", "T 1")
    await operator.settle(await operator.take("a/b"), Move.FAIL)
    found = await operator.call("GET", "/admin/work?plan=a/b&task=T%201")
    assert found["work"]["status"] == "FAILED"
    assert [line["move"] for line in found["history"]] == ["submit", "hold", "fail"]
    assert found["history"][2]["reason"] == "no luck"
    assert found["history"][1]["worker_id"] == "w-1"
    assert "worker w-1 said 'no luck'" in found["story"][2]
    for path in ("?id=a%252Fb/T%25201", "?id=T%25201", "?task=T%201", "/a%252Fb%2FT%25201"):
        assert await operator.call("GET", f"/admin/work{path}") == found
    assert (await operator.call("POST", "/admin/work/T%201/retry"))["task"]["status"] == "PENDING"
    assert (await operator.call("POST", "/admin/work/T%201/cancel"))["task"]["status"] == "FAILED"


async def test_an_id_of_several_plans_is_ambiguous(operator: Operator) -> None:
    """A bare task id that several plans have is refused with their names."""
    await operator.apply("P", "A")
    await operator.apply("Q", "A")
    envelope = await operator.refused("GET", "/admin/work?id=A", 409, "ambiguous_task_id")
    assert envelope["plans"] == ["P", "Q"]
    await operator.refused("GET", "/admin/work?id=P/Z", 404, "not_found")
    await operator.refused("GET", "/admin/work/999999", 404, "not_found")
    await operator.refused("GET", "/admin/work", 422, "validation_error")
    await operator.refused("GET", "/admin/work?plan=P", 422, "validation_error")
    await operator.refused("GET", "/admin/work?id=P/A&plan=P", 422, "validation_error")


async def test_workers_are_listed_and_directed(operator: Operator) -> None:
    """A worker is shown with what it holds, hushed, resumed, told to end, and forgotten, which returns its work."""
    await operator.apply("P", "A")
    await operator.take("P")
    await operator.register("w-2", "other")
    listed = await operator.call("GET", "/admin/workers?limit=1")
    assert [(worker["worker_id"], worker["holds"]) for worker in listed["workers"]] == [("w-1", 1)]
    assert listed["next"] == "w-1"
    rest = await operator.call("GET", "/admin/workers?after=w-1")
    assert ([worker["worker_id"] for worker in rest["workers"]], rest["next"]) == (["w-2"], None)
    assert (await operator.call("POST", "/admin/workers/w-1/quiet"))["worker"]["quiet"] is True
    assert (await operator.call("POST", "/admin/workers/w-1/terminate"))["worker"]["terminating"] is True
    resumed = (await operator.call("POST", "/admin/workers/w-1/resume"))["worker"]
    assert (resumed["quiet"], resumed["terminating"]) == (False, False)
    assert await operator.call("DELETE", "/admin/workers/w-1") == {"worker_id": "w-1", "removed": True}
    assert await operator.tasks("P") == {"A": "PENDING"}
    await operator.refused("DELETE", "/admin/workers/w-1", 404, "not_found")
    await operator.refused("POST", "/admin/workers/w-1/quiet", 404, "not_found")


async def test_only_the_operators_token_opens_the_routes(operator: Operator) -> None:
    """No token and an unknown one are 401 with a challenge; one that opens something else is 403."""
    await operator.register()
    for header in ("", "Basic x", "Bearer", "Bearer wrong", "Bearer ü"):
        answer = await operator.client.get("/admin/plans", headers={b"authorization": header.encode()})
        assert (answer.status_code, answer.json()["error_code"]) == (401, "missing_or_invalid_bearer")
        assert answer.headers["www-authenticate"].startswith("Bearer ")
    for token in (WORKER, BOOTSTRAP, METRICS):
        bearing = {"authorization": f"Bearer {token}"}
        await operator.refused("GET", "/admin/plans", 403, "forbidden", headers=bearing)
    assert (await operator.client.get("/metrics", headers={"authorization": f"Bearer {METRICS}"})).status_code == 200
    await operator.refused("GET", "/metrics", 403, "forbidden", headers={"authorization": f"Bearer {WORKER}"})
