"""What everybody may ask of a hall, how it refuses, and how it is described."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hiringhall.ports.questions import Query
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.openapi import ALL, document
from hiringhall.wire.operators.routes import SERVED
from tests.wire.operators.conftest import Operator

NOBODY: dict[str, Any] = {"headers": {"authorization": ""}}


async def test_unknown_paths_and_methods_are_refused_in_the_envelope(operator: Operator) -> None:
    """404 and 405 look like every other refusal, and 405 tells what the path knows."""
    for path in ("/nowhere", "/admin/plans/", "/admin/plans//pause", "/admin/%70lans", "/admin/plans/a/b/c"):
        await operator.refused("GET", path, 404, "not_found")
    await operator.refused("DELETE", "/admin/plans", 405, "method_not_allowed")
    answer = await operator.client.post("/admin/plans/P")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PUT"


async def test_a_request_keeps_its_id(operator: Operator) -> None:
    """`X-Request-Id` is echoed, or made if there is none or an unusable one."""
    answer = await operator.client.get("/ready", headers={"x-request-id": "abc-1"})
    assert answer.headers.get_list("x-request-id") == ["abc-1"]
    made = {(await operator.client.get("/nowhere")).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2


async def test_ready_until_the_server_ends(operator: Operator) -> None:
    """`/ready` says no as soon as the server is asked to end."""
    assert await operator.call("GET", "/ready", **NOBODY) == {"status": "ready"}
    operator.hall.drain_starts()
    await operator.refused("GET", "/ready", 503, "unavailable", **NOBODY)


async def test_a_database_that_is_away_is_unavailable(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its database the hall answers 503 and tells when to come again; its page says so in words."""

    async def away(_query: Query) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(operator.hall.store, "read", away)
    for path in ("/ready", "/admin/plans", "/admin/plans/P", "/metrics"):
        await operator.refused("GET", path, 503, "unavailable")
        assert (await operator.client.get(path)).headers["retry-after"]
    assert "does not answer" in (await operator.client.get("/")).text


async def test_a_bug_is_told_by_a_number(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A bug is 500 with a correlation id that stands in the log too, and nothing else of it comes out."""

    async def bug(_query: Query) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(operator.hall.store, "read", bug)
    with caplog.at_level(logging.ERROR):
        envelope = await operator.refused("GET", "/admin/plans", 500, "internal_error")
    assert envelope["correlation_id"] in caplog.text
    assert "secret" not in str(envelope)


async def test_the_page_shows_no_names(operator: Operator) -> None:
    """Everybody may see version and counts, but no name of a plan, and what comes from the request is escaped."""
    await operator.apply("very-secret-plan", "A")
    answer = await operator.client.get("/", headers={"authorization": "", "host": "<script>"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "very-secret" not in answer.text
    assert "<script>" not in answer.text
    assert "hall plan show PLAN --watch" in answer.text


async def test_metrics_count_tasks_by_plan_and_state(operator: Operator) -> None:
    """Prometheus reads how many tasks are where, and what the process did."""
    await operator.apply("P%22", "A", "B")
    await operator.take('P"')
    answer = await operator.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'hall_tasks{plan="P\\"",state="ready"} 1.0' in lines
    assert 'hall_tasks{plan="P\\"",state="held"} 1.0' in lines
    assert 'hall_workers{state="online"} 1.0' in lines
    assert 'hall_asks_total{verb="Apply"} 1.0' in lines
    assert any(line.startswith("hall_statements_total ") for line in lines)


async def test_the_number_of_series_is_bounded(operator: Operator) -> None:
    """A hundred plans are named, the others are counted together."""
    for number in range(103):
        await operator.apply(f"P-{number}", "A")
    text = (await operator.client.get("/metrics")).text
    assert text.count("hall_tasks{") == 101 * 7
    assert 'hall_tasks{plan="",state="ready"} 3.0' in text


async def test_every_route_is_described(operator: Operator) -> None:
    """The OpenAPI document names every route that is served to operators, and those of others at the root."""
    described = {(route.method, route.path) for route in ALL}
    assert {(served.method, served.path) for served in SERVED} <= described
    others = {path.split("/")[1] for _, path in described - {(served.method, served.path) for served in SERVED}}
    assert others == {"health", "workers", "tasks", "worker", "client"}
    answer = await operator.client.get("/openapi.json", headers={"authorization": ""})
    assert answer.json() == document()


def test_the_description_is_valid() -> None:
    """Operation ids are unique, every reference leads somewhere, and a validating reader takes the document."""
    import schemathesis

    whole = document()
    operations = [operation for path in whole["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    schema = schemathesis.openapi.from_dict(whole)
    schema.validate()
    assert sum(1 for _ in schema.get_all_operations()) == len(operations)
