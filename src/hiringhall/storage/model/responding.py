"""What workers answer, and the feedback that they send on the way."""

from __future__ import annotations

from hiringhall.domain import work
from hiringhall.domain.call import FEEDBACK_KEPT_MAX, OTHERS_FIRST_MS
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_request
from hiringhall.ports.calls import AddFeedback, Feedback, FeedbackRow, Respond, Responded
from hiringhall.storage.model.call_book import Call, Outcome
from hiringhall.storage.model.draining import may_know, not_found
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.standing import standing


def respond(hall: Hall, ask: Respond) -> Responded | Refused:
    """Accept the answer of the holder, or of the last one while nobody else has the call."""
    known = standing(hall, ask.worker, ask.session)
    if isinstance(known, Refused):
        return known
    call = hall.book.find(ask.request_id)
    if call is None or not may_know(call, ask.worker, ask.service):
        return not_found(ask.request_id)
    unit, earlier = call.unit, call.outcome
    _obeyed(hall, ask.worker, call)
    if unit.holder != ask.worker:
        if earlier is not None and earlier.worker == ask.worker:
            if earlier.body == ask.body:
                return _told(call, again=True)
            if ask.key is not None and earlier.key == ask.key:
                return Refused("idempotency_key_reused", "this Idempotency-Key came with another body before")
        if unit.state in (State.EXPIRED, State.CANCELLED):
            return Refused("gone", f"the call {ask.request_id!r} has ended: it is {unit.state.value}")
        if unit.state is not State.READY or unit.last_holder != ask.worker:
            return Refused("not_held", f"this worker does not hold the call {ask.request_id!r}")
    _settle(hall, ask, call)
    return _told(call)


def _told(call: Call, *, again: bool = False) -> Responded:
    return Responded(call.unit.id, call.unit.state, again, call.unit.retry_at is not None)


def _obeyed(hall: Hall, worker: str, call: Call) -> None:
    """A worker that answers for a call that it was told to stop need not be told again."""
    if hall.directives.pop((worker, call.unit.target), None) is not None:
        hall.ring_worker(worker)


def _settle(hall: Hall, ask: Respond, call: Call) -> None:
    unit = call.unit
    call.outcome = Outcome(ask.answer, hall.now, ask.result, ask.error_text, ask.worker, ask.body, ask.key)
    event = work.answer(unit, ask.worker, ask.answer, ask.error_text, now=hall.now, jitter=ask.jitter)
    if unit.retry_at is not None and unit.parent is None:
        call.avoid_until = unit.retry_at + OTHERS_FIRST_MS
    hall.note(event)


def add_feedback(hall: Hall, ask: AddFeedback) -> int | Refused:
    """Write down what workers tell about calls that they were handed and that have not ended."""
    known = standing(hall, ask.worker, ask.session)
    if isinstance(known, Refused):
        return known
    return sum(_add(hall, ask, item) for item in ask.items)


def _add(hall: Hall, ask: AddFeedback, item: Feedback) -> bool:
    call = hall.book.find(item.rid)
    handed = {(worker, name) for worker, name, _ in hall.hand_overs}
    if call is None or call.unit.finished or call.service != ask.service or (ask.worker, item.rid) not in handed:
        return False
    call.feedback_count += 1
    call.feedback.append(FeedbackRow(call.feedback_count, item, hall.now, ask.worker))
    call.feedback = call.feedback[-FEEDBACK_KEPT_MAX:]
    hall.rings[topic_of_request(item.rid)] += 1
    return True
