"""The worker programs of the published wheels, unmodified, work off plans of this hall."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from tests.acceptance.agent import EXIT_3, SLOW, noting
from tests.acceptance.conftest import OpenWorkplace
from tests.acceptance.workplace import SECONDS, Workplace
from tests.waiting import until

LONGEST_RESTART_SECONDS = 5.0

NEEDS: dict[str, list[str]] = {
    "last": ["left", "right", "low-1"], "left": ["top"], "right": ["top"], "top": [],
    "low-1": [], "low-2": [], "low-3": [], "high-1": [], "high-2": [], "high-3": [], "after-high": ["high-3"],
    "T-10": [], "T-2": [],
}  # fmt: skip
PRIORITIES = {
    "critical": ("last", "right", "after-high"), "high": ("high-1", "high-2", "high-3"),
    "medium": ("top", "T-10", "T-2"), "low": ("left", "low-1", "low-2", "low-3"),
}  # fmt: skip
PRIORITY_OF = {task: priority for priority, tasks in PRIORITIES.items() for task in tasks}
DIAMONDS: list[dict[str, Any]] = [
    {"id": task, "priority": PRIORITY_OF[task], "dependencies": needs, "description": noting(task)}
    for task, needs in NEEDS.items()
]


def moves(history: list[dict[str, Any]]) -> list[str]:
    """What happened to a task, in order, what made it ready left out."""
    return [line["move"] for line in history if line["move"] != "unblock"]


def test_one_task(workplace: Workplace) -> None:
    """`--once` with an agent that keeps its promise: exit 0 and DONE; with one that exits 3: FAILED, and why."""
    workplace.apply("one", "T-001")
    worker = workplace.worker("one", "--once")
    assert worker.wait() == 0, worker.said
    assert workplace.statuses("one") == {"T-001": "DONE"}
    history = workplace.history("one", "T-001")
    assert moves(history) == ["submit", "hold", "complete"]
    assert [line["version"] for line in history] == [1, 2, 3]
    assert "Traceback" not in worker.said

    workplace.apply("two", "T-001")
    worker = workplace.worker("two", "--once", agent=EXIT_3)
    assert worker.wait() == 0, worker.said
    assert workplace.statuses("two") == {"T-001": "FAILED"}
    last = workplace.history("two", "T-001")[-1]
    assert last["move"] == "fail"
    assert last["reason"].startswith("exit_code=3")


def test_the_order_of_tasks(workplace: Workplace) -> None:
    """One worker gets the ready tasks by priority, then in the order of the plan, and none before its dependencies."""
    workplace.apply("plan", *DIAMONDS)
    worker = workplace.worker("plan", "--max-iterations", str(len(DIAMONDS)))
    assert worker.wait() == 0, worker.said
    assert [note.removeprefix("begin ") for note in workplace.agent.notes if note.startswith("begin")] == [
        "high-1", "high-2", "high-3", "after-high", "top", "right", "T-10", "T-2", "left", "low-1", "last",
        "low-2", "low-3",
    ]  # fmt: skip


def test_three_workers_drain_a_plan(workplace: Workplace) -> None:
    """Every task is done once, none is begun before its dependencies are done, and SIGTERM ends the parked workers."""
    workplace.apply("plan")
    workers = [workplace.worker("plan", worker_id=f"w-{number}") for number in range(3)]
    workplace.until_parked(3)
    workplace.apply("plan", *DIAMONDS)
    workplace.until_all_are("DONE", "plan")

    notes = workplace.agent.notes
    assert sorted(notes) == sorted(f"{when} {task['id']}" for task in DIAMONDS for when in ("begin", "end"))
    for task in DIAMONDS:
        for needed in task["dependencies"]:
            assert notes.index(f"end {needed}") < notes.index(f"begin {task['id']}")
    histories = [workplace.history("plan", task["id"]) for task in DIAMONDS]
    assert {tuple(moves(history)) for history in histories} == {("submit", "hold", "complete")}
    assert {history[-1]["worker_id"] for history in histories} == {"w-0", "w-1", "w-2"}

    for worker in workers:
        worker.signal(signal.SIGTERM)
    assert [worker.wait() for worker in workers] == [0, 0, 0], [worker.said for worker in workers]


def test_sigterm_gives_the_task_back(workplace: Workplace) -> None:
    """SIGTERM while the agent runs: exit 0, the task is PENDING with the reason "shutdown", and another finishes it."""
    workplace.apply("plan", "T-001")
    worker = workplace.worker("plan", agent=SLOW)
    until(lambda: workplace.agent.notes, within_seconds=SECONDS, waiting_for=f"the agent of:\n{worker.said}")
    assert workplace.statuses("plan") == {"T-001": "CLAIMED"}
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0, worker.said
    assert workplace.statuses("plan") == {"T-001": "PENDING"}
    released = workplace.history("plan", "T-001")[-1]
    assert (released["move"], released["reason"]) == ("release", "shutdown")

    other = workplace.worker("plan", "--once")
    assert other.wait() == 0, other.said
    assert workplace.statuses("plan") == {"T-001": "DONE"}


def test_a_killed_worker_loses_its_task_to_another(open_workplace: OpenWorkplace) -> None:
    """After kill -9 the hall hears no heartbeat, and once the worker counts as offline another finishes its task."""
    workplace = open_workplace(HALL_CLAIM_HOLD=3, HALL_HEARTBEAT_DELAY=1, HALL_VISIBILITY_TIMEOUT=10)
    workplace.apply("plan", "T-001")
    worker = workplace.worker("plan", "--heartbeat-interval", "0.5", agent=SLOW, worker_id="w-killed")
    until(lambda: workplace.agent.notes, within_seconds=SECONDS, waiting_for=f"the agent of:\n{worker.said}")
    other = workplace.worker("plan", "--once", "--heartbeat-interval", "0.5", worker_id="w-other")
    workplace.until_heard("w-killed")
    workplace.until_parked(1)
    worker.signal(signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL
    assert other.wait() == 0, other.said
    assert workplace.statuses("plan") == {"T-001": "DONE"}
    history = workplace.history("plan", "T-001")
    assert moves(history) == ["submit", "hold", "release", "hold", "complete"]
    assert history[2]["cause"] == "worker_offline"
    assert [line["worker_id"] for line in history if line["move"] == "hold"] == ["w-killed", "w-other"]


def test_parked_workers_survive_a_restart(open_workplace: OpenWorkplace) -> None:
    """SIGTERM to the hall and a start within five seconds: every parked worker lives on and does the next task."""
    workplace = open_workplace(HALL_CLAIM_HOLD=30)
    workplace.apply("plan")
    workers = [workplace.worker("plan", "--heartbeat-interval", "0.5", worker_id=f"w-{number}") for number in range(3)]
    workplace.until_parked(3)
    began = time.monotonic()
    workplace.hall.restart()
    assert time.monotonic() - began < LONGEST_RESTART_SECONDS
    workplace.until_parked(3)
    workplace.apply("plan", "T-1", "T-2", "T-3")
    workplace.until_all_are("DONE", "plan")
    assert {workplace.history("plan", f"T-{number}")[-1]["worker_id"] for number in (1, 2, 3)} == {"w-0", "w-1", "w-2"}
    assert all(worker.running for worker in workers), [worker.said for worker in workers]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_worker_with_a_wrong_token_ends(workplace: Workplace) -> None:
    """A token that nobody gave out ends the worker with its own message about the token, and no task moves."""
    workplace.apply("plan", "T-001")
    worker = workplace.worker("plan", "--once", token="wrong")
    assert worker.wait() == 1
    assert "AuthError" in worker.said
    assert moves(workplace.history("plan", "T-001")) == ["submit"]
