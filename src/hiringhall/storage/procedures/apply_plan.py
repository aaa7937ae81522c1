"""Store a plan file: compare it with what is stored, refuse what would alter work in hand, and write the difference."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.lifecycle import SATISFIED, Move, State, sources
from hiringhall.domain.plan import PlanFile, Problem, TaskSpec, topological_order, unknown_dependency
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.ports.asks import Applied, Apply
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.new_tasks import Known, allocate, digest_of, insert, lay_out
from hiringhall.storage.procedures.units import Changes, lock_units, text_of
from hiringhall.storage.procedures.writing import write, write_tally

NAMES_SHOWN_MAX = 50


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored of a plan. Its tasks are counted up to one more than the file has."""

    lane: int
    name: str
    tasks: int
    last_seq: int


def refusal(problems: Sequence[Problem]) -> Refused:
    """One refusal that lists every problem."""
    text = "; ".join(f"{problem.field}: {problem.reason}" for problem in problems[:NAMES_SHOWN_MAX])
    return Refused(
        "validation_error", text, extra={"problems": [{"field": p.field, "reason": p.reason} for p in problems]}
    )


def apply_plan(context: Context, asks: Sequence[Apply]) -> Procedure:
    """Store each file, all or nothing."""
    outcomes = []
    for ask in asks:
        outcome = yield from _apply(context, ask)
        outcomes.append(outcome)
    return outcomes


def _apply(context: Context, ask: Apply) -> Generator[Step, list[Row], Applied | Refused]:
    file = ask.file
    existing, known = yield from _stored(file)
    fresh = [spec for spec in file.tasks if spec.task_id not in known]
    changed = [spec for spec in file.tasks if spec.task_id in known and known[spec.task_id].digest != digest_of(spec)]
    problems = _unknown_dependencies(file, known) or (yield from _cycles(file, known, changed))
    if problems:
        return refusal(problems)
    units = yield from lock_units(known[spec.task_id].work for spec in changed)
    pruned = (yield from _prunable(file)) if ask.prune and existing else []
    refused = _touches_work_in_hand(units) or (yield from _still_needed(file, pruned))
    if refused:
        return refused
    lane = existing.lane if existing else (yield Fetch("insert_lane", {"key": plan_lane(file.plan_id)}))[0][0]
    numbers = (yield from allocate(len(fresh))) if fresh else ()
    renamed = not existing or json.loads(existing.name) != file.name
    if fresh or changed or pruned or renamed:
        row = {"plan": file.plan_id, "name": json.dumps(file.name), "lane": lane, "now": context.now}
        yield Many("upsert_plan", [{**row, "traceparent": ask.traceparent}])
    base = _first_seq(existing, len(file.tasks) - len(fresh)) if existing else 0
    positions = {spec.task_id: base + place for place, spec in enumerate(file.tasks)}
    if fresh:
        layout = lay_out(lane, fresh, numbers, known, positions, context.now)
        yield from insert(layout)
        yield from write_tally(layout.tally)
        if layout.ready:
            context.ring(topic_of_plan(file.plan_id), layout.ready)
    yield from _revise(context, changed, units, known, positions)
    if pruned:
        yield from _prune(context, [row[0] for row in pruned])
    unchanged = len(file.tasks) - len(fresh) - len(changed)
    return Applied(file.plan_id, len(fresh), len(changed), unchanged, len(pruned), not existing)


def seeing(file: PlanFile) -> Fetch:
    """The question what is stored of a plan and of the tasks that its file names."""
    names = {name for spec in file.tasks for name in (spec.task_id, *spec.dependencies)}
    return Fetch(
        "see_plan", {"key": plan_lane(file.plan_id), "names": sorted(names), "counted_max": len(file.tasks) + 1}
    )


def _stored(file: PlanFile) -> Generator[Step, list[Row], tuple[Stored | None, dict[str, Known]]]:
    """Let no other file of the plan in until the transaction ends, and see what is stored of what this one names."""
    rows = (yield Fetch("lock_lane", {"key": plan_lane(file.plan_id)})) and (yield seeing(file))
    if not rows:
        return None, {}
    lane, name, tasks, last_seq = rows[0][:4]
    known = {row[4]: Known(row[5], State(row[6]), row[7]) for row in rows if row[4] is not None}
    return Stored(lane, name, tasks, last_seq), known


def _unknown_dependencies(file: PlanFile, known: dict[str, Known]) -> list[Problem]:
    ids = {spec.task_id for spec in file.tasks}
    return [
        unknown_dependency(f"tasks[{place}].dependencies", name)
        for place, spec in enumerate(file.tasks)
        for name in spec.dependencies
        if name not in ids and name not in known
    ]


