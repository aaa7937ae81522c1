"""Operators' routes about whole plans."""

from __future__ import annotations

import json

import pytest

from hiringhall.domain.lifecycle import Move
from tests.wire.operators.conftest import Operator


async def test_applying_twice_changes_nothing(operator: Operator) -> None:
    """The first PUT makes the plan, the same file again finds everything unchanged, a longer one adds."""
    first = await operator.apply("P", "A", {"id": "B", "dependencies": ["A"]}, colour="red")
    assert first == {
        "plan_id": "P", "added": 2, "changed": 0, "unchanged": 0, "pruned": 0,
        "warnings": ["colour: unknown member, left out"],
    }  # fmt: skip
    again = await operator.apply("P", "A", {"id": "B", "dependencies": ["A"]}, status=200)
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 2)
    longer = await operator.apply("P", "A", {"id": "B", "priority": "high"}, "C", status=200)
    assert (longer["added"], longer["changed"], longer["unchanged"]) == (1, 1, 1)


async def test_prune_removes_pending_tasks(operator: Operator) -> None:
    """Tasks that a new file lacks stay unless they are to be pruned."""
    await operator.apply("P", "A", "B")
    assert (await operator.apply("P", "A", status=200))["pruned"] == 0
    pruned = await operator.call("PUT", "/admin/plans/P?prune=true", json={"tasks": [{"id": "A"}]})
    assert pruned["pruned"] == 1
    assert await operator.tasks("P") == {"A": "PENDING"}


async def test_every_problem_comes_in_one_refusal(operator: Operator) -> None:
    """A bad file is one 422 with all problems by field, and nothing of it is stored."""
    bad = {"plan_id": "Q", "tasks": [{"id": "A", "priority": "x"}, {"id": "A", "priorty": "low"}]}
    envelope = await operator.refused("PUT", "/admin/plans/P", 422, "validation_error", json=bad)
    assert [problem["field"] for problem in envelope["problems"]] == [
        "plan_id", "tasks[0].priority", "tasks[1].priorty", "tasks[1].id",
    ]  # fmt: skip
    assert "4 problems" in envelope["detail"]
    await operator.refused("GET", "/admin/plans/P", 404, "not_found")


async def test_a_dependency_that_exists_nowhere_is_refused(operator: Operator) -> None:
    """Dependencies may name tasks that are stored already, and no others."""
    await operator.apply("P", "A")
    await operator.apply("P", {"id": "B", "dependencies": ["A"]}, status=200)
    bad = {"tasks": [{"id": "C", "dependencies": ["Z"]}]}
    envelope = await operator.refused("PUT", "/admin/plans/P", 422, "validation_error", json=bad)
    assert "Z" in json.dumps(envelope)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff{}",
        b'{"tasks": NaN}',
        b'{"name": "\\ud800", "tasks": []}',
        b"[" * 101 + b"]" * 101,
        b"[" * 100_000,
    ],
)
async def test_what_is_no_json_is_malformed(operator: Operator, body: bytes) -> None:
    """Broken JSON, bytes that are not UTF-8, NaN, lone surrogates and deep nesting are 400."""
    await operator.refused("PUT", "/admin/plans/P", 400, "malformed_json", content=body)


async def test_a_malformed_file_is_told_by_line(operator: Operator) -> None:
    """Whoever wrote the file by hand is told where to look."""
    envelope = await operator.refused("PUT", "/admin/plans/P", 400, "malformed_json", content=b'{\n  "tasks": [,]\n}')
    assert "line 2, column 13" in envelope["detail"]


async def test_nul_and_huge_numbers_are_json(operator: Operator) -> None:
    """U+0000 comes back exactly, and a number that no float holds does not make the file unreadable."""
    body = b'{"tasks": [{"id": "A", "description": "a\\u0000b", "huge": 1e400}]}'
    await operator.call("PUT", "/admin/plans/P", 201, content=body)
    shown = await operator.call("GET", "/admin/plans/P")
    assert shown["plan"]["tasks"][0]["description"] == "a\x00b"


