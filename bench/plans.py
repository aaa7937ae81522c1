"""Plan files of the shapes that the scenarios work off: flat, chains, fan-in."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator

FILE_TASKS = 50_000
CHAIN_TASKS = 10
FAN_IN_WIDTH = 10
SHAPES = ("flat", "chains", "fan-in")

run_token = secrets.token_hex(3)
plan_numbers = itertools.count(1)


def fresh_name(purpose: str) -> str:
    """A plan id that no earlier run has used at a server that goes on living."""
    return f"{purpose}-{run_token}-{next(plan_numbers)}"


def dependencies_of(shape: str, index: int, name: str) -> list[str]:
    """What a task waits for: nothing; the one before it in its chain of ten; or, every 11th, the ten before it."""
    if shape == "flat":
        return []
    if shape == "chains":
        return [] if index % CHAIN_TASKS == 0 else [f"{name}-{index - 1}"]
    if shape == "fan-in":
        width = FAN_IN_WIDTH
        return [f"{name}-{index - back}" for back in range(width, 0, -1)] if index % (width + 1) == width else []
    raise ValueError(f"{shape!r} is no shape: one of {', '.join(SHAPES)}")


def ready_of(shape: str, tasks: int) -> int:
    """How many of `tasks` can be claimed at once when nothing is done yet."""
    if shape == "flat":
        return tasks
    if shape == "chains":
        return -(-tasks // CHAIN_TASKS)
    return tasks - tasks // (FAN_IN_WIDTH + 1)


def task_of(shape: str, index: int, name: str) -> dict[str, object]:
    """One task with all the members of the protocol's example, so that the bodies have a real size."""
    return {
        "id": f"{name}-{index}",
        "status": "pending",
        "priority": "medium",
        "description": "Load test task: reads one file, changes one function, runs one test.",
        "dependencies": dependencies_of(shape, index, name),
        "key_files": ["bench/example.py"],
        "acceptance_criteria": ["the entry point runs"],
        "test_steps": ["pytest -q"],
        "prd_requirement": "Day 4 deliverable",
    }


def plan_file(name: str, shape: str, first: int, count: int) -> bytes:
    """A plan file with the tasks `first` to `first + count`; readable by the other implementations' importers too."""
    tasks = [task_of(shape, index, name) for index in range(first, first + count)]
    return json.dumps({"plan_id": name, "project": name, "tasks": tasks}, separators=(",", ":")).encode()


def plan_files(name: str, shape: str, tasks: int, most: int = FILE_TASKS) -> Iterator[bytes]:
    """The plan in files of at most `most` tasks, each adding to the ones before."""
    for first in range(0, tasks, most):
        yield plan_file(name, shape, first, min(most, tasks - first))
