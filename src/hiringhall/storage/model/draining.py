"""Handing out and offering calls, and locking what was offered."""

from __future__ import annotations

from collections.abc import Sequence

from hiringhall.domain import work
from hiringhall.domain.call import MESSAGE_BYTES_MAX, MESSAGES_MAX, READY_COUNTED_MAX, Dispatch, share
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Unit
from hiringhall.ports.calls import Drain, Drained, Lock, Locked, Message
from hiringhall.ports.questions import HistoryLine
from hiringhall.storage.model.call_book import Call, Lane
from hiringhall.storage.model.hall import Hall, HandOver
from hiringhall.storage.model.standing import is_live, is_reachable, live_workers, standing


def drain_all(hall: Hall, asks: Sequence[Drain]) -> list[Drained | Refused]:
    """Serve drains one after the other; whether something is left for their workers is judged when all are served."""
    served = [_serve(hall, ask) for ask in asks]
    outcomes: list[Drained | Refused] = []
    for ask, each in zip(asks, served, strict=True):
        if isinstance(each, tuple):
            outcomes.append(Drained(each, drained=not _takeable(hall, ask.worker)))
        else:
            outcomes.append(each)
    return outcomes


def _serve(hall: Hall, ask: Drain) -> tuple[Message, ...] | Drained | Refused:
    """The messages for one worker; an outcome if it may not be given any."""
    known = standing(hall, ask.worker, ask.session)
    if isinstance(known, Refused):
        return known
    if not is_live(hall, ask.worker):
        return Drained()
    limit = min(ask.limit, MESSAGES_MAX)
    if known.capabilities.concurrency is not None:
        limit = min(limit, known.capabilities.concurrency - _load(hall, ask.worker))
    if limit <= 0:
        return Drained()
    lanes = [lane for lane in hall.book.lanes_of(ask.worker) if not lane.paused]
    found = _takeable(hall, ask.worker)[: share([_weight(hall, lane) for lane in lanes], limit=limit)]
    messages: list[Message] = []
    left = MESSAGE_BYTES_MAX
    for call in found:
        left -= len(call.params)
        if left < 0 and messages:
            break
        messages.append(_offer(hall, ask, call) if call.dispatch is Dispatch.RACE else _hand(hall, ask, call))
    return tuple(messages)


def _load(hall: Hall, worker: str) -> int:
    """How many calls the worker is at, or may be soon."""
    offered = sum(whom == worker and _is_offered(hall, worker, id_) for whom, id_ in hall.book.offers)
    return len(hall.held_by(worker)) + offered


def _is_offered(hall: Hall, worker: str, id_: int) -> bool:
    at = hall.book.offers.get((worker, id_))
    ready = hall.book.calls[id_].unit.state is State.READY
    return at is not None and ready and at + hall.terms.visibility_timeout_ms > hall.now


def _takeable(hall: Hall, worker: str) -> list[Call]:
    """What can be handed or offered to the worker now, in the order of taking."""
    lanes = {lane.key for lane in hall.book.lanes_of(worker) if not lane.paused}
    found = [
        call
        for call in hall.book.calls.values()
        if call.unit.state is State.READY
        and call.unit.lane_key in lanes
        and not _is_offered(hall, worker, call.unit.id)
        and not (call.unit.last_holder == worker and (call.avoid_until or 0) > hall.now)
    ]
    return sorted(found, key=lambda call: work.place(call.unit))


def _weight(hall: Hall, lane: Lane) -> tuple[int, int]:
    ready = sum(call.unit.lane_key == lane.key and call.unit.state is State.READY for call in hall.book.calls.values())
    live = 1 if lane.owner is not None else len(live_workers(hall, lane))
    return min(ready, READY_COUNTED_MAX), live


def _offer(hall: Hall, ask: Drain, call: Call) -> Message:
    hall.book.offers[ask.worker, call.unit.id] = hall.now
    return _message(call, lock_required=True)


def _hand(hall: Hall, ask: Drain, call: Call) -> Message:
    hand_over(hall, call, ask.worker, limited=ask.limited)
    return _message(call, lock_required=False)


def _message(call: Call, *, lock_required: bool) -> Message:
    unit = call.unit
    return Message(unit.id, unit.name, call.method, lock_required, call.params, unit.version, call.traceparent)


def hand_over(hall: Hall, call: Call, worker: str, *, limited: bool) -> None:
    """Hand a call to a worker; it is offered to nobody any more."""
    unit = call.unit
    cause = work.hold(unit, worker, version_floor=0, now=hall.now, terms=hall.terms, limited=limited)
    hall.hand_overs[worker, unit.name, unit.version] = HandOver(unit.id, unit.lane_key, cause, hall.now)
    line = HistoryLine(hall.now, unit.version, Move.HOLD.value, unit.state.value, worker, cause.value)
    call.history.append(line)
    call.first_handed_at = call.first_handed_at or hall.now
    hall.directives.pop((worker, unit.target), None)
    hall.book.drop_offers(work=unit.id)


def lock(hall: Hall, ask: Lock) -> Locked | Refused:
    """Let the first who asks own a call that was offered."""
    known = standing(hall, ask.worker, ask.session)
    if isinstance(known, Refused):
        return known
    call = hall.book.find(ask.request_id)
    if call is None or not may_know(call, ask.worker, ask.service):
        return not_found(ask.request_id)
    unit = call.unit
    if unit.finished:
        return Refused("gone", f"the call {ask.request_id!r} has ended")
    if unit.holder == ask.worker:
        return Locked(unit.id, unit.version, again=True)
    if unit.state is not State.READY or call.dispatch is not Dispatch.RACE:
        return Refused("already_locked", f"another worker has the call {ask.request_id!r}")
    lane = hall.book.lanes[unit.lane_key]
    if not is_reachable(hall, ask.worker) or not hall.book.fits(ask.worker, lane) or lane.paused:
        return Refused("not_eligible", "this worker may not take the call")
    hand_over(hall, call, ask.worker, limited=ask.limited)
    return Locked(unit.id, unit.version)


def may_know(call: Call, worker: str, service: str) -> bool:
    """Whether the worker may know that there is such a call: one of its service, and no other worker's child."""
    return call.service == service and call.child_of in (None, worker)


def not_found(request_id: str) -> Refused:
    """The refusal of an unknown call."""
    return Refused("not_found", f"there is no call {request_id!r} of this service")


def offered_now(hall: Hall, unit: Unit) -> bool:
    """Whether a ready call is offered to somebody."""
    return unit.state is State.READY and any(id_ == unit.id for _, id_ in hall.book.offers)
