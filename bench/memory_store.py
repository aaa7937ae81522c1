"""An honest plan store in plain dicts: priorities aside, everything that a claim and a settle have to decide."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec


class Task(msgspec.Struct):
    """A task as the wire shows it."""

    id: str
    plan_id: str = ""
    status: str = "PENDING"
    version: int = 1
    priority: str = "medium"
    description: str = ""
    dependencies: list[str] = msgspec.field(default_factory=list)
    key_files: list[str] = msgspec.field(default_factory=list)
    acceptance_criteria: list[str] = msgspec.field(default_factory=list)
    test_steps: list[str] = msgspec.field(default_factory=list)
    prd_requirement: str = ""


class PlanFile(msgspec.Struct):
    """What is read of a plan file."""

    tasks: list[Task]


class Conflict(Exception):
    """A settle that lost: carries the present version and status, both None if there is no such task."""

    def __init__(self, task: Task | None) -> None:
        super().__init__("version conflict")
        self.actual_version = task.version if task else None
        self.actual_status = task.status if task else None


@dataclass
class Plan:
    """Ready tasks in order, open dependencies, and the claims parked on it."""

    tasks: dict[str, Task] = field(default_factory=dict)
    ready: deque[Task] = field(default_factory=deque)
    waiting_on: dict[str, int] = field(default_factory=dict)
    dependents: dict[str, list[str]] = field(default_factory=dict)
    parked: dict[int, Callable[[Task], None]] = field(default_factory=dict)

    def is_done(self, task_id: str) -> bool:
        """Whether what waits for that task need not wait."""
        task = self.tasks.get(task_id)
        return task is not None and task.status == "DONE"


class MemoryStore:
    """Plans, tasks and workers of one process; nothing survives it."""

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}
        self.holder_of: dict[str, tuple[Task, str]] = {}
        self.tokens: dict[bytes, str] = {}

    def register(self) -> tuple[str, str]:
        """A new worker id and its token."""
        worker_id, token = f"w-{secrets.token_urlsafe(9)}", secrets.token_urlsafe(32)
        self.tokens[b"Bearer " + token.encode()] = worker_id
        return worker_id, token

    def plan(self, name: str) -> Plan:
        """The plan of that name, empty if it was never applied."""
        return self.plans.setdefault(name, Plan())

    def apply(self, name: str, tasks: list[Task]) -> int:
        """Add the tasks that the plan lacks; how many those were."""
        plan = self.plan(name)
        added = 0
        for task in tasks:
            if task.id in plan.tasks:
                continue
            added += 1
            task.plan_id, task.status, task.version = name, "PENDING", 1
            plan.tasks[task.id] = task
            open_ones = [each for each in task.dependencies if not plan.is_done(each)]
            for dependency in open_ones:
                plan.dependents.setdefault(dependency, []).append(task.id)
            if open_ones:
                plan.waiting_on[task.id] = len(open_ones)
            else:
                self.make_ready(plan, task)
        return added

    def make_ready(self, plan: Plan, task: Task) -> None:
        """Give the task to whoever has waited longest, or queue it."""
        if plan.parked:
            plan.parked.pop(next(iter(plan.parked)))(task)
        else:
            plan.ready.append(task)

    def take(self, name: str, worker_id: str) -> Task | None:
        """The next ready task, now held by the worker."""
        plan = self.plans.get(name)
        if plan is None or not plan.ready:
            return None
        return self.hold(plan.ready.popleft(), worker_id)

    def hold(self, task: Task, worker_id: str) -> Task:
        """Hand the task over."""
        task.status = "CLAIMED"
        task.version += 1
        self.holder_of[task.id] = (task, worker_id)
        return task

    def settle(self, task_id: str, worker_id: str, version: int, status: str) -> Task:
        """End or give back a held task; Conflict if this worker does not hold it at that version."""
        task, holder = self.holder_of.get(task_id, (None, ""))
        if task is None or holder != worker_id or task.version != version or task.status != "CLAIMED":
            raise Conflict(task)
        task.status = status
        task.version += 1
        plan = self.plans[task.plan_id]
        if status == "PENDING":
            self.make_ready(plan, task)
        elif status == "DONE":
            for dependent in plan.dependents.pop(task_id, ()):
                plan.waiting_on[dependent] -= 1
                if plan.waiting_on[dependent] == 0:
                    self.make_ready(plan, plan.tasks[dependent])
        return task
