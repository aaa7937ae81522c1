"""Calls that end although nobody answered: withdrawn by their clients, or because their deadline passed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final

from hiringhall.domain import work
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import Swept
from hiringhall.ports.calls import SweepDeadlines, Withdraw
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.calls import lock_calls, no_such_call
from hiringhall.storage.procedures.give_back import tell_to_stop
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.writing import write

LOOK_BACK_MS: Final = 30_000
"""A call may be stored so long after the time from which its deadline counts."""
ENDED_AT_ONCE_MAX: Final = 2_000
"""So many units are ended in one pass, broadcasts with their parts, but for a single broadcast that has more."""


def withdraw(context: Context, asks: Sequence[Withdraw]) -> Procedure:
    """End calls that nobody holds; tell the holders of others to stop. A broadcast ends with its open children."""
    outcomes: list[Any] = []
    for ask in asks:
        outcome = yield from _withdraw(context, ask)
        outcomes.append(outcome)
    return outcomes


def _withdraw(context: Context, ask: Withdraw) -> Generator[Step, list[Row], State | Refused]:
    found = yield Fetch("find_family", {"request_id": ask.request_id})
    units = yield from lock_units(row[0] for row in found)
    calls = yield from lock_calls([ask.request_id])
    call = calls.get(ask.request_id)
    if call is None or ask.client not in (None, call.client):
        return no_such_call(ask.request_id)
    asked = units.get(call.unit.id, call.unit)
    if asked.finished:
        return Refused("already_finished", f"the request {ask.request_id!r} has ended")
    changes = Changes()
    family = (asked, *(each for each in units.values() if each.id != asked.id))
    told = [(_withdraw_one(changes, unit), unit) for unit in family if not unit.finished]
    yield from tell_to_stop(context, [(holder, unit) for holder, unit in told if holder is not None])
    yield from write(context, changes)
    return asked.state


def _withdraw_one(changes: Changes, unit: Unit) -> str | None:
    """End it, or mark it as one that its holder has to stop; returns who has to be told."""
    before = unit.counted_as
    if unit.state is not State.HELD:
        changes.note(before, unit, work.withdraw(unit))
    elif not unit.cancelling and unit.holder is not None:
        unit.cancelling = True
        changes.note(before, unit, None)
        return unit.holder
    return None


def end_now(
    context: Context, changes: Changes, units: Iterable[Unit], decide: Callable[[Unit], Event]
) -> Generator[Step, list[Row], None]:
    """End calls, also those that are held: their holders are told to stop."""
    holders = []
    for unit in units:
        if unit.finished:
            continue
        before, holder = unit.counted_as, unit.holder
        changes.note(before, unit, decide(unit))
        if holder is not None:
            holders.append((holder, unit))
    yield from tell_to_stop(context, holders)


def _first_of(rows: Sequence[Row], limit: int) -> list[int]:
    """The first calls of those that are due, as many as end in one pass."""
    due: list[int] = []
    units = 0
    for work_id, parts in rows[:limit]:
        units += 1 + parts
        if due and units > ENDED_AT_ONCE_MAX:
            break
        due.append(work_id)
    return due


def sweep_deadlines(context: Context, asks: Sequence[SweepDeadlines]) -> Procedure:
    """End calls whose deadline passed, broadcasts together with their open children."""
    outcomes = []
    for ask in asks:
        (seen_to,) = (yield Fetch("find_expired_until"))[0]
        rows = yield Fetch(
            "find_overdue", {"since": seen_to - LOOK_BACK_MS, "until": context.now, "limit": ask.limit + 1}
        )
        due = _first_of(rows, ask.limit)
        more = len(rows) > len(due)
        children = (yield Fetch("find_children", {"parents": due})) if due else []
        units = yield from lock_units([*due, *(row[0] for row in children)])
        changes = Changes()
        yield from end_now(context, changes, [units[id_] for id_ in due if id_ in units], work.expire)
        yield from end_now(context, changes, [units[row[0]] for row in children if row[0] in units], work.expire)
        expired = len(changes.events)
        yield from write(context, changes)
        if not more:
            yield Many("set_expired_until", [{"until": context.now}])
        outcomes.append(Swept(expired, more))
    return outcomes
