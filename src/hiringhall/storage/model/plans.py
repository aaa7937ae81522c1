"""Storing plan files, pausing and removing plans."""

from __future__ import annotations

from collections.abc import Sequence

from hiringhall.domain import work
from hiringhall.domain.lifecycle import SATISFIED, Move, State, sources
from hiringhall.domain.plan import PlanFile, Problem, TaskSpec, topological_order, unknown_dependency
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import Applied, Apply, DeletePlan, PausePlan
from hiringhall.ports.questions import HistoryLine
from hiringhall.storage.model.hall import Hall, Plan, Task


def apply(hall: Hall, ask: Apply) -> Applied | Refused:
    """Store a plan file, all or nothing."""
    file = ask.file
    plan = hall.plans.get(file.plan_id)
    stored = {} if plan is None else dict(plan.tasks)
    in_file = {spec.task_id: spec for spec in file.tasks}
    pending = sources(Move.REVISE)
    lacking = [name for name, task in stored.items() if name not in in_file and task.unit.state in pending]
    pruned = lacking if ask.prune else []
    changed = [spec for spec in file.tasks if spec.task_id in stored and stored[spec.task_id].spec_changed(spec)]
    refused = _complaint(hall, file, stored, changed) or _still_needed(hall, file, stored, pruned)
    if refused is not None:
        return refused
    fresh = [spec for spec in file.tasks if spec.task_id not in stored]
    created, renamed = plan is None, plan is not None and plan.name != file.name
    if plan is None:
        plan = hall.plans[file.plan_id] = Plan(file.plan_id, file.name, hall.next_lane, hall.now)
        hall.next_lane += 1
    elif fresh or changed or pruned or renamed:
        plan.name, plan.applied_at, plan.finished_at = file.name, hall.now, None
    if created or fresh or changed or pruned or renamed:
        plan.traceparent = ask.traceparent
    base = _first_seq(stored, in_file)
    positions = {spec.task_id: base + place for place, spec in enumerate(file.tasks)}
    _insert(hall, plan, fresh, positions)
    for spec in changed:
        _revise(hall, plan, spec, positions[spec.task_id])
    for name in pruned:
        hall.remove_task(stored[name])
        hall.part_hand_overs(stored[name].unit.id)
    unchanged = len(file.tasks) - len(fresh) - len(changed)
    return Applied(file.plan_id, len(fresh), len(changed), unchanged, len(pruned), created)


def _complaint(hall: Hall, file: PlanFile, stored: dict[str, Task], changed: Sequence[TaskSpec]) -> Refused | None:
    graph = {name: _dependencies(hall, task) for name, task in stored.items()}
    graph.update({spec.task_id: list(spec.dependencies) for spec in file.tasks})
    problems = [
        unknown_dependency(f"tasks[{place}].dependencies", name)
        for place, spec in enumerate(file.tasks)
        for name in spec.dependencies
        if name not in graph
    ]
    _, cycle = topological_order(graph)
    if cycle:
        problems.append(Problem("tasks", "dependencies form a cycle with stored tasks: " + " -> ".join(cycle)))
    if problems:
        return Refused("validation_error", "; ".join(f"{problem.field}: {problem.reason}" for problem in problems))
    pending = sources(Move.REVISE)
    touched = [spec.task_id for spec in changed if stored[spec.task_id].unit.state not in pending]
    if touched:
        detail = f"the file would alter tasks that are held or finished: {', '.join(map(repr, touched))}"
        return Refused("plan_conflict", detail, extra={"tasks": touched})
    return None


def _still_needed(hall: Hall, file: PlanFile, stored: dict[str, Task], pruned: Sequence[str]) -> Refused | None:
    needed = {name for spec in file.tasks for name in spec.dependencies if name in pruned}
    in_file = {spec.task_id for spec in file.tasks}
    for name, task in stored.items():
        if name not in in_file and name not in pruned:
            needed |= set(_dependencies(hall, task)) & set(pruned)
    if not needed:
        return None
    return Refused("plan_conflict", f"remaining tasks depend on tasks that prune would remove: {sorted(needed)}")


