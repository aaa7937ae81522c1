"""Operators look at calls and steer them, and see and direct service workers: on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hiringhall.config import Settings
from hiringhall.operations.hall import terms_of
from hiringhall.wire.operators.application import operators_application
from tests.operations.parts import OPERATOR, plan_of
from tests.storage.subjects import open_subject
from tests.wire.clients.counter import Counter, counter


class Desk(Counter):
    """A counter with an operator behind it."""

    http: httpx.AsyncClient

    async def call_admin(self, method: str, path: str, status: int = 200) -> Any:
        """The body of the answer to the operator, which has this status."""
        answer = await self.http.request(method, f"/admin/{path}")
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()


@pytest.fixture(params=["sqlite", "postgres"])
async def desk(request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    """A desk on an empty store, with its service."""
    terms = terms_of(Settings(data="unused"))
    async with open_subject(request.param, terms, request) as subject, counter(subject.store, kind=Desk) as made:
        assert isinstance(made, Desk)
        made.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(operators_application(made.hall)),
            base_url="http://hall",
            headers={"authorization": f"Bearer {OPERATOR}"},
        )
        await made.service()
        yield made
        await made.http.aclose()


async def test_state_and_history_of_a_call(desk: Desk) -> None:
    """`GET /admin/work/{id}` (state and history), by request id."""
    worker, client = await desk.hire("w"), await desk.client()
    request_id = await client.made_call(priority=7)
    await worker.ids()
    shown = await desk.call_admin("GET", f"work/{request_id}")
    work = shown["work"]
    assert (work["kind"], work["request_id"], work["client"]) == ("call", request_id, "shop")
    assert (work["service"], work["method"], work["dispatch"], work["priority"]) == ("kiwi", "hello", "exclusive", 7)
    assert (work["status"], work["state"], work["worker_id"], work["result_bytes"]) == ("held", "held", "w", None)
    assert [line["move"] for line in shown["history"]] == ["submit", "hold"]
    assert shown["story"][-1].startswith("Now: held by worker w")
    assert await desk.call_admin("GET", f"work?id={request_id}") == shown


async def test_payloads_are_shown_on_request(desk: Desk) -> None:
    """What a call answered is shown only on request: it may be secret."""
    worker, client = await desk.hire("w"), await desk.client()
    request_id = await client.made_call()
    await worker.ids()
    await worker.respond(request_id, result="secret").json()
    work = (await desk.call_admin("GET", f"work/{request_id}"))["work"]
    assert (work["status"], work["result_bytes"]) == ("success", 8)
    assert "result" not in work
    assert "secret" not in str(await desk.call_admin("GET", f"work/{request_id}"))
    assert (await desk.call_admin("GET", f"work/{request_id}?payload=true"))["work"]["result"] == "secret"


async def test_an_unknown_call(desk: Desk) -> None:
    """What has the form of a request id and is none is told as a call that there is not."""
    for unknown in ("r-AAAAAAAAAAAAAAAAAAAAAA", "r-unknown", "r-AAAAAAAAAAAAAAAAAAAAAA.7"):
        for path in (f"work/{unknown}", f"work?id={unknown}"):
            envelope = await desk.call_admin("GET", path, 404)
            assert (envelope["error_code"], envelope["task_id"]) == ("not_found", None)
            assert envelope["detail"].startswith(f"there is no call '{unknown}'")


async def test_the_number_of_a_unit_names_nothing(desk: Desk) -> None:
    """An id of digits is that of a task: the number that a call has inside is neither shown nor steered by it."""
    request_id = await (await desk.client()).made_call()
    number = (await desk.call_admin("GET", f"work/{request_id}"))["work"]["work"]
    assert (await desk.call_admin("GET", f"work/{number}", 404))["task_id"] == str(number)
    await desk.store.commit([plan_of(str(number))])
    for path in (f"work/{number}", f"work?id={number}"):
        assert (await desk.call_admin("GET", path))["work"]["kind"] == "task"
    assert (await desk.call_admin("POST", f"work/{number}/cancel"))["task"]["status"] == "FAILED"
    assert (await desk.call_admin("GET", f"work/{request_id}"))["work"]["status"] == "queued"


async def test_releasing(desk: Desk) -> None:
    """`/admin/work/{id}/release`: taken back from its worker, and handed out again for that reason."""
    worker, client = await desk.hire("w"), await desk.client()
    request_id = await client.made_call()
    await worker.ids()
    assert (await desk.call_admin("POST", f"work/{request_id}/release"))["call"]["status"] == "queued"
    assert await worker.ids() == [request_id]
    assert await desk.causes(request_id) == ["first", "operator"]


async def test_cancelling(desk: Desk) -> None:
    """`/admin/work/{id}/cancel`: the client that waits hears of it."""
    client = await desk.client()
    request_id = await client.made_call()
    waiting = client.show(request_id, "?wait=30")
    await desk.following(1)
    assert (await desk.call_admin("POST", f"work/{request_id}/cancel"))["call"]["status"] == "cancelled"
    assert (await waiting.json(200))["status"] == "cancelled"
    refused = await desk.call_admin("POST", f"work/{request_id}/cancel", 409)
    assert (refused["error_code"], refused["task_id"]) == ("wrong_state", None)


async def test_retrying(desk: Desk) -> None:
    """`/admin/work/{id}/retry`: a failed call is tried again; one that succeeded is 409 `wrong_state`."""
    worker, client = await desk.hire("w"), await desk.client()
    request_id = await client.made_call()
    await worker.ids()
    await worker.respond(request_id, "failed", error_text="no").json()
    assert (await desk.call_admin("POST", f"work/{request_id}/retry"))["call"]["status"] == "queued"
    assert await client.status(request_id) == "queued"
    assert await worker.ids() == [request_id]
    await worker.respond(request_id, result=1).json()
    assert (await desk.call_admin("POST", f"work/{request_id}/retry", 409))["error_code"] == "wrong_state"


async def test_service_workers_are_listed(desk: Desk) -> None:
    """`/admin/workers` with `?service=` for service workers: run mode, methods, whether they are live."""
    await desk.hire("ann", "hello", "longtask", tags={"os": "linux"}, version="1.2", platform="linux")
    ben = await desk.hire("ben")
    await desk.hire("cat", service="other")
    await ben.leave().reply()
    ann, gone = (await desk.call_admin("GET", "workers?service=kiwi"))["workers"]
    registration = ann.pop("registration")
    assert (ann["worker_id"], ann["service"], ann["live"], ann["online"]) == ("ann", "kiwi", True, True)
    assert (registration["run_mode"], registration["methods"]) == ("eager", ["hello", "longtask"])
    assert (registration["tags"], registration["version"]) == ({"os": "linux"}, "1.2")
    assert (gone["worker_id"], gone["live"], gone["registration"]["leaving"]) == ("ben", False, True)


async def test_lists_of_workers_come_in_pages(desk: Desk) -> None:
    """`next` of an answer is the `after` of the next request, for all workers and for those of a service."""
    await desk.admit("p1", "plan:x", "service:a/b")
    for worker in ("ann", "ben/1"):
        await desk.hire(worker)
    await desk.hire("ann", service="zoo")
    everybody = [
        (None, "p1"),
        (None, "plan:x"),
        (None, "service:a/b"),
        ("kiwi", "ann"),
        ("kiwi", "ben/1"),
        ("zoo", "ann"),
    ]
    for query, expected in (("", everybody), ("&service=kiwi", [("kiwi", "ann"), ("kiwi", "ben/1")])):
        found: list[tuple[str | None, str]] = []
        after: str | None = ""
        while after is not None:
            path = str(httpx.URL("workers", params={"limit": "1", **({"after": after} if after else {})})) + query
            page = await desk.call_admin("GET", path)
            found += [(worker["service"], worker["worker_id"]) for worker in page["workers"]]
            after = page["next"]
        assert found == expected


async def test_service_workers_are_directed(desk: Desk) -> None:
    """`/admin/workers/{id}/{quiet,resume,terminate}` and DELETE, `?service=` for service workers."""
    worker = await desk.hire("w/1")
    drain = await worker.waiting()
    quiet = await desk.call_admin("POST", "workers/w%2F1/quiet?service=kiwi")
    assert (quiet["worker"]["worker_id"], quiet["worker"]["quiet"], quiet["worker"]["live"]) == ("w/1", True, False)
    assert await drain.json() == []
    assert (await desk.call_admin("POST", "workers/w%2F1/resume?service=kiwi"))["worker"]["live"] is True
    assert (await desk.call_admin("POST", "workers/w%2F1/terminate?service=kiwi"))["worker"]["terminating"] is True
    assert (await desk.call_admin("POST", "workers/w%2F1/quiet", 404))["error_code"] == "not_found"
    assert await desk.call_admin("DELETE", "workers/w%2F1?service=kiwi") == {
        "worker_id": "w/1", "removed": True, "service": "kiwi",
    }  # fmt: skip
    assert (await desk.call_admin("DELETE", "workers/w%2F1?service=kiwi", 404))["error_code"] == "not_found"


async def test_metrics_of_calls(desk: Desk) -> None:
    """Calls by service and state, answers by status, items of feedback, and clients that wait."""
    worker, client = await desk.hire("w"), await desk.client()
    done, held, _queued = [await client.made_call() for _ in range(3)]
    refused = await client.made_call(priority=-1)
    assert await worker.ids("?max=2") == [done, held]
    item = {"rid": held, "st": 1, "sn": "hello", "ft": 1, "pr": True, "fc": None}
    assert await worker.tell([item, item]).json() == {"accepted": 2}
    await worker.respond(done, result=1).json()
    await worker.respond(done, result=1).json()
    await client.withdraw(refused).json()
    waiting = client.show(held, "?wait=30")
    await desk.following(1)
    lines = (await desk.http.get("/metrics")).text.splitlines()
    for line in (
        'hall_calls{service="kiwi",state="queued"} 1.0',
        'hall_calls{service="kiwi",state="held"} 1.0',
        'hall_calls{service="kiwi",state="done"} 1.0',
        'hall_calls{service="kiwi",state="cancelled"} 1.0',
        'hall_calls{service="kiwi",state="failed"} 0.0',
        'hall_answers_total{status="success"} 1.0',
        'hall_answers_total{status="error"} 0.0',
        "hall_feedback_items_total 2.0",
        "hall_following_clients 1.0",
        'hall_workers{state="online"} 1.0',
    ):
        assert line in lines, [each for each in lines if each.startswith(line.split("{")[0].split(" ")[0])]
    waiting.hang_up()
