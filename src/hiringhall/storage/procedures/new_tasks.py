"""The rows of new tasks: numbered in topological order, with their edges, and whether they are ready."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from hiringhall.domain.lifecycle import SATISFIED, State
from hiringhall.domain.plan import TaskSpec, topological_order
from hiringhall.domain.retry import DEFAULT_POLICY
from hiringhall.storage.procedure import Fetch, Many, Row, Step
from hiringhall.storage.procedures.units import text_of


@dataclass(slots=True)
class Known:
    """A task that is stored, or about to be."""

    work: int
    state: State
    digest: str


@dataclass(slots=True)
class Layout:
    """Rows to be inserted. `edges` and `unmet` of a task come with it, so that any slice of tasks is whole."""

    works: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    edges: list[list[dict[str, int]]] = field(default_factory=list)
    unmet: list[list[dict[str, int]]] = field(default_factory=list)
    tally: Counter[tuple[int, str]] = field(default_factory=Counter)
    ready: int = 0


def digest_of(spec: TaskSpec) -> str:
    """What a task's contents are recognised by when the same file comes again."""
    return _digest(spec, text_of(spec.policy))


def _digest(spec: TaskSpec, policy: str) -> str:
    text = f"{spec.priority}\n{policy}\n{spec.detail}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def allocate(count: int) -> Generator[Step, list[Row], Sequence[int]]:
    """Numbers for new units, ascending. The database answers with one row each, or with the first of a block."""
    rows = yield Fetch("allocate_work", {"n": count})
    if len(rows) == count:
        return sorted(row[0] for row in rows)
    return range(rows[0][0], rows[0][0] + count)


def lay_out(
    lane: int,
    fresh: Sequence[TaskSpec],
    numbers: Sequence[int],
    known: dict[str, Known],
    positions: Mapping[str, int],
    now: int,
) -> Layout:
    """The rows of new tasks. `known` has the stored tasks on which they depend, and receives the new ones."""
    specs = {spec.task_id: spec for spec in fresh}
    order, _ = topological_order({spec.task_id: spec.dependencies for spec in fresh})
    layout = Layout()
    policy, policy_text = DEFAULT_POLICY, text_of(DEFAULT_POLICY)
    for name, number in zip(order, numbers, strict=True):
        spec = specs[name]
        needs = [known[other] for other in dict.fromkeys(spec.dependencies)]
        unmet = [{"dependency": other.work, "dependent": number} for other in needs if other.state not in SATISFIED]
        state = spec.state or (State.WAITING if unmet else State.READY)
        if spec.policy is not policy:  # tasks that say nothing themselves share that of their plan
            policy, policy_text = spec.policy, text_of(spec.policy)
        digest = _digest(spec, policy_text)
        known[name] = Known(number, spec.state or State.WAITING, digest)
        layout.ready += state is State.READY
        layout.tally[lane, state] += 1
        layout.edges.append([{"dependency": other.work, "dependent": number} for other in needs])
        layout.unmet.append(unmet)
        place = positions[name]
        layout.works.append(
            {
                "id": number,
                "lane": lane,
                "state": state,
                "priority": spec.priority,
                "seq": place,
                "waiting_on": len(unmet),
            }
        )
        layout.tasks.append(
            {
                "work": number,
                "lane": lane,
                "task_id": name,
                "policy": policy_text,
                "detail": spec.detail,
                "digest": digest,
                "seq": place,
                "made_at": now,
                "made_as": state,
            }
        )
    return layout


def insert(layout: Layout, start: int = 0, end: int | None = None) -> Generator[Step, list[Row], None]:
    """Insert the tasks of a layout from `start` up to `end`, and their edges."""
    yield Many("insert_work", layout.works[start:end])
    yield Many("insert_task", layout.tasks[start:end])
    edges = [row for rows in layout.edges[start:end] for row in rows]
    if edges:
        yield Many("insert_edge", edges)
    unmet = [row for rows in layout.unmet[start:end] for row in rows]
    if unmet:
        yield Many("insert_unmet", unmet)
