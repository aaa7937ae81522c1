"""Take work back from workers, and tell them so: answers that did not arrive, and what a worker no longer names."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from hiringhall.domain import work
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.domain.names import call_name
from hiringhall.domain.topics import topic_of_worker
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import Reconcile, Return
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.writing import write


def take_back(changes: Changes, unit: Unit, cause: Cause) -> None:
    """Release a held unit on the holder's behalf."""
    before = unit.counted_as
    changes.note(before, unit, work.release(unit, unit.holder, cause))


def tell_to_stop(context: Context, told: Iterable[tuple[str, Unit]]) -> Generator[Step, list[Row], None]:
    """Tell former holders, with whatever they ask next, that a unit is not their own any more."""
    pairs = sorted((worker, unit.target) for worker, unit in told)
    if not pairs:
        return
    yield Many(
        "insert_directive", [{"worker": worker, "target": target, "at": context.now} for worker, target in pairs]
    )
    for worker, _ in pairs:
        context.ring(topic_of_worker(worker))


def give_back(context: Context, asks: Sequence[Return]) -> Procedure:
    """Return hand-overs whose answers did not arrive, as far as they are still held so."""
    units = yield from lock_units(ask.work for ask in asks)
    rows = (yield Fetch("find_deliveries", {"ids": sorted(units)})) if units else []
    deliveries = {(row[0], row[1], row[2]): row[3] for row in rows}
    changes = Changes()
    outcomes = []
    for ask in asks:
        unit = units.get(ask.work)
        latest = unit is not None and deliveries.get((ask.work, ask.worker, unit.handed_version)) == ask.delivery
        still_held = unit is not None and latest and work.may_settle(unit, ask.worker, ask.version, any_holder=False)
        if unit is not None and still_held:
            take_back(changes, unit, ask.cause)
        outcomes.append(still_held)
    yield from write(context, changes)
    return outcomes


def reconcile(context: Context, asks: Sequence[Reconcile]) -> Procedure:
    """Take back what each worker holds, does not name, and was handed long enough before it spoke; lift the run limit
    of what it keeps."""
    outcomes = []
    for ask in asks:
        rows = yield Fetch("find_holds", {"workers": [ask.worker]})
        units = yield from lock_units(row[0] for row in rows)
        latest = context.now - ask.arrived_ms_ago - context.terms.answer_lost_after_ms
        changes = Changes()
        for unit in units.values():
            names = {(unit.plan, unit.name, unit.handed_version), (unit.plan, unit.name, unit.version)}
            if not unit.plan:
                names = {call_name(unit.name)}
            if unit.holder != ask.worker or unit.state is not State.HELD:
                continue
            if (unit.handed_at or 0) <= latest and not names & ask.named:
                take_back(changes, unit, Cause.ANSWER_LOST)
            elif unit.run_until is not None:
                unit.run_until = None
                changes.note(unit.counted_as, unit, None)
        yield from write(context, changes)
        outcomes.append(len(changes.events))
    return outcomes
