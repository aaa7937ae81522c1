"""What follows when a call ends: its outcome, those who follow it, the broadcast of which it is a child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hiringhall.domain import work
from hiringhall.domain.call import Answer, gathered
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import worker_id_of
from hiringhall.domain.topics import topic_of_request
from hiringhall.domain.work import Event
from hiringhall.storage.model.call_book import Call, Outcome

if TYPE_CHECKING:
    from hiringhall.storage.model.hall import Hall

_BY_STATE: Final = {State.CANCELLED: Answer.CANCELLED, State.EXPIRED: Answer.EXPIRED, State.FAILED: Answer.ERROR}
_TOLD: Final = {*work.ANSWERS, Move.GATHER}
"""Moves whose outcome is written down before they are noted."""


def conclude(hall: Hall, call: Call, event: Event) -> None:
    """Write down how a call ended if nobody answered."""
    if call.unit.finished and event.move not in _TOLD:
        reason = event.reason if call.unit.state is State.FAILED else None
        call.outcome = Outcome(_BY_STATE[call.unit.state], hall.now, None, reason)


def follow(hall: Hall, call: Call) -> None:
    """Carry out what follows once a call has ended."""
    unit = call.unit
    if unit.state is not State.READY:
        hall.book.drop_offers(work=unit.id)
    if not unit.finished:
        return
    hall.rings[topic_of_request(unit.name)] += 1
    if unit.parent in hall.book.calls:
        _count_down(hall, hall.book.calls[unit.parent])


def _count_down(hall: Hall, parent: Call) -> None:
    """One child less is open; the last one gathers the answers of all."""
    parent.unit.waiting_on -= 1
    if parent.unit.waiting_on == 0 and parent.unit.state is State.WAITING:
        parent.outcome = Outcome(Answer.SUCCESS, hall.now, gathered(map(_part, hall.book.children(parent.unit.id))))
        hall.note(work.gather(parent.unit))


def _part(child: Call) -> tuple[str, Answer, bytes | None, str | None]:
    assert child.outcome is not None
    assert child.child_of is not None
    outcome = child.outcome
    return worker_id_of(child.child_of), outcome.answer, outcome.result, outcome.error_text
