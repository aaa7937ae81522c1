"""Operators' verbs on calls, and the end of all calls of a service that is deleted."""

from __future__ import annotations

from collections.abc import Sequence

from hiringhall.domain import steering, work
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import Steer
from hiringhall.ports.identity import DeleteService
from hiringhall.storage.model import identity, service_workers
from hiringhall.storage.model.hall import Hall


def steer_call(hall: Hall, ask: Steer) -> State | Refused:
    """Carry out one verb on one call. Cancelling ends it whoever holds it, a broadcast together with its children."""
    call = hall.book.calls.get(ask.work or 0)
    if call is None:
        return Refused("not_found", f"there is no call with the number {ask.work}")
    unit = call.unit
    if ask.move is Move.CANCEL:
        if unit.finished:
            return steering.wrong_state(unit, ask.move)
        _end(hall, [unit, *(child.unit for child in hall.book.children(unit.id))])
        return unit.state
    if ask.move not in (Move.RETRY, Move.RELEASE):
        return Refused("wrong_state", "a call can be retried, cancelled or released")
    counted = ask.move is Move.RETRY and unit.parent is not None
    too_late = ask.move is Move.RETRY and unit.deadline_at is not None and unit.deadline_at <= hall.now
    if counted or too_late:
        return steering.wrong_state(unit, ask.move)
    event = steering.steer(unit, ask.move, force=ask.force, priority=None)
    if isinstance(event, Refused):
        return event
    hall.note(event)
    hall.ring_lane(unit)
    return unit.state


def _end(hall: Hall, units: Sequence[Unit]) -> None:
    """End calls, also those that are held; what follows comes when all are ended."""
    ended = []
    for unit in units:
        if not unit.finished:
            holder = unit.holder
            ended.append(hall.record(work.withdraw(unit)))
            hall.tell_to_stop(unit, holder)
    for unit in ended:
        hall.follow(unit)


def delete_service(hall: Hall, ask: DeleteService) -> bool | Refused:
    """Remove a service, its workers, and everything that lets these in; its open calls end, if that is forced."""
    if ask.service not in hall.gate.services:
        return False
    calls = [hall.book.calls[id_] for id_ in sorted(hall.book.calls)]
    still_open = [call.unit for call in calls if call.service == ask.service and not call.unit.finished]
    if still_open and not ask.force:
        return Refused("in_use", f"{len(still_open)} calls of the service {ask.service!r} are open")
    _end(hall, sorted(still_open, key=lambda unit: unit.parent is not None))
    for worker in [key for key, known in hall.book.workers.items() if known.service == ask.service]:
        service_workers.remove(hall, worker)
        del hall.workers[worker]
        hall.directives = {target: at for target, at in hall.directives.items() if target[0] != worker}
    hall.book.methods = {name for name in hall.book.methods if name[0] != ask.service}
    return identity.delete_service(hall, ask)
