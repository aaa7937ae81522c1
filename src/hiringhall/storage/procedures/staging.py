"""A big new plan in several short transactions, so that a database with one writer serves others in between.

The tasks go into a lane that nobody can name. The last transaction gives the lane its name, which makes the whole plan
appear at once; until then, and if that never comes, nothing of it is there for anybody. Lanes left behind by a crash
are doomed when the database is opened.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from hiringhall.domain.plan import PlanFile
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.ports.asks import Applied, Apply
from hiringhall.storage.procedure import Context, Fetch, Many, Row, Step
from hiringhall.storage.procedures.new_tasks import Layout, allocate, insert, lay_out
from hiringhall.storage.procedures.writing import write_tally

STAGED_TASKS_MIN: Final = 1_000
"""A plan with fewer tasks is stored in one transaction."""
PORTION_TASKS: Final = 250


@dataclass(frozen=True, slots=True)
class Stage:
    """A lane without a name, and the numbers of the tasks that go into it."""

    lane: int
    numbers: range | list[int]
    now: int


def worth_staging(ask: Apply) -> bool:
    """Whether the file is big and holds all that its tasks depend on."""
    tasks = ask.file.tasks
    if len(tasks) < STAGED_TASKS_MIN:
        return False
    names = {spec.task_id for spec in tasks}
    return all(other in names for spec in tasks for other in spec.dependencies)


def begin(context: Context, file: PlanFile) -> Generator[Step, list[Row], Stage | None]:
    """Make the lane; None if the plan is there already, which is for the ordinary way to judge."""
    if (yield Fetch("find_plan_lane", {"plan": file.plan_id})):
        return None
    numbers = yield from allocate(len(file.tasks))
    lane = (yield Fetch("insert_lane", {"key": f"staged:{numbers[0]}"}))[0][0]
    return Stage(lane, numbers if isinstance(numbers, range) else list(numbers), context.now)


def rows_of(stage: Stage, file: PlanFile) -> Layout:
    """The rows of all tasks; pure, and long enough to be worked out away from the writer."""
    positions = {spec.task_id: place for place, spec in enumerate(file.tasks)}
    return lay_out(stage.lane, file.tasks, stage.numbers, {}, positions, stage.now)


def add(layout: Layout, start: int) -> Generator[Step, list[Row], None]:
    """Insert the portion of the tasks that begins at `start`."""
    yield from insert(layout, start, start + PORTION_TASKS)


def finish(context: Context, ask: Apply, stage: Stage, layout: Layout) -> Generator[Step, list[Row], Applied | None]:
    """Make the plan appear; None if another one of that id came meanwhile, and what was staged is doomed."""
    file = ask.file
    if (yield Fetch("find_plan_lane", {"plan": file.plan_id})):
        yield from abandon(stage)
        return None
    yield Many("name_lane", [{"lane": stage.lane, "key": plan_lane(file.plan_id)}])
    row = {"plan": file.plan_id, "name": json.dumps(file.name), "lane": stage.lane, "now": context.now}
    yield Many("upsert_plan", [{**row, "traceparent": ask.traceparent}])
    yield from write_tally(layout.tally)
    if layout.ready:
        context.ring(topic_of_plan(file.plan_id), layout.ready)
    return Applied(file.plan_id, len(file.tasks), 0, 0, 0, created=True)


def abandon(stage: Stage) -> Generator[Step, list[Row], None]:
    """What was staged is deleted in portions, like the rows of a deleted plan."""
    yield Many("delete_lane", [{"lane": stage.lane}])
    yield Many("doom_lane", [{"lane": stage.lane}])


def abandon_all() -> Generator[Step, list[Row], None]:
    """Doom the lanes that a crash left behind."""
    rows = yield Fetch("find_staged_lanes")
    for (lane,) in rows:
        yield from abandon(Stage(lane, [], 0))
