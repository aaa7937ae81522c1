"""A plan: its tasks, their dependencies, and the order in which these can be done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hiringhall.domain.lifecycle import State
from hiringhall.domain.retry import DEFAULT_POLICY, Policy

PRIORITIES: Final[dict[str, int]] = {"critical": 0, "high": 1, "medium": 2, "low": 3}
PRIORITY_NAMES: Final[tuple[str, ...]] = tuple(PRIORITIES)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of a plan file, defaults filled in."""

    task_id: str
    dependencies: tuple[str, ...]
    priority: int
    detail: str  # the members of the wire's task that never change, as the inside of a JSON object
    policy: Policy = DEFAULT_POLICY  # the plan's, overridden by the task's own members
    state: State | None = None  # done, skipped or failed as the file says; None: pending


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan file that has been read without complaint, but for what only the store can know."""

    plan_id: str
    name: str
    tasks: tuple[TaskSpec, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a plan file: where, and why."""

    field: str
    reason: str


def unknown_dependency(field: str, name: str) -> Problem:
    """The complaint about a dependency that is neither in the file nor stored."""
    return Problem(field, f"there is no task {name!r} in the file or in the stored plan")


def topological_order(dependencies: Mapping[str, Iterable[str]]) -> tuple[list[str], list[str]]:
    """Order tasks so that each comes after those it depends on; ties keep the order given.

    `dependencies` maps each task to what it depends on; names that are not keys are left out. Returns the order and, if
    there is a cycle, one cycle as a path whose last task is its first; such tasks are missing from the order.
    """
    open_counts = {
        task: sum(1 for other in set(needs) if other in dependencies) for task, needs in dependencies.items()
    }
    dependents: dict[str, list[str]] = defaultdict(list)
    for task, needs in dependencies.items():
        for other in dict.fromkeys(needs):
            if other in dependencies:
                dependents[other].append(task)
    order = [task for task, count in open_counts.items() if count == 0]
    for task in order:  # grows while it is walked
        for dependent in dependents[task]:
            open_counts[dependent] -= 1
            if open_counts[dependent] == 0:
                order.append(dependent)
    return order, _cycle_among({task for task, count in open_counts.items() if count > 0}, dependencies)


def _cycle_among(stuck: set[str], dependencies: Mapping[str, Iterable[str]]) -> list[str]:
    if not stuck:
        return []
    places: dict[str, int] = {}
    task = min(stuck)
    while task not in places:
        places[task] = len(places)
        task = next(other for other in dependencies[task] if other in stuck)
    return [*list(places)[places[task] :], task]
