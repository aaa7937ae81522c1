"""A blocking client of a hall under test: what operators and plan workers send, and the bytes of a raw request."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN

ANSWER_SECONDS = 30.0


class HallClient:
    """Talks to one server. Every call returns the answer as it came; the named ones expect that it is fine."""

    def __init__(self, url: str, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=answer_seconds, trust_env=False)

    def __enter__(self) -> HallClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = ADMIN_TOKEN,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send one request; `body` is sent as JSON unless it is bytes already."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self._http.request(method, path, content=content, headers={**authorization, **(headers or {})})

    # --- operators

    def apply(self, plan: str, *tasks: Mapping[str, Any] | str, **members: Any) -> Any:
        """Apply a plan of these tasks."""
        listed = [{"id": task} if isinstance(task, str) else dict(task) for task in tasks]
        return fine(self.call("PUT", f"/admin/plans/{part(plan)}", {"tasks": listed, **members}))

    def tasks(self, plan: str) -> dict[str, Any]:
        """The tasks of a plan by their ids, as operators see them."""
        listed = fine(self.call("GET", f"/admin/plans/{part(plan)}"))["plan"]["tasks"]
        return {task["id"]: task for task in listed}

    def task(self, plan: str, task_id: str) -> Any:
        """One task."""
        return self._work(plan, task_id)["work"]

    def history(self, plan: str, task_id: str) -> list[Any]:
        """The audit log of one task."""
        lines: list[Any] = self._work(plan, task_id)["history"]
        return lines

    def counts(self, plan: str) -> dict[str, int]:
        """How many tasks of a plan are in which state."""
        counts: dict[str, int] = fine(self.call("GET", f"/admin/plans/{part(plan)}?summary=1"))["plan"]["counts"]
        return counts

    def is_finished(self, plan: str) -> bool:
        """Whether every task of a plan is done."""
        counts = self.counts(plan)
        return counts.get("done", 0) == counts["total"]

    def workers(self) -> dict[str, Any]:
        """All workers by their ids."""
        return {
            worker["worker_id"]: worker for worker in fine(self.call("GET", "/admin/workers?limit=1000"))["workers"]
        }

    def direct(self, worker_id: str, verb: str) -> None:
        """Tell a worker to be quiet, to resume, to terminate."""
        fine(self.call("POST", f"/admin/workers/{part(worker_id)}/{verb}"))

    def remove(self, worker_id: str) -> None:
        """Remove a worker."""
        fine(self.call("DELETE", f"/admin/workers/{part(worker_id)}"))

    def _work(self, plan: str, task_id: str) -> Any:
        return fine(self.call("GET", f"/admin/work?plan={part(plan)}&task={part(task_id)}"))

    # --- workers

    def register(self, hostname: str = "host-of-a-test") -> Worker:
        """Register a worker, which then speaks with its own token."""
        answer = fine(self.call("POST", "/workers/register", {"hostname": hostname}, token=BOOTSTRAP_TOKEN))
        return Worker(self, answer["worker_id"], answer["token"])

    def shared(self, worker_id: str) -> Worker:
        """A worker that speaks with the token that all share."""
        return Worker(self, worker_id, WORKER_TOKEN)


class Worker:
    """A plan worker, driven step by step."""

    def __init__(self, client: HallClient, worker_id: str, token: str) -> None:
        self.client = client
        self.id = worker_id
        self.token = token

    def at(self, client: HallClient) -> Worker:
        """The same worker, calling another server."""
        return Worker(client, self.id, self.token)

    def ask_claim(self, plan: str, wait: float = 0.0, **headers: str) -> httpx.Response:
        """Claim; the answer as it came. Underscores in the names of headers stand for hyphens."""
        body = {"worker_id": self.id, "plan_id": plan, "wait": wait}
        return self._call("/tasks/claim", body, headers)

    def claim(self, plan: str, wait: float = 0.0, **headers: str) -> Any:
        """The task that a claim brought, None if it brought nothing."""
        answer = self.ask_claim(plan, wait, **headers)
        return None if answer.status_code == 204 else fine(answer)["task"]

    def settle(self, verb: str, task: Any, *, key: str | None = None, **members: Any) -> httpx.Response:
        """Complete, fail or release what was claimed; the answer as it came."""
        body = {"worker_id": self.id, "version": task["version"], "plan_id": task["plan_id"], **members}
        headers = {} if key is None else {"Idempotency_Key": key}
        return self._call(f"/tasks/{part(task['id'])}/{verb}", body, headers)

    def complete(self, task: Any) -> Any:
        """Complete what was claimed, which has to be accepted."""
        return fine(self.settle("complete", task))["task"]

    def heartbeat(self, **headers: str) -> bool:
        """Whether the hall knows this worker."""
        answer = fine(self._call(f"/workers/{part(self.id)}/heartbeat", {"worker_id": self.id}, headers))
        known: bool = answer["ok"]
        return known

    def _call(self, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.call("POST", path, body, token=self.token, headers=named)


def fine(answer: httpx.Response) -> Any:
    """The body of an answer that has to be a success."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def part(identifier: str) -> str:
    """An identifier as one part of a path or query."""
    return quote(identifier, safe="")


def request_bytes(
    path: str, body: Any, *, token: str = WORKER_TOKEN, method: str = "POST", headers: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of one request."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: hall", f"Authorization: Bearer {token}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines += [f"Content-Length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode() + content


def claim_bytes(worker_id: str, plan: str, wait: float, **headers: str) -> bytes:
    """The bytes of a claim with the token that all share."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"worker_id": worker_id, "plan_id": plan, "wait": wait}
    return request_bytes("/tasks/claim", body, headers=named)


def connect(url: str) -> socket.socket:
    """A plain connection to a server."""
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port or 80), timeout=ANSWER_SECONDS)