def _dependencies(hall: Hall, task: Task) -> list[str]:
    numbers = sorted(dependency for dependency, dependent in hall.edges if dependent == task.unit.id)
    return [hall.tasks[number].unit.name for number in numbers]


def _first_seq(stored: dict[str, Task], in_file: dict[str, TaskSpec]) -> int:
    """Tasks that the file adds come after stored ones, unless the file holds those too and so says the order itself."""
    if stored.keys() <= in_file.keys():
        return 0
    return 1 + max(task.unit.seq for task in stored.values())


def _insert(hall: Hall, plan: Plan, fresh: Sequence[TaskSpec], positions: dict[str, int]) -> None:
    specs = {spec.task_id: spec for spec in fresh}
    order, _ = topological_order({spec.task_id: spec.dependencies for spec in fresh})
    for name in order:
        spec = specs[name]
        state, lane_key = spec.state or State.READY, plan_lane(plan.id)
        unit = Unit(hall.next_work, plan.lane, lane_key, name, state, spec.priority, positions[name])
        unit.policy = spec.policy
        hall.next_work += 1
        task = plan.tasks[name] = hall.tasks[unit.id] = Task(unit, spec, hall.now)
        _connect(hall, plan, task)
        task.history.append(HistoryLine(hall.now, unit.version, "submit", unit.state.value))
        hall.ring_lane(unit)


def _revise(hall: Hall, plan: Plan, spec: TaskSpec, seq: int) -> None:
    task = plan.tasks[spec.task_id]
    unit, before = task.unit, task.unit.state
    task.spec = spec
    hall.note(work.revise(unit, spec.priority, seq, spec.policy))
    hall.edges = {edge for edge in hall.edges if edge[1] != unit.id}
    hall.unmet = {edge for edge in hall.unmet if edge[1] != unit.id}
    work.rewire(unit, 0)
    _connect(hall, plan, task)
    if before is not State.READY:
        hall.ring_lane(unit)


def _connect(hall: Hall, plan: Plan, task: Task) -> None:
    """Make a task wait for what it depends on, as far as that is not satisfied."""
    needs = [plan.tasks[name].unit for name in dict.fromkeys(task.spec.dependencies)]
    hall.edges |= {(need.id, task.unit.id) for need in needs}
    hall.open_edges((need.id, task.unit.id) for need in needs if need.state not in SATISFIED)


def delete(hall: Hall, ask: DeletePlan) -> bool | Refused:
    """Remove a plan and all its tasks; holders are told to stop."""
    plan = hall.plans.get(ask.plan)
    if plan is None:
        return False
    held = [task.unit for task in plan.tasks.values() if task.unit.state is State.HELD]
    if held and not ask.force:
        names = ", ".join(repr(unit.name) for unit in held)
        return Refused("in_use", f"workers hold tasks of plan {plan.id!r}: {names}")
    for unit in held:
        hall.tell_to_stop(unit, unit.holder)
    remove(hall, plan)
    return True


def remove(hall: Hall, plan: Plan) -> None:
    """Take a plan away; what is left of its tasks goes when the hall forgets."""
    hall.doomed[plan.lane] = list(plan.tasks.values())
    for task in hall.doomed[plan.lane]:
        hall.remove_task(task)
    del hall.plans[plan.id]


def pause(hall: Hall, ask: PausePlan) -> bool:
    """Stop or go on handing out the tasks of a plan; whoever waits for it is woken when it goes on."""
    plan = hall.plans.get(ask.plan)
    if plan is None:
        return False
    ready = sum(task.unit.state is State.READY for task in plan.tasks.values())
    if not ask.paused and ready:
        hall.rings[topic_of_plan(plan.id)] += ready
    plan.paused = ask.paused
    return True
