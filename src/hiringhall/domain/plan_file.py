"""Reads a plan file: a decoded JSON object becomes a `PlanFile`, or the list of everything that is wrong with it.

Dependencies that the file does not contain may be stored already, so only the store can complain about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from hiringhall.domain import plan_members
from hiringhall.domain.dependency_cycles import cycles
from hiringhall.domain.lifecycle import State
from hiringhall.domain.names import complaint_about
from hiringhall.domain.plan import PRIORITIES, PlanFile, Problem, TaskSpec, topological_order
from hiringhall.domain.plan_members import POLICY_MEMBERS, Findings
from hiringhall.domain.retry import Policy

TASKS_MAX: Final = 50_000
DEFAULT_PRIORITY: Final = "medium"
CYCLE_TASKS_SHOWN: Final = 20

PLAN_MEMBERS: Final = frozenset({"plan_id", "id", "name", "project", "tasks"}) | POLICY_MEMBERS
TASK_MEMBERS: Final = POLICY_MEMBERS | {
    "id", "status", "priority", "description", "dependencies", "key_files", "acceptance_criteria", "test_steps",
    "prd_requirement",
}  # fmt: skip
STATES: Final[dict[str, State | None]] = {
    "pending": None,
    "done": State.DONE,
    "skipped": State.SKIPPED,
    "failed": State.FAILED,
}


@dataclass(frozen=True, slots=True)
class PlanReading:
    """What a plan file says, or (`file` is None) everything that is wrong with it; and what was left out of it."""

    file: PlanFile | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    outside: tuple[tuple[str, str], ...] = ()
    """Dependencies that the file lacks, each after its field; only the store knows whether they are wrong."""


class Detail(msgspec.Struct):
    """The members of the wire's task that never change, in the order in which they are sent."""

    description: str
    dependencies: list[str]
    key_files: list[str]
    acceptance_criteria: list[str]
    test_steps: list[str]
    prd_requirement: str


_encode = msgspec.json.Encoder().encode


def read_plan_file(document: object, plan_id: str | None = None) -> PlanReading:
    """Read a decoded JSON value. `plan_id` is the id under which it is to be stored, if that is known already.

    The same document always gives the same file, letter for letter.
    """
    findings = Findings()
    if not isinstance(document, dict):
        findings.problem("body", "must be a JSON object with plan_id and tasks")
        return PlanReading(None, tuple(findings.problems))
    findings.unknown_members(document.keys() - PLAN_MEMBERS, PLAN_MEMBERS, "", "")
    identity = _plan_id(document, plan_id, findings)
    name = _name(document, findings) or identity or ""
    tasks = _tasks(document, plan_members.policy(document, Policy(), "", findings), findings)
    if findings.problems or identity is None:
        return PlanReading(None, tuple(findings.problems), findings.warnings(), _outside(tasks))
    return PlanReading(PlanFile(identity, name, tuple(tasks)), (), findings.warnings())


def _plan_id(document: Mapping[str, Any], expected: str | None, findings: Findings) -> str | None:
    given = {member: document[member] for member in ("plan_id", "id") if document.get(member) is not None}
    if not given:
        if expected is None:
            findings.problem("plan_id", "is missing")
        else:
            plan_members.identifier(expected, "plan_id", findings)
        return expected
    found = [plan_members.identifier(value, member, findings) for member, value in given.items()]
    if None not in found:
        if len(set(found)) > 1:
            findings.problem("id", "differs from plan_id; one of them is enough")
        elif expected is not None and found[0] != expected:
            findings.problem(next(iter(given)), "differs from the plan id in the path")
    return found[0]


def _name(document: Mapping[str, Any], findings: Findings) -> str:
    name = plan_members.text(document, "name", "", findings)
    project = plan_members.text(document, "project", "", findings)
    if name and project and name != project:
        findings.left_out("project", "project", "left out, because the plan has a name")
    return name or project


