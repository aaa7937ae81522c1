"""Operators' verbs on calls, and the end of all calls of a service that is deleted."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from hiringhall.domain import steering, work
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import Steer
from hiringhall.storage.procedure import Context, Fetch, Many, Row, Step
from hiringhall.storage.procedures.service_workers import forget_service_worker
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.withdraw import end_now
from hiringhall.storage.procedures.writing import write

VERBS: Final = frozenset({Move.RETRY, Move.CANCEL, Move.RELEASE})


def steer_call(context: Context, ask: Steer) -> Generator[Step, list[Row], State | Refused]:
    """Carry out a verb on one call. Cancelling ends it at once, whoever holds it, a broadcast with its children."""
    assert ask.work is not None
    children = yield Fetch("find_children", {"parents": [ask.work]})
    units = yield from lock_units([ask.work, *(row[0] for row in children)])
    unit = units.get(ask.work)
    if unit is None or unit.plan:
        return Refused("not_found", f"there is no call with the number {ask.work}")
    changes = Changes()
    refused = _judge(context, ask.move, unit)
    if refused is not None:
        return refused
    if ask.move is Move.CANCEL:
        yield from end_now(context, changes, [unit], work.withdraw)
        yield from end_now(context, changes, [units[row[0]] for row in children if row[0] in units], work.withdraw)
    else:
        before = unit.counted_as
        event = steering.steer(unit, ask.move, force=ask.force, priority=None)
        if not isinstance(event, Event):
            return event
        changes.note(before, unit, event)
    yield from write(context, changes)
    return unit.state


def _judge(context: Context, move: Move, unit: Unit) -> Refused | None:
    """Why the verb cannot be carried out, beyond what holds of any unit."""
    if move not in VERBS:
        return Refused("wrong_state", f"a call can be retried, cancelled or released, and not {steering.PAST[move]}")
    if move is Move.CANCEL:
        return steering.wrong_state(unit, move) if unit.finished else None
    if move is Move.RETRY and unit.parent is not None:
        return steering.wrong_state(unit, move, "it is a part of a broadcast, which has counted it")
    if move is Move.RETRY and unit.deadline_at is not None and unit.deadline_at <= context.now:
        return steering.wrong_state(unit, move, "its deadline has passed")
    return None


def end_service(context: Context, service: str, *, force: bool) -> Generator[Step, list[Row], Refused | None]:
    """Before a service is deleted: end its calls, and forget its workers. Refused if calls are open, unless forced."""
    rows = yield Fetch("find_open_calls", {"service": service})
    if rows and not force:
        names = ", ".join(repr(row[1]) for row in rows[:20])
        return Refused(
            "in_use", f"{len(rows)} calls of the service are open: {names} (force=true ends them all the same)"
        )
    units = yield from lock_units(row[0] for row in rows)
    changes = Changes()
    # Broadcasts first, so that they do not end by the ends of their children.
    by_rank: Sequence[Unit] = sorted(units.values(), key=lambda unit: unit.parent is not None)
    yield from end_now(context, changes, by_rank, work.withdraw)
    yield from write(context, changes)
    workers = yield Fetch("find_service_workers", {"services": [service]})
    for row in workers:
        worker = row[1]
        yield from forget_service_worker(context, worker)
        yield Fetch("delete_worker", {"key": worker})
        yield Many("delete_pulse", [{"worker": worker}])
        yield Many("delete_directives", [{"worker": worker}])
    yield Many("delete_methods", [{"service": service}])
    return None
