"""A script for the interpreter of a wheel's environment: calls a hall through the wheel's own client, and reports.

The one argument is a JSON object with `address`, `token`, `bootstrap_token` and `whose` (own or shared); the report is
one JSON object: `found`, what each call gave; `checked`, the answers; and `invalid`, what the wheel's own models say
about answers that they do not accept. Every answer with a body and a status of 2xx or 409 is checked by them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable
from typing import Any

import httpx
from whilly.adapters.transport import client as published  # type: ignore[import-not-found]
from whilly.adapters.transport import schemas

WRONG = "wrong-token"
ROUTES = {
    r"POST .*/workers/register": "RegisterResponse",
    r"POST .*/workers/[^/]+/heartbeat": "HeartbeatResponse",
    r"POST .*/tasks/claim": "ClaimResponse",
    r"POST .*/tasks/[^/]+/complete": "CompleteResponse",
    r"POST .*/tasks/[^/]+/fail": "FailResponse",
    r"POST .*/tasks/[^/]+/release": "ReleaseResponse",
    r"GET .*/workers/control-state": "ControlStateResponse",
    r"POST .*/tasks/[^/]+/events": "TaskEventResponse",
    r"GET .*/tasks/[^/]+/events": "ListTaskEventsResponse",
}


class Checked(httpx.AsyncHTTPTransport):
    """A transport that checks each answer on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.checked: list[str] = []
        self.invalid: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        await answer.aread()
        call = f"{request.method} {request.url.path}"
        self.checked.append(f"{answer.status_code} {call}")
        try:
            check(call, answer)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is reported
            self.invalid.append(f"{call} {answer.status_code} {answer.text[:500]}: {problem}")
        return answer


def check(call: str, answer: httpx.Response) -> None:
    """Let the wheel's model of this answer look at it, to the last member."""
    if answer.status_code == 204:
        assert not answer.content, "a body"
        assert "content-length" not in answer.headers, "a length"
    elif answer.status_code == 409:
        envelope = schemas.ErrorResponse.model_validate_json(answer.content)
        assert answer.json().keys() == type(envelope).model_fields.keys(), "not all members"
    elif answer.is_success and re.search("/api/v1/plans/", call):
        check_plan(answer.json())
    elif answer.is_success:
        (name,) = (model for route, model in ROUTES.items() if re.fullmatch(route, call))
        getattr(schemas, name).model_validate_json(answer.content)


def check_plan(plan: dict[str, Any]) -> None:
    """A plan is what its model knows, and its tasks for those who may see them."""
    tasks = plan.pop("tasks", [])
    schemas.PlanPayload.model_validate(plan)
    for task in tasks:
        schemas.TaskPayload.model_validate(task)


async def outcome(call: Awaitable[Any]) -> Any:
    """What a call gives or raises, as JSON."""
    try:
        result = await call
    except published.VersionConflictError as conflict:
        status = conflict.actual_status
        return {
            "raised": "VersionConflictError", "error_code": conflict.error_code, "task_id": conflict.task_id,
            "expected_version": conflict.expected_version, "actual_version": conflict.actual_version,
            "actual_status": status and status.value,
        }  # fmt: skip
    except published.HTTPClientError as refusal:
        return {"raised": type(refusal).__name__, "status": refusal.status_code}
    if result is None or isinstance(result, tuple):
        return None if result is None else [json.loads(item.model_dump_json()) for item in result]
    if hasattr(result, "model_dump_json"):
        return json.loads(result.model_dump_json())
    return {name: getattr(result, name) for name in ("id", "name", "version", "description") if hasattr(result, name)}


