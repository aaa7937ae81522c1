"""What a client of the HTTP surface may rely on, kept in plain dicts of the wire's words and checked against the hall.

`Ledger.look` reads everything that operators can see and compares it with what was seen before and what was answered.
"""

from __future__ import annotations

from typing import Any

from tests.hall_client import HallClient, fine, part

PLANS = ("p", "q/ü")
SETTLED = frozenset({"DONE", "SKIPPED", "FAILED"})
SATISFYING = frozenset({"DONE", "SKIPPED"})
HELD = frozenset({"CLAIMED", "IN_PROGRESS"})
PRIORITIES = ("critical", "high", "medium", "low")
VERBS: dict[str, tuple[frozenset[str], str]] = {
    "start": (frozenset({"CLAIMED"}), "IN_PROGRESS"),
    "skip": (frozenset({"PENDING", "FAILED"}), "SKIPPED"),
    "cancel": (frozenset({"PENDING", *HELD}), "FAILED"),
    "retry": (frozenset({"FAILED"}), "PENDING"),
    "reset": (SETTLED, "PENDING"),
    "release": (HELD, "PENDING"),
    "reprioritise": (frozenset({"PENDING"}), "PENDING"),
}
"""From which statuses an operator's verb is allowed, and to which it leads."""

Task = dict[str, Any]
Key = tuple[str, str]


class Ledger:
    """Everything seen so far. A unit is known by its number: a plan that was deleted and applied again has others."""

    def __init__(self, client: HallClient) -> None:
        self.client = client
        self.plans: dict[str, Any] = {}
        self.tasks: dict[Key, Task] = {}
        self.workers: dict[str, Any] = {}
        self.handed: dict[tuple[str, str, int], tuple[str, int]] = {}
        """(worker, task id, version) to (plan, number of the unit)."""
        self.held_by: dict[int, tuple[str, int]] = {}
        """Who was handed a unit last, and under which version."""
        self.answers: dict[tuple[int, str, int], tuple[str, object]] = {}
        """(unit, worker, version) to the idempotency key and the body of the settle that was accepted."""
        self.finished_by: dict[tuple[int, int], str] = {}
        """(unit, version after it) to the worker whose answer finished it."""
        self.look(may_reopen=True)

    def look(self, *, unchanged: bool = False, may_reopen: bool = False) -> None:
        """Read everything and check it. `unchanged`: what was asked was refused. `may_reopen`: finished units may
        leave that state."""
        before, plans_before = self.tasks, self.plans
        self._read()
        for task in self.tasks.values():
            self._check(task)
        numbers = {task["work"]: task for task in before.values()}
        for task in self.tasks.values():
            if task["work"] in numbers:
                _compare(numbers[task["work"]], task, may_reopen=may_reopen)
        for worker_id, worker in self.workers.items():
            mine = [task for task in self.tasks.values() if task["worker_id"] == worker_id]
            assert worker["holds"] == len(mine), f"{worker_id} is said to hold {worker['holds']}: {mine}"
        if unchanged:
            assert self.tasks == before, "a refused request changed tasks"
            assert self.plans == plans_before, "a refused request changed plans"

    def _read(self) -> None:
        listed = {plan["id"]: plan for plan in fine(self.client.call("GET", "/admin/plans"))["plans"]}
        self.plans, self.tasks = {}, {}
        for plan_id, summary in listed.items():
            shown = fine(self.client.call("GET", f"/admin/plans/{part(plan_id)}"))["plan"]
            tasks = shown.pop("tasks")
            del shown["next"]
            assert shown == summary
            counts = {name: count for name, count in shown["counts"].items() if count and name != "retrying"}
            assert counts.pop("total", 0) == len(tasks)
            states = [task["state"] for task in tasks]
            assert counts == {state: states.count(state) for state in states}
            self.plans[plan_id] = shown
            self.tasks.update({(plan_id, task["id"]): task for task in tasks})
        self.workers = self.client.workers()

    def _check(self, task: Task) -> None:
        assert (task["status"] in HELD) == (task["worker_id"] is not None), task
        open_ones = {name for name in task["dependencies"] if self.status(task["plan_id"], name) not in SATISFYING}
        if task["status"] == "PENDING":
            assert (task["state"] == "waiting") == bool(open_ones), (task, open_ones)
            assert task["waiting_on"] == len(open_ones), (task, open_ones)
        elif task["status"] in HELD:
            holder, version = self.held_by[task["work"]]
            assert task["worker_id"] == holder, f"{holder} was handed it last: {task}"
            assert task["version"] >= version
            assert not open_ones, f"held before what it depends on was done: {task}"

    def status(self, plan: str, task_id: str) -> str:
        """How a task was seen last."""
        status: str = self.tasks[plan, task_id]["status"]
        return status

    # --- hand-overs

    def claimable(self, plan: str) -> list[str]:
        """The tasks that a claim may bring, the first one first."""
        if plan not in self.plans or self.plans[plan]["paused"]:
            return []
        ready = [task for (of, _), task in self.tasks.items() if of == plan and task["state"] == "ready"]
        return [task["id"] for task in sorted(ready, key=lambda task: PRIORITIES.index(task["priority"]))]

    def hand_over(self, worker_id: str, task: Task) -> None:
        """A worker was handed a task, which the hall has to show so from now on."""
        name = (worker_id, task["id"], task["version"])
        assert name not in self.handed, f"{name} was handed over before"
        assert task["status"] == "CLAIMED"
        shown = fine(self.client.call("GET", f"/admin/work?plan={part(task['plan_id'])}&task={part(task['id'])}"))[
            "work"
        ]
        assert (shown["worker_id"], shown["version"]) == (worker_id, task["version"])
        self.handed[name] = (task["plan_id"], shown["work"])
        self.held_by[shown["work"]] = (worker_id, task["version"])

    # --- settles

    def meant(self, worker_id: str, task_id: str, version: int, plan: str | None) -> Task | str | None:
        """The task that a settle is about; "ambiguous", or None if there is none."""
        recorded = self.handed.get((worker_id, task_id, version))
        if recorded is not None and plan in (None, recorded[0]):
            return next((task for task in self.tasks.values() if task["work"] == recorded[1]), None)
        if plan is not None:
            return self.tasks.get((plan, task_id))
        found = [task for (_, name), task in self.tasks.items() if name == task_id]
        found = [task for task in found if task["worker_id"] == worker_id] or found
        return "ambiguous" if len(found) > 1 else found[0] if found else None

    def accepts(self, task: Task, worker_id: str, version: int, *, shared: bool) -> bool:
        """Whether this worker's answer under this version is to be accepted."""
        return (
            task["status"] in HELD
            and (shared or task["worker_id"] == worker_id)
            and version in (task["version"], self.held_by[task["work"]][1])
        )


def _compare(before: Task, after: Task, *, may_reopen: bool) -> None:
    assert after["version"] >= before["version"], f"a version fell: {before} {after}"
    if after["status"] != before["status"] or after["worker_id"] != before["worker_id"]:
        assert after["version"] > before["version"], f"it moved without a new version: {before} {after}"
    if before["status"] in SETTLED and not may_reopen:
        assert after["status"] == before["status"], f"a finished task did not stay so: {before} {after}"
