"""Calls that belong to the first who locks them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from hiringhall.domain.call import Dispatch
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.ports.calls import Lock, Locked
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Procedure, Row, Step
from hiringhall.storage.procedures.calls import Call, HandOver, hand_over, lock_calls, no_such_call
from hiringhall.storage.procedures.standing import Standing, find_standings

REASONS: Final = (
    "this worker cannot do what the request requires, takes nothing any more, or the service is paused: GET "
    "/worker/messages tells what it may lock"
)


def lock(context: Context, asks: Sequence[Lock]) -> Procedure:
    """Let the first who asks own each call."""
    standings = yield from find_standings((ask.worker, ask.session) for ask in asks)
    may = [ask for ask in asks if isinstance(standings[ask.worker, ask.session], Standing)]
    calls = (yield from lock_calls(ask.request_id for ask in may)) if may else {}
    fitting = yield from _fitting(may, calls)
    given: list[HandOver] = []
    winners: dict[int, str] = {}
    outcomes: list[Any] = []
    for ask in asks:
        standing, call = standings[ask.worker, ask.session], calls.get(ask.request_id)
        if isinstance(standing, Refused):
            outcomes.append(standing)
            continue
        if call is None or not call.is_known_to(ask.worker, ask.service):
            outcomes.append(no_such_call(ask.request_id))
            continue
        outcome = _judge(ask, call, winners, fits=standing.reachable and (ask.worker, call.unit.lane) in fitting)
        outcomes.append(outcome)
        if isinstance(outcome, Locked) and not outcome.again:
            winners[call.unit.id] = ask.worker
            given.append(HandOver(call.unit, ask.worker, ask.limited, standing.told))
    yield from hand_over(context, given)
    if given:
        yield Fetch("delete_offers_of", {"ids": sorted(winners)})
    return outcomes


def _fitting(asks: Sequence[Lock], calls: Mapping[str, Call]) -> Generator[Step, list[Row], set[tuple[str, int]]]:
    """Which (worker, lane) of those that may be locked go together."""
    pairs = sorted(
        {
            (ask.worker, calls[ask.request_id].unit.lane)
            for ask in asks
            if ask.request_id in calls and calls[ask.request_id].unit.state is State.READY
        }
    )
    if not pairs:
        return set()
    rows = yield FetchMany(
        "find_fit", [{"ordinal": place, "worker": worker, "lane": lane} for place, (worker, lane) in enumerate(pairs)]
    )
    return {pairs[row[0]] for row in rows}


def _judge(ask: Lock, call: Call, winners: Mapping[int, str], *, fits: bool) -> Locked | Refused:
    unit = call.unit
    if unit.finished:
        return Refused("gone", f"the request {ask.request_id!r} has ended: it is {unit.state.value}")
    if unit.holder == ask.worker:
        return Locked(unit.id, unit.version, again=True)
    if winners.get(unit.id) == ask.worker:
        return Locked(unit.id, unit.version + 1, again=True)
    if unit.state is not State.READY or unit.id in winners or call.dispatch is not Dispatch.RACE:
        return Refused(
            "already_locked", f"this worker does not own the request {ask.request_id!r}, and cannot by a lock"
        )
    if not fits:
        return Refused("not_eligible", REASONS)
    return Locked(unit.id, unit.version + 1)
