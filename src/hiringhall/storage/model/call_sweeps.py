"""Background corrections about calls: deadlines, and what has been kept long enough."""

from __future__ import annotations

from hiringhall.domain import work
from hiringhall.domain.call import LANES_KEPT_MS
from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import Swept
from hiringhall.ports.calls import ForgetCalls, SweepDeadlines
from hiringhall.storage.model.call_book import Call
from hiringhall.storage.model.hall import Hall

LOOK_BACK_MS = 60_000


def next_deadline_in_ms(hall: Hall) -> int | None:
    """How long until a deadline passes that has not been seen to."""
    later = [at for at in _deadlines(hall) if at > hall.book.expired_until]
    return max(0, min(later) - hall.now) if later else None


def _deadlines(hall: Hall) -> list[int]:
    return [call.unit.deadline_at or 0 for call in hall.book.calls.values() if call.child_of is None]


def sweep_deadlines(hall: Hall, ask: SweepDeadlines) -> Swept:
    """End calls whose deadline passed, broadcasts together with their open children; what follows comes after that."""
    since = hall.book.expired_until - LOOK_BACK_MS
    due = [
        call.unit
        for call in hall.book.calls.values()
        if not call.unit.finished and call.child_of is None and since < (call.unit.deadline_at or 0) <= hall.now
    ]
    due.sort(key=lambda unit: (unit.deadline_at or 0, unit.id))
    more = len(due) > ask.limit
    meant = due[: ask.limit]
    meant += [child.unit for unit in meant for child in hall.book.children(unit.id) if not child.unit.finished]
    ended = [expire(hall, unit) for unit in meant]
    for unit in ended:
        hall.follow(unit)
    if not more:
        hall.book.expired_until = hall.now
    return Swept(len(ended), more)


def expire(hall: Hall, unit: Unit) -> Unit:
    """End a call since its deadline passed; its holder is told to stop."""
    holder = unit.holder
    event = work.expire(unit)
    hall.tell_to_stop(unit, holder)
    return hall.record(event)


def forget_calls(hall: Hall, ask: ForgetCalls) -> Swept:
    """Delete calls that ended long enough ago, feedback that need not persist, stale offers, lanes, keys."""
    book, now = hall.book, hall.now
    old = [call for call in book.calls.values() if _is_old(hall, call, now - ask.keep_calls_ms)]
    for call in old:
        _remove(hall, call)
    for call in book.calls.values():
        before = now - ask.keep_passing_feedback_ms
        call.feedback = [row for row in call.feedback if row.item.pr or row.at >= before]
    for name, at in list(book.offers.items()):
        if at + hall.terms.visibility_timeout_ms <= now:
            del book.offers[name]
    for key, submission in list(book.submissions.items()):
        if submission.at < now - ask.keep_keys_ms:
            del book.submissions[key]
    used = {call.unit.lane_key for call in book.calls.values()}
    for lane in list(book.lanes.values()):
        if lane.owner not in book.workers and lane.key not in used and lane.made_at < now - LANES_KEPT_MS:
            del book.lanes[lane.key]
    return Swept(len(old))


def _is_old(hall: Hall, call: Call, before: int) -> bool:
    """Whether a call ended before then; a child is needed until its broadcast has ended."""
    if not call.unit.finished or call.outcome is None or call.outcome.at >= before:
        return False
    parent = hall.book.calls.get(call.unit.parent or 0)
    return parent is None or parent.unit.state is not State.WAITING


def _remove(hall: Hall, call: Call) -> None:
    unit = call.unit
    del hall.book.calls[unit.id]
    del hall.book.numbers[unit.name]
    hall.book.drop_offers(work=unit.id)
    hall.hand_overs = {name: each for name, each in hall.hand_overs.items() if each.work != unit.id}
    for key, submission in list(hall.book.submissions.items()):
        if submission.request_id == unit.name:
            del hall.book.submissions[key]