def _tasks(document: Mapping[str, Any], inherited: Policy, findings: Findings) -> list[TaskSpec]:
    listed = document.get("tasks")
    if not isinstance(listed, list):
        reason = "is missing; a plan without tasks says []" if listed is None else "must be a list of objects"
        findings.problem("tasks", reason)
        return []
    if len(listed) > TASKS_MAX:
        findings.problem("tasks", f"must have at most {TASKS_MAX} entries")
        return []
    places: dict[str, int] = {}
    tasks = []
    for index, members in enumerate(listed):
        if type(members) is not dict:
            findings.problem(f"tasks[{index}]", "must be an object")
            continue
        task = _task(members, index, inherited, findings)
        if task is None:
            continue
        first = places.setdefault(task.task_id, index)
        if first != index:
            findings.problem(f"tasks[{index}].id", f"{task.task_id!r} is the id of tasks[{first}] already")
        tasks.append(task)
    _check_dependencies(tasks, places, findings)
    return tasks


def _task(members: dict[str, Any], index: int, inherited: Policy, findings: Findings) -> TaskSpec | None:
    where = f"tasks[{index}]."
    unknown = members.keys() - TASK_MEMBERS
    if unknown:
        findings.unknown_members(unknown, TASK_MEMBERS, where, "tasks.")
    task_id = plan_members.identifier(members.get("id"), where + "id", findings)
    dependencies = _dependencies(members, task_id, where, findings)
    priority = members.get("priority")
    if priority is None:
        priority = DEFAULT_PRIORITY
    elif type(priority) is not str or priority not in PRIORITIES:
        findings.problem(where + "priority", "must be one of " + ", ".join(PRIORITIES))
        priority = DEFAULT_PRIORITY
    state = _state(members.get("status"), where + "status", findings)
    policy = plan_members.policy(members, inherited, where, findings)
    detail = Detail(
        description=plan_members.text(members, "description", where, findings),
        dependencies=dependencies,
        key_files=plan_members.texts(members, "key_files", where, findings),
        acceptance_criteria=plan_members.texts(members, "acceptance_criteria", where, findings),
        test_steps=plan_members.texts(members, "test_steps", where, findings),
        prd_requirement=plan_members.text(members, "prd_requirement", where, findings),
    )
    if task_id is None:
        return None
    return TaskSpec(task_id, tuple(dependencies), PRIORITIES[priority], _encode(detail)[1:-1].decode(), policy, state)


def _dependencies(members: Mapping[str, Any], task_id: str | None, where: str, findings: Findings) -> list[str]:
    """Without repetitions, in the order given."""
    if not members.get("dependencies"):
        if members.get("dependencies") not in (None, []):
            findings.problem(where + "dependencies", "must be a list of texts")
        return []
    listed = plan_members.texts(members, "dependencies", where, findings)
    if task_id in listed:
        findings.problem(f"{where}dependencies[{listed.index(task_id)}]", "a task cannot depend on itself")
        listed = [other for other in listed if other != task_id]
    return listed if len(listed) == 1 else list(dict.fromkeys(listed))


def _outside(tasks: list[TaskSpec]) -> tuple[tuple[str, str], ...]:
    inside = {task.task_id for task in tasks}
    return tuple(
        (f"tasks[{place}].dependencies", name)
        for place, task in enumerate(tasks)
        for name in task.dependencies
        if name not in inside and complaint_about(name) is None
    )


def _state(value: object, field: str, findings: Findings) -> State | None:
    if value is None:
        return None
    if not isinstance(value, str):
        findings.problem(field, "must be a text")
        return None
    name = value.lower()
    if name not in STATES:
        findings.left_out(field, "tasks.status", "only pending, done, skipped, failed are kept: it is pending")
        return None
    return STATES[name]


def _check_dependencies(tasks: list[TaskSpec], places: Mapping[str, int], findings: Findings) -> None:
    for task in tasks:
        for index, dependency in enumerate(task.dependencies):
            complaint = None if dependency in places else complaint_about(dependency)
            if complaint is not None:
                findings.problem(f"tasks[{places[task.task_id]}].dependencies[{index}]", complaint)
    dependencies = {task.task_id: task.dependencies for task in tasks}
    if not topological_order(dependencies)[1]:
        return
    for cycle in cycles(dependencies):
        shown = cycle if len(cycle) <= CYCLE_TASKS_SHOWN else [*cycle[: CYCLE_TASKS_SHOWN - 1], "…", cycle[-1]]
        findings.problem(f"tasks[{places[cycle[0]]}].dependencies", "tasks depend on each other: " + " → ".join(shown))