class Calls:
    """Calls of the client one after the other, and what came of them."""

    def __init__(self, about: dict[str, str]) -> None:
        self.about = about
        self.transport = Checked()
        self.found: dict[str, Any] = {}

    def client(self, token: str, bootstrap_token: str | None = None) -> Any:
        """A client with this token."""
        return published.RemoteWorkerClient(
            self.about["address"], token, bootstrap_token=bootstrap_token, transport=self.transport
        )

    async def note(self, name: str, call: Awaitable[Any]) -> Any:
        """Note what a call gives under a name."""
        self.found[name] = await outcome(call)
        return self.found[name]

    async def tokens(self) -> tuple[str, str]:
        """Register, and what tokens open; the id and the token of a worker that is registered."""
        async with self.client(self.about["token"], self.about["bootstrap_token"]) as client:
            me = await self.note("register", client.register("a-host"))
            await self.note("heartbeat, unknown", client.heartbeat("w-unknown"))
        async with self.client(me["token"]) as client:
            await self.note("heartbeat", client.heartbeat(me["worker_id"]))
            await self.note("heartbeat, another's", client.heartbeat("w-another"))
        async with self.client(WRONG, WRONG) as client:
            await self.note("heartbeat, wrong token", client.heartbeat(me["worker_id"]))
            await self.note("claim, wrong token", client.claim(me["worker_id"], "calls"))
            await self.note("register, wrong token", client.register("a-host"))
        return me["worker_id"], me["token"]

    async def tasks(self, client: Any, worker: str) -> None:
        """One task after the other, to each of its ends."""
        task = await self.note("claim", client.claim(worker, "calls"))
        await self.note("complete", client.complete(task["id"], worker, task["version"]))
        await self.note("complete again", client.complete(task["id"], worker, task["version"]))
        await self.note("fail what is done", client.fail(task["id"], worker, task["version"], "no"))
        await self.note("complete with the new version", client.complete(task["id"], worker, task["version"] + 1))
        task = await self.note("claim to fail", client.claim(worker, "calls"))
        await self.note("fail", client.fail(task["id"], worker, task["version"], "r" * 2048))
        task = await self.note("claim to release", client.claim(worker, "calls"))
        await self.note("release", client.release(task["id"], worker, task["version"], "shutdown"))
        await self.note("release again", client.release(task["id"], worker, task["version"], "shutdown"))
        task = await self.note("claim again", client.claim(worker, "calls"))
        await self.note("complete at last", client.complete(task["id"], worker, task["version"]))
        await self.note("complete what is nowhere", client.complete("nowhere", worker, 1))
        await self.note("claim, unknown plan", client.claim(worker, "nowhere"))
        await self.note("claim, nothing left", client.claim(worker, "calls"))

    async def what_came_later(self, client: Any, worker: str) -> None:
        """What only the later client calls."""
        await self.note("plan", client.get_plan("later"))
        await self.note("plan without a name", client.get_plan("calls"))
        await self.note("plan, unknown", client.get_plan("nowhere"))
        await self.note("control state", client.control_state())
        task = await self.note("claim, later", client.claim(worker, "later"))
        about = {"payload": {"attempt": 1}, "detail": {"stdout": "x"}}
        await self.note("record", client.record_event(task["id"], worker, "llm.run.started", **about))
        await self.note("complete with costs", client.complete(task["id"], worker, task["version"], cost_usd=0.25))
        await self.note("events", client.list_task_events(task["id"]))
        await self.note("events of reviews", client.list_task_events(task["id"], event_prefix="human_review."))
        task = await self.note("claim, later still", client.claim(worker, "later"))
        await self.note("fail in detail", client.fail(task["id"], worker, task["version"], "no", detail={"line": 1}))
        async with httpx.AsyncClient(transport=self.transport) as anybody:
            answer = await anybody.get(f"{self.about['address']}/api/v1/plans/later")
            self.found["plan, by anybody"] = answer.json()


async def main(about: dict[str, str]) -> dict[str, Any]:
    """Make all calls: those of a worker once with its own token, once with the one that all share."""
    calls = Calls(about)
    worker, token = await calls.tokens()
    async with calls.client(token if about["whose"] == "own" else about["token"]) as client:
        await calls.tasks(client, worker)
        if hasattr(client, "get_plan"):
            await calls.what_came_later(client, worker)
    return {"found": calls.found, "checked": calls.transport.checked, "invalid": calls.transport.invalid}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