def _cycles(
    file: PlanFile, known: dict[str, Known], changed: Sequence[TaskSpec]
) -> Generator[Step, list[Row], list[Problem]]:
    """Cycles through stored tasks, which only a stored task with new dependencies can close."""
    in_file = {spec.task_id for spec in file.tasks}
    outside = sorted({known[name].work for spec in file.tasks for name in spec.dependencies if name not in in_file})
    if not changed or not outside:
        return []
    graph: dict[str, list[str]] = {}
    rows = yield Fetch("find_ancestors", {"ids": outside})
    for dependent, dependency in rows:
        graph.setdefault(dependent, []).append(dependency)
    graph.update({spec.task_id: list(spec.dependencies) for spec in file.tasks})
    for name in {name for needs in graph.values() for name in needs}:
        graph.setdefault(name, [])
    _, cycle = topological_order(graph)
    if not cycle:
        return []
    return [Problem("tasks", "dependencies form a cycle with stored tasks: " + " -> ".join(map(repr, cycle)))]


def _prunable(file: PlanFile) -> Generator[Step, list[Row], list[Row]]:
    """The PENDING tasks that the file lacks: (work, task id)."""
    rows = yield Fetch("find_pending_tasks", {"plan": file.plan_id})
    in_file = {spec.task_id for spec in file.tasks}
    return [row for row in rows if row[1] not in in_file]


def _touches_work_in_hand(units: dict[int, work.Unit]) -> Refused | None:
    pending = sources(Move.REVISE)
    touched = [unit for unit in units.values() if unit.state not in pending]
    if not touched:
        return None
    names = [f"{unit.name!r} ({unit.state})" for unit in touched]
    detail = "the file would alter tasks that are held or finished: " + ", ".join(names[:NAMES_SHOWN_MAX])
    return Refused("plan_conflict", detail, extra={"tasks": [unit.name for unit in touched]})


def _still_needed(file: PlanFile, pruned: Sequence[Row]) -> Generator[Step, list[Row], Refused | None]:
    """Whether a task that would be pruned is one on which a remaining task depends."""
    gone = {row[1] for row in pruned}
    needed = {name for spec in file.tasks for name in spec.dependencies if name in gone}
    if pruned:
        in_file = {spec.task_id for spec in file.tasks}
        rows = yield Fetch("find_needed", {"ids": [row[0] for row in pruned]})
        needed |= {name for name, dependent in rows if dependent not in gone and dependent not in in_file}
    if not needed:
        return None
    names = ", ".join(repr(name) for name in sorted(needed)[:NAMES_SHOWN_MAX])
    return Refused("plan_conflict", f"remaining tasks depend on tasks that prune would remove: {names}")


def _first_seq(stored: Stored, named: int) -> int:
    """Tasks that the file adds come after stored ones, unless the file holds those too and so says the order itself."""
    return 0 if stored.tasks == named else stored.last_seq + 1


def _revise(
    context: Context,
    changed: Sequence[TaskSpec],
    units: dict[int, work.Unit],
    known: dict[str, Known],
    positions: dict[str, int],
) -> Generator[Step, list[Row], None]:
    if not changed:
        return
    changes = Changes()
    tasks, edges, unmet = [], [], []
    for spec in changed:
        unit = units[known[spec.task_id].work]
        before = unit.counted_as
        event = work.revise(unit, spec.priority, positions[spec.task_id], spec.policy)
        needs = [known[other] for other in dict.fromkeys(spec.dependencies)]
        open_needs = [other for other in needs if other.state not in SATISFIED]
        work.rewire(unit, len(open_needs))
        changes.note(before, unit, event)
        tasks.append(
            {
                "work": unit.id,
                "policy": text_of(spec.policy),
                "detail": spec.detail,
                "digest": digest_of(spec),
                "seq": unit.seq,
            }
        )
        edges += [{"dependency": other.work, "dependent": unit.id} for other in needs]
        unmet += [{"dependency": other.work, "dependent": unit.id} for other in open_needs]
    yield Many("update_task", tasks)
    ids: list[dict[str, Any]] = [{"dependent": row["work"]} for row in tasks]
    yield Many("delete_edges_of", ids)
    yield Many("delete_unmet_of", ids)
    if edges:
        yield Many("insert_edge", edges)
    if unmet:
        yield Many("insert_unmet", unmet)
    yield from write(context, changes)


def _prune(context: Context, ids: Sequence[int]) -> Generator[Step, list[Row], None]:
    counts = yield Fetch("count_states", {"ids": sorted(ids)})
    yield from delete_tasks(context, ids)
    yield from write_tally({(lane, state): -n for lane, state, n in counts})


def delete_tasks(context: Context, ids: Sequence[int]) -> Generator[Step, list[Row], None]:
    """Delete tasks and what belongs to them, but for the counts of their lane.

    Their hand-over records stay for a while, so that late answers are understood.
    """
    rows = [{"work": id_} for id_ in sorted(ids)]
    for statement in (
        "delete_edges_at",
        "delete_unmet_at",
        "delete_answers",
        "delete_events",
        "delete_task",
        "delete_work",
    ):
        yield Many(statement, rows)
    yield Many("part_hand_overs", [{**row, "now": context.now} for row in rows])
