"""What workers answer to calls."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.call import OTHERS_FIRST_MS
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_worker
from hiringhall.ports.calls import Respond, Responded
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.calls import Call, lock_calls, no_such_call
from hiringhall.storage.procedures.endings import answer_row
from hiringhall.storage.procedures.standing import Standing, find_standings
from hiringhall.storage.procedures.units import Changes
from hiringhall.storage.procedures.writing import write


def respond(context: Context, asks: Sequence[Respond]) -> Procedure:
    """Accept each answer of a holder, or of the last one while nobody else has the call."""
    standings = yield from find_standings((ask.worker, ask.session) for ask in asks)
    may = [ask for ask in asks if isinstance(standings[ask.worker, ask.session], Standing)]
    calls = (yield from lock_calls(ask.request_id for ask in may)) if may else {}
    changes = Changes()
    outcomes: list[Any] = []
    for ask in asks:
        standing, call = standings[ask.worker, ask.session], calls.get(ask.request_id)
        if isinstance(standing, Refused):
            outcomes.append(standing)
        elif call is None or not call.is_known_to(ask.worker, ask.service):
            outcomes.append(no_such_call(ask.request_id))
        else:
            if standing.told:
                yield from obeyed(context, ask.worker, call)
            outcomes.append((yield from _answer(context, changes, ask, call)))
    kept = [
        {"work": unit.id, "avoid_until": unit.retry_at + OTHERS_FIRST_MS}
        for unit in changes.units.values()
        if unit.retry_at is not None and unit.parent is None
    ]
    yield from write(context, changes)
    if kept:
        yield Many("avoid_worker", kept)
    return outcomes


def obeyed(context: Context, worker: str, call: Call) -> Generator[Step, list[Row], None]:
    """A worker that answers for a call that it was told to stop need not be told again."""
    rows = yield Fetch("delete_directive", {"worker": worker, "target": call.unit.target})
    if rows:
        context.ring(topic_of_worker(worker))


def _answer(
    context: Context, changes: Changes, ask: Respond, call: Call
) -> Generator[Step, list[Row], Responded | Refused]:
    unit = call.unit
    if unit.holder != ask.worker:
        earlier = yield from _earlier(ask, call)
        if earlier is not None:
            return earlier
        if unit.state in (State.EXPIRED, State.CANCELLED):
            return Refused("gone", f"the request {ask.request_id!r} has ended: it is {unit.state.value}")
        if unit.state is not State.READY or unit.last_holder != ask.worker:
            return Refused("not_held", f"this worker does not hold the request {ask.request_id!r}")
    before = unit.counted_as
    event = work.answer(unit, ask.worker, ask.answer, ask.error_text, now=context.now, jitter=ask.jitter)
    changes.note(before, unit, event)
    changes.answers[unit.id] = answer_row(
        unit, ask.answer, context.now, result=ask.result, error_text=ask.error_text, worker=ask.worker, key=ask.key,
        body=ask.body,
    )  # fmt: skip
    return Responded(unit.id, unit.state, retrying=unit.retry_at is not None)


def _earlier(ask: Respond, call: Call) -> Generator[Step, list[Row], Responded | Refused | None]:
    """What to say if an answer of this worker was accepted before: "the same worker repeating the same body: 200"."""
    unit = call.unit
    rows = yield Fetch("find_results", {"ids": [unit.id]})
    for _, worker, key, body in rows:
        if worker != ask.worker:
            continue
        if body is not None and bytes(body) == ask.body:
            return Responded(unit.id, unit.state, again=True, retrying=unit.retry_at is not None)
        if ask.key is not None and key is not None and bytes(key) == ask.key:
            return Refused("idempotency_key_reused", "this Idempotency-Key came with another body before")
    return None
