"""Apply a small file to a plan that is there, in two round trips: look, then write unless somebody came between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hiringhall.domain.announcement import announce
from hiringhall.domain.lease import Terms
from hiringhall.ports.asks import Apply
from hiringhall.ports.store import Committed
from hiringhall.storage.postgres.connection import Connection
from hiringhall.storage.postgres.runner import Runner
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row
from hiringhall.storage.procedures.apply_plan import apply_plan, seeing

TASKS_MAX: Final = 100
"""Numbers are drawn for all tasks of a file before it is known which of them are new."""
SEEN_COLUMNS: Final = 8


async def apply_small(
    runner: Runner, connection: Connection, ask: Apply, now: int | None, terms: Terms, origin: str
) -> Committed | None:
    """Apply the file, in autocommit; None if that takes more than looking once and adding tasks.

    The procedure decides on what was seen. What it writes goes out in one statement, which fails as a race if somebody
    changed the plan since: whoever does takes its lane. Tasks that were settled since are left to `Unblock`, as always.
    """
    question = seeing(ask.file)
    rows = await runner.carry_out(connection, Fetch("look_at_plan", {**question.parameters, "n": len(ask.file.tasks)}))
    if not rows:
        return None
    clock, stamp, numbers = rows[0][SEEN_COLUMNS:]
    context = Context(clock if now is None else now, terms)
    lane = rows[0][0]
    known: dict[str, Sequence[Row]] = {
        "lock_lane": [(lane,)],
        "see_plan": rows,
        "allocate_work": [(number,) for number in numbers],
    }
    decided = changes_of(apply_plan(context, [ask]), known)
    if decided is None:
        return None
    outcomes, changes = decided
    if changes:
        payload = announce(origin, context.rings) if context.rings else None
        touch = Many("touch_lane", [{"lane": lane, "stamp": stamp}])
        if not await runner.together(
            connection, [touch, *changes, Many("announce_if_touched", [{"payload": payload}])]
        ):
            return None
    return Committed(outcomes, context.rings)


def changes_of(procedure: Procedure, known: Mapping[str, Sequence[Row]]) -> tuple[list[Any], list[Many]] | None:
    """What a procedure returns and changes, if it asks for nothing but what is known, and not after a change."""
    changes: list[Many] = []
    rows: list[Row] | None = None
    try:
        while True:
            step = procedure.send(rows)  # type: ignore[arg-type]
            if isinstance(step, Many):
                changes.append(step)
                rows = []
            elif not changes and isinstance(step, Fetch) and step.statement in known:
                rows = list(known[step.statement])[: step.parameters.get("n")]
            else:
                procedure.close()
                return None
    except StopIteration as end:
        return end.value, changes
