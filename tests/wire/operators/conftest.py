"""The operators' application on a hall with a real SQLite store, spoken to over ASGI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hiringhall.auth.tokens import Tokens, hash_of
from hiringhall.config import Settings
from hiringhall.domain.lifecycle import Move
from hiringhall.domain.names import plan_worker
from hiringhall.domain.topics import plan_lane
from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import Register, Settle, Take, TaskView
from hiringhall.storage.sqlite.store import SqliteStore
from hiringhall.wakeups.local import LocalWakeups
from hiringhall.wire.operators.application import operators_application

OPERATOR = "operator-token"
BOOTSTRAP = "bootstrap-token"
METRICS = "metrics-token"
WORKER = "token-of-w-1"


class Operator:
    """An operator in front of a hall, and the workers that are needed to get its tasks anywhere."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(operators_application(hall)),
            base_url="http://hall",
            headers={"authorization": f"Bearer {OPERATOR}"},
        )

    async def call(self, method: str, path: str, status: int = 200, **how: Any) -> Any:
        """The body of the answer, which has this status."""
        answer = await self.client.request(method, path, **how)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        assert answer.headers["cache-control"] == "no-store"
        return answer.json()

    async def refused(self, method: str, path: str, status: int, code: str, **how: Any) -> Any:
        """The envelope of a refusal with this status and code."""
        envelope = await self.call(method, path, status, **how)
        assert envelope["error_code"] == code
        assert envelope["detail"]
        assert "task_id" in envelope
        return envelope

    async def apply(self, plan: str, *tasks: dict[str, Any] | str, status: int = 201, **members: Any) -> Any:
        """Apply a plan of these tasks."""
        listed = [{"id": task} if isinstance(task, str) else task for task in tasks]
        return await self.call("PUT", f"/admin/plans/{plan}", status, json={"tasks": listed, **members})

    async def register(self, worker: str = "w-1", token: str = WORKER) -> None:
        """Have a worker register."""
        await self.hall.coalescer.one(
            Register(plan_worker(worker), "host", hash_of(token.encode()), known_is_fine=True)
        )

    async def take(self, plan: str, worker: str = "w-1") -> TaskView:
        """Have a worker take the next task."""
        await self.register(worker, f"token-of-{worker}")
        taken = await self.hall.coalescer.one(Take(plan_worker(worker), (plan_lane(plan),)))
        (task,) = taken.tasks
        assert isinstance(task, TaskView)
        return task

    async def settle(self, task: TaskView, move: Move = Move.COMPLETE, worker: str = "w-1") -> TaskView:
        """Have the worker settle the task that it took."""
        reason = "no luck" if move is Move.FAIL else None
        ask = Settle(plan_worker(worker), task.task_id, task.version, move, task.plan, reason)
        settled = await self.hall.coalescer.one(ask)
        assert isinstance(settled, TaskView)
        return settled

    async def tasks(self, plan: str, query: str = "") -> dict[str, str]:
        """The status of each task of a plan."""
        shown = await self.call("GET", f"/admin/plans/{plan}{query}")
        return {task["id"]: task["status"] for task in shown["plan"]["tasks"]}


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Operator]:
    """An operator in front of an empty hall."""
    tokens = Tokens(operator=[OPERATOR], bootstrap=[BOOTSTRAP], metrics=[METRICS])
    hall = Hall(Settings(), tokens, await SqliteStore.open(tmp_path / "hall.db"), LocalWakeups())
    operator = Operator(hall)
    yield operator
    await operator.client.aclose()
    await hall.close()