async def test_a_plan_file_may_be_large_but_not_endless(operator: Operator) -> None:
    """More than 64 MiB are 413."""

    async def body() -> object:
        for _ in range(65):
            yield b" " * (1024 * 1024)

    await operator.refused("PUT", "/admin/plans/P", 413, "payload_too_large", content=body())


async def test_forms_with_parts_are_refused(operator: Operator) -> None:
    """JSON routes take any content type but multipart."""
    form = {"content": b"{}", "headers": {"content-type": "multipart/form-data; boundary=x"}}
    await operator.refused("PUT", "/admin/plans/P", 415, "unsupported_media_type", **form)
    how = {"content": b'{"tasks": []}', "headers": {"content-type": "text/plain"}}
    await operator.call("PUT", "/admin/plans/P", 201, **how)


async def test_identifiers_with_slashes_are_decoded_once(operator: Operator) -> None:
    """`%2F` belongs to the identifier, and `%252F` is the text `%2F`."""
    await operator.apply("a%2Fb", "x/y")
    await operator.apply("a%252Fb", "T")
    listed = await operator.call("GET", "/admin/plans")
    assert [plan["id"] for plan in listed["plans"]] == ["a%2Fb", "a/b"]
    skipped = await operator.call("POST", "/admin/plans/a%2Fb/tasks/x%2Fy/skip")
    assert (skipped["task"]["plan_id"], skipped["task"]["id"], skipped["task"]["status"]) == ("a/b", "x/y", "SKIPPED")
    for path in ("%2E%2E", "%00", "x" * 257):
        await operator.refused("PUT", f"/admin/plans/{path}", 422, "validation_error", json={"tasks": []})


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("GET", "/admin/plans/%FF", "plan_id"),
        ("POST", "/admin/plans/P/tasks/%C3/skip", "task_id"),
        ("POST", "/admin/workers/a%FFb/quiet", "worker_id"),
    ],
)
async def test_a_path_that_is_no_text_is_malformed(operator: Operator, method: str, path: str, named: str) -> None:
    """`malformed_request`, 400: "The request cannot be read as HTTP, or its path is not percent-encoded UTF-8"."""
    body = await operator.refused(method, path, 400, "malformed_request")
    assert named in body["detail"]


async def test_a_task_that_a_file_calls_failed_blocks(operator: Operator) -> None:
    """`on_failure` takes effect when a task fails, not when a file says that it has."""
    await operator.apply("P", {"id": "A", "status": "failed", "on_failure": "skip"}, {"id": "B", "dependencies": ["A"]})
    shown = (await operator.call("GET", "/admin/plans/P"))["plan"]
    assert (shown["state"], [task["status"] for task in shown["tasks"]]) == ("blocked", ["FAILED", "PENDING"])


async def test_a_plan_is_shown_with_its_tasks(operator: Operator) -> None:
    """The plan, how far it is, and each task with what the wire knows of it and what only operators see."""
    await operator.apply("P", {"id": "A", "description": "first"}, {"id": "B", "dependencies": ["A"]}, name="My plan")
    task = await operator.take("P")
    shown = (await operator.call("GET", "/admin/plans/P"))["plan"]
    assert (shown["id"], shown["name"], shown["state"], shown["paused"]) == ("P", "My plan", "active", False)
    assert shown["counts"] == {
        "waiting": 1, "ready": 0, "held": 1, "done": 0, "failed": 0, "skipped": 0, "retrying": 0, "total": 2,
    }  # fmt: skip
    first, second = shown["tasks"]
    assert (first["id"], first["status"], first["version"], first["worker_id"]) == ("A", "CLAIMED", task.version, "w-1")
    assert (first["description"], first["priority"], first["attempts"]) == ("first", "medium", 0)
    assert (second["status"], second["waiting_on"], second["dependencies"]) == ("PENDING", 1, ["A"])


