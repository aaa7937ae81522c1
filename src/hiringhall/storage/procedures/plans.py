"""Whole plans: delete, pause, heal their edges, and forget what has been kept long enough."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from hiringhall.domain.lifecycle import SATISFIED, State
from hiringhall.domain.names import SERVICE_WORKER
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane, topic_of_plan
from hiringhall.ports.asks import DeletePlan, Forget, PausePlan, Swept, Unblock
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.apply_plan import NAMES_SHOWN_MAX, delete_tasks
from hiringhall.storage.procedures.give_back import tell_to_stop
from hiringhall.storage.procedures.service_workers import forget_service_worker
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.writing import write

UNBLOCK_LIMIT = 500


def delete_plan(context: Context, asks: Sequence[DeletePlan]) -> Procedure:
    """Remove plans. The plan is gone at once; the rows of its tasks are deleted in portions by `forget`."""
    outcomes = []
    for ask in asks:
        outcome = yield from _delete_plan(context, ask)
        outcomes.append(outcome)
    return outcomes


def _delete_plan(context: Context, ask: DeletePlan) -> Generator[Step, list[Row], bool | Refused]:
    lanes = yield Fetch("lock_lane", {"key": plan_lane(ask.plan)})
    if not lanes:
        return False
    rows = yield Fetch("find_held", {"lane": lanes[0][0]})
    units = yield from lock_units(row[0] for row in rows)
    held = [unit for unit in units.values() if unit.state is State.HELD and unit.holder is not None]
    if held and not ask.force:
        names = ", ".join(repr(unit.name) for unit in held[:NAMES_SHOWN_MAX])
        return Refused("in_use", f"workers hold tasks of the plan: {names} (force=true deletes it all the same)")
    yield from tell_to_stop(context, [(unit.holder, unit) for unit in held if unit.holder is not None])
    yield Many("delete_plan", [{"plan": ask.plan}])
    yield Many("delete_lane", [{"lane": lanes[0][0]}])
    yield Many("disarm_lane", [{"lane": lanes[0][0]}])
    yield Many("doom_lane", [{"lane": lanes[0][0]}])
    return True


def pause_plan(context: Context, asks: Sequence[PausePlan]) -> Procedure:
    """Stop or go on handing out the tasks of plans; leases stay valid."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch("pause_lane", {"key": plan_lane(ask.plan), "paused": int(ask.paused)})
        if rows and not ask.paused:
            counts = yield Fetch("count_ready", {"lane": rows[0][0], "limit": 1_000})
            if counts[0][0]:
                context.ring(topic_of_plan(ask.plan), counts[0][0])
        outcomes.append(bool(rows))
    return outcomes


def unblock(context: Context, asks: Sequence[Unblock]) -> Procedure:
    """Close edges whose dependency is satisfied: what an apply that raced a settle left open."""
    outcomes = []
    for ask in asks:
        since = None if ask.applied_within_ms is None else context.now - ask.applied_within_ms
        rows = yield Fetch("find_blocked_in_vain", {"plan": ask.plan, "since": since, "limit": UNBLOCK_LIMIT})
        dependencies = sorted({row[0] for row in rows})
        units = yield from lock_units(dependencies)
        changes = Changes()
        for unit in units.values():
            if unit.state in SATISFIED:
                changes.note(unit.counted_as, unit, None)
                changes.satisfied.append(unit.id)
        yield from write(context, changes)
        outcomes.append(Swept(len(rows), len(rows) == UNBLOCK_LIMIT))
    return outcomes


def forget(context: Context, asks: Sequence[Forget]) -> Procedure:
    """Delete the rows of deleted plans, old hand-over records, workers long offline, and plans past their keeping."""
    outcomes = []
    for ask in asks:
        changed, more = yield from _purge(context, ask.limit)
        if ask.keep_plans_ms is not None:
            changed += yield from _retire_plans(context, ask.keep_plans_ms, ask.limit)
        for statement, kept_ms in (
            ("delete_hand_overs", ask.keep_hand_overs_ms),
            ("delete_directives_before", ask.keep_directives_ms),
        ):
            rows = yield Fetch(statement, {"before": context.now - kept_ms, "limit": ask.limit})
            changed += len(rows)
            more = more or len(rows) == ask.limit
        of_plans, of_services = context.now - ask.keep_workers_ms, context.now - ask.keep_service_workers_ms
        rows = yield Fetch(
            "delete_workers_offline", {"before": of_plans, "before_services": of_services, "limit": ask.limit}
        )
        if rows:
            yield Many("delete_pulse", [{"worker": row[0]} for row in rows])
        for (worker,) in rows:
            if worker.startswith(SERVICE_WORKER):
                yield from forget_service_worker(context, worker)
        outcomes.append(Swept(changed + len(rows), more or len(rows) == ask.limit))
    return outcomes


def _purge(context: Context, limit: int) -> Generator[Step, list[Row], tuple[int, bool]]:
    """Delete some tasks of deleted plans; return how many, and whether there may be more."""
    doomed = yield Fetch("find_doomed", {"limit": limit})
    left = limit
    for (lane,) in doomed:
        rows = yield Fetch("find_tasks_of_lane", {"lane": lane, "limit": left})
        if rows:
            yield from delete_tasks(context, [row[0] for row in rows])
        if len(rows) == left:
            return limit, True
        left -= len(rows)
        yield Many("delete_tallies", [{"lane": lane}])
        yield Many("spare_lane", [{"lane": lane}])
    return limit - left, len(doomed) == limit


def _retire_plans(context: Context, keep_ms: int, limit: int) -> Generator[Step, list[Row], int]:
    """Note which plans are finished, and delete those that have been for long and still are."""
    yield Many("note_finished_plans", [{"now": context.now, "limit": limit}])
    rows = yield Fetch("find_retired_plans", {"before": context.now - keep_ms, "limit": 20})
    for (plan,) in rows:
        yield from _delete_plan(context, DeletePlan(plan))
    return len(rows)
