"""Background corrections: silent workers, run limits, due retries, edges left open, what has been kept long enough."""

from __future__ import annotations

from hiringhall.domain import work
from hiringhall.domain.lease import Cause, ended_by, hears_since, is_offline, may_be_silent, may_overrun, was_deaf
from hiringhall.domain.lifecycle import SATISFIED
from hiringhall.domain.names import SERVICE_WORKER
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import (
    Beat,
    Beaten,
    FoldTallies,
    Forget,
    SweepRetries,
    SweepRunLimit,
    SweepSilent,
    Swept,
    Unblock,
)
from hiringhall.storage.model import service_workers
from hiringhall.storage.model.call_sweeps import next_deadline_in_ms
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.plans import remove


def beat(hall: Hall, _ask: Beat) -> Beaten:
    """Write the hall's pulse; after a time in which the hall could not hear, silence counts from now."""
    deaf = was_deaf(hall.pulse_at, hall.now, hall.terms)
    hall.pulse_at = hall.now
    if deaf:
        hall.heard_since = hall.now
    now, terms = hall.now, hall.terms
    retries = [unit.retry_at for unit in hall.units() if unit.retry_at is not None]
    return Beaten(
        deaf,
        any(not worker.offline and may_be_silent(worker.pulse, now, terms) for worker in hall.workers.values()),
        any(unit.run_until is not None and may_overrun(unit.run_until, now, terms) for unit in hall.units()),
        max(0, min(retries) - now) if retries else None,
        next_deadline_in_ms(hall),
    )


def sweep_silent(hall: Hall, ask: SweepSilent) -> Swept:
    """Take back what silent workers hold, and mark those that are offline."""
    online = {key for key, worker in hall.workers.items() if not worker.offline}
    silent = {key for key in online if may_be_silent(hall.workers[key].pulse, hall.now, hall.terms)}
    units = [unit for unit in hall.units() if unit.holder in silent or (ask.orphans and unit.holder not in online)]
    swept = _take_back(hall, units)
    noted = hall.noted
    lost = {key for key in online if is_offline(hall.workers[key].pulse, _heard_since(hall), hall.now, hall.terms)}
    for key in sorted(lost):
        hall.workers[key].offline = True
        service_workers.drop_offers(hall, key)
    if ask.orphans:
        lost |= {key for key, worker in hall.workers.items() if worker.offline and hall.book.waits_for(key)}
    for key in sorted(lost):
        service_workers.lose_children(hall, key)
    return Swept(swept.changed + hall.noted - noted)


def sweep_run_limit(hall: Hall, _ask: SweepRunLimit) -> Swept:
    """Take back what was held longer than its run limit allows."""
    now, terms = hall.now, hall.terms
    overrun = [u for u in hall.units() if u.run_until is not None and may_overrun(u.run_until, now, terms)]
    return _take_back(hall, overrun)


def _take_back(hall: Hall, units: list[Unit]) -> Swept:
    noted = hall.noted
    for unit in units:
        cause = _ended_by(hall, unit)
        if cause is not None:
            hall.take_back(unit, cause)
    return Swept(hall.noted - noted)


def _ended_by(hall: Hall, unit: Unit) -> Cause | None:
    """Why the hold on a unit is over now, if it is held and its lease has ended."""
    if unit.holder is None:
        return None
    assert unit.handed_at is not None
    worker = hall.workers.get(unit.holder)
    pulse = None if worker is None else worker.pulse
    return ended_by(pulse, unit.handed_at, unit.run_until, _heard_since(hall), hall.now, hall.terms)


def _heard_since(hall: Hall) -> int:
    return hears_since(hall.heard_since, hall.pulse_at, hall.now, hall.terms)


def sweep_retries(hall: Hall, ask: SweepRetries) -> Swept:
    """Make failed units ready whose retry is due."""
    changed = 0
    for unit in sorted(hall.units(), key=lambda unit: (unit.retry_at or 0, unit.id)):
        event = work.retry_due(unit, hall.now) if changed < ask.limit else None
        if event is not None:
            hall.note(event)
            hall.ring_lane(unit)
            changed += 1
    return Swept(changed, more=changed == ask.limit)


def unblock(hall: Hall, ask: Unblock) -> Swept:
    """Close edges whose dependency is satisfied."""
    closed = 0
    for unit in [task.unit for task in hall.tasks.values()]:
        plan = hall.plans[unit.plan]
        lately = ask.applied_within_ms is None or plan.applied_at >= hall.now - ask.applied_within_ms
        if unit.state in SATISFIED and ask.plan in (None, plan.id) and lately:
            closed += hall.close_edges(unit.id)
    return Swept(closed)


def fold_tallies(_hall: Hall, _ask: FoldTallies) -> Swept:
    """Nothing to do: the oracle counts when it is asked."""
    return Swept()


def forget(hall: Hall, ask: Forget) -> Swept:
    """Delete what is left of deleted plans, finished plans, past hand-overs, stale directives, offline workers."""
    changed = _purge(hall, ask.limit)
    if ask.keep_plans_ms is not None:
        changed += _retire_plans(hall, hall.now - ask.keep_plans_ms)
    for name, hand_over in list(hall.hand_overs.items()):
        if hand_over.gone_at is not None and hand_over.gone_at < hall.now - ask.keep_hand_overs_ms:
            del hall.hand_overs[name]
            changed += 1
    for target, at in list(hall.directives.items()):
        if at < hall.now - ask.keep_directives_ms:
            del hall.directives[target]
            changed += 1
    busy = {unit.holder for unit in hall.units()}
    for key, worker in list(hall.workers.items()):
        keep_ms = ask.keep_workers_ms
        if key.startswith(SERVICE_WORKER):
            keep_ms = max(keep_ms, ask.keep_service_workers_ms)
        if worker.offline and key not in busy and worker.pulse.last_seen < hall.now - keep_ms:
            del hall.workers[key]
            service_workers.remove(hall, key)
            changed += 1
    return Swept(changed)


def _purge(hall: Hall, limit: int) -> int:
    """Drop some tasks of deleted plans, those of the plan first that is first in line."""
    left = limit
    for lane in sorted(hall.doomed)[:limit]:
        purged, hall.doomed[lane] = hall.doomed[lane][:left], hall.doomed[lane][left:]
        for task in purged:
            hall.part_hand_overs(task.unit.id)
        if len(purged) == left:
            return limit
        left -= len(purged)
        del hall.doomed[lane]
    return limit - left


def _retire_plans(hall: Hall, before: int) -> int:
    """Note which plans are finished, and delete those that have been for long and still are."""
    retired = 0
    for plan in list(hall.plans.values()):
        finished = all(task.unit.finished for task in plan.tasks.values())
        plan.finished_at = (plan.finished_at or hall.now) if finished else None
        if plan.finished_at is not None and plan.finished_at < before:
            remove(hall, plan)
            retired += 1
    return retired