async def test_a_plan_is_read_in_pages(operator: Operator) -> None:
    """`limit`, `after` and `next` lead through the tasks, and `status` picks some."""
    await operator.apply("P", *(f"T-{number}" for number in range(5)))
    await operator.call("POST", "/admin/plans/P/tasks/T-2/skip")
    seen: list[str] = []
    following = ""
    while True:
        page = (await operator.call("GET", f"/admin/plans/P?limit=2{following}"))["plan"]
        seen += [task["id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        following = f"&after={page['next']}"
    assert seen == [f"T-{number}" for number in range(5)]
    assert await operator.tasks("P", "?status=skipped") == {"T-2": "SKIPPED"}
    assert len(await operator.tasks("P", "?status=PENDING,SKIPPED&limit=3")) == 3
    assert "tasks" not in (await operator.call("GET", "/admin/plans/P?summary=1"))["plan"]


async def test_a_long_plan_is_streamed_whole(operator: Operator) -> None:
    """A plan of several pages comes as one list, and its end is exact also where it meets the end of a page."""
    await operator.apply("P", *(f"T-{number}" for number in range(1_000)))
    for query, count in (("", 1_000), ("?limit=500", 500), ("?limit=1000", 1_000), ("?limit=999", 999)):
        page = (await operator.call("GET", f"/admin/plans/P{query}"))["plan"]
        assert [task["id"] for task in page["tasks"]] == [f"T-{number}" for number in range(count)]
        assert page["next"] == (None if count == 1_000 else f"T-{count - 1}")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "limit=-1",
        "limit=50001",
        "after=nobody",
        "status=lost",
        "summary=maybe",
        "limit=1&limit=2",
        "sumary=1",
        "after=%FF",
    ],
)
async def test_bad_parameters_are_named(operator: Operator, query: str) -> None:
    """A parameter that cannot be, or that nobody knows, is 422 and not ignored."""
    await operator.apply("P", "A")
    await operator.refused("GET", f"/admin/plans/P?{query}", 422, "validation_error")


async def test_plans_are_listed_in_pages(operator: Operator) -> None:
    """All plans come in the order of their ids, without their tasks."""
    for plan in ("C", "A", "B"):
        await operator.apply(plan)
    first = await operator.call("GET", "/admin/plans?limit=2")
    assert [plan["id"] for plan in first["plans"]] == ["A", "B"]
    assert first["next"] == "B"
    rest = await operator.call("GET", "/admin/plans?limit=2&after=B")
    assert ([plan["id"] for plan in rest["plans"]], rest["next"]) == (["C"], None)
    assert rest["plans"][0]["state"] == "finished"


async def test_a_plan_in_use_is_deleted_only_by_force(operator: Operator) -> None:
    """Held tasks keep their plan from being deleted, unless it is forced."""
    await operator.apply("P", "A")
    await operator.take("P")
    await operator.refused("DELETE", "/admin/plans/P", 409, "in_use")
    assert await operator.call("DELETE", "/admin/plans/P?force=true") == {"plan_id": "P", "deleted": True}
    await operator.refused("DELETE", "/admin/plans/P", 404, "not_found")


async def test_a_paused_plan_says_so(operator: Operator) -> None:
    """Pause and resume answer with the plan."""
    await operator.apply("P", "A")
    assert (await operator.call("POST", "/admin/plans/P/pause"))["plan"]["state"] == "paused"
    assert (await operator.call("POST", "/admin/plans/P/resume"))["plan"]["state"] == "active"
    for verb in ("pause", "resume", "retry"):
        await operator.refused("POST", f"/admin/plans/nowhere/{verb}", 404, "not_found")


async def test_retrying_a_plan_retries_what_failed(operator: Operator) -> None:
    """A plan whose rest waits for a failed task is blocked until that is tried again."""
    await operator.apply("P", "A", {"id": "B", "dependencies": ["A"]})
    await operator.settle(await operator.take("P"), Move.FAIL)
    shown = (await operator.call("GET", "/admin/plans/P"))["plan"]
    assert shown["state"] == "blocked"
    assert [task["blocked_by"] for task in shown["tasks"]] == [None, "A"]
    assert await operator.call("POST", "/admin/plans/P/retry") == {"plan_id": "P", "retried": 1}
    assert await operator.tasks("P") == {"A": "PENDING", "B": "PENDING"}
