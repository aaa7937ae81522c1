"""Hand the next ready units of some lanes to workers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeAlias

from hiringhall.domain import work
from hiringhall.domain.work import Unit
from hiringhall.ports.asks import Take, Taken, TaskView
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.units import lock_units, unit_from, view_of
from hiringhall.storage.procedures.writing import write_tally

Contents: TypeAlias = tuple[str, str | None]
"""The detail of a task, and the trace context of the request that applied its plan."""


def take(context: Context, asks: Sequence[Take]) -> Procedure:
    """Serve the asks in order, each from the heads of its lanes merged by priority, sequence and id."""
    takers = yield from _takers(asks)
    replayed = yield from replay(asks)
    hungry = [ask for ask in asks if ask.worker in takers and id(ask) not in replayed]
    heads, contents = yield from _heads(hungry)
    given: list[tuple[Take, Unit]] = []
    shares: dict[int, list[Unit]] = {}
    for ask in hungry:
        share = shares[id(ask)] = _share(ask, heads)
        given.extend((ask, unit) for unit in share)
    yield from _hold(context, given)
    yield from _no_longer_to_be_stopped(given, {worker for worker, told in takers.items() if told})
    outcomes = []
    for ask in asks:
        views = replayed.get(id(ask)) or tuple(view_of(unit, *contents[unit.id]) for unit in shares.get(id(ask), ()))
        outcomes.append(Taken(views, id(ask) in shares and not any(heads[lane] for lane in ask.lanes)))
    return outcomes


def _takers(asks: Sequence[Take]) -> Generator[Step, list[Row], dict[str, bool]]:
    """The workers among those asking that may be given something, and whether each was told to stop some unit."""
    rows = yield Fetch("find_takers", {"workers": sorted({ask.worker for ask in asks})})
    return {row[0]: bool(row[1]) for row in rows}


def _no_longer_to_be_stopped(given: Sequence[tuple[Take, Unit]], told: set[str]) -> Generator[Step, list[Row], None]:
    """A worker that is handed anew what it was told to stop must not take that word for the new hand-over."""
    rows = [{"worker": ask.worker, "target": unit.target} for ask, unit in given if ask.worker in told]
    if rows:
        yield FetchMany("delete_directive", rows)


def replay(asks: Sequence[Take]) -> Generator[Step, list[Row], dict[int, tuple[TaskView, ...]]]:
    """By identity of the ask, what asks with a key were handed before, as far as their workers still hold it so."""
    found: dict[int, tuple[TaskView, ...]] = {}
    for ask in asks:
        if ask.key is None:
            continue
        rows = yield Fetch("deliver_again", {"key": ask.key, "worker": ask.worker})
        deliveries = {row[0]: row[1] for row in rows}
        details: dict[int, str] = {}
        locked = yield from lock_units(deliveries, details)
        # One may have been settled since its delivery was counted.
        units = {id_: unit for id_, unit in locked.items() if unit.holder == ask.worker}
        traces = yield from _traces(units.values())
        if units:
            found[id(ask)] = tuple(
                view_of(unit, details[unit.id], traces.get(unit.lane), deliveries[unit.id])
                for unit in sorted(units.values(), key=work.place)
            )
    return found


def _traces(units: Iterable[Unit]) -> Generator[Step, list[Row], dict[int, str]]:
    """The trace contexts of the requests that applied the plans of some units, by lane."""
    lanes = sorted({unit.lane for unit in units})
    rows = (yield Fetch("find_traceparents", {"lanes": lanes})) if lanes else []
    return {row[0]: row[1] for row in rows}


def _heads(asks: Sequence[Take]) -> Generator[Step, list[Row], tuple[dict[str, deque[Unit]], dict[int, Contents]]]:
    """The first ready units of each lane, one more than the asks want, so that an empty lane is known to be empty."""
    demand: Counter[str] = Counter()
    for ask in asks:
        for lane in ask.lanes:
            demand[lane] += ask.limit
    heads: dict[str, deque[Unit]] = {}
    contents: dict[int, Contents] = {}
    for lane, wanted in sorted(demand.items()):
        rows = yield Fetch("find_heads", {"lane": lane, "limit": wanted + 1})
        heads[lane] = deque(unit_from(row) for row in rows)
        contents.update((row[0], (row[20], row[21])) for row in rows)
    return heads, contents


def _share(ask: Take, heads: dict[str, deque[Unit]]) -> list[Unit]:
    share: list[Unit] = []
    while len(share) < ask.limit:
        queues = [heads[lane] for lane in ask.lanes if heads[lane]]
        if not queues:
            break
        first = queues[0] if len(queues) == 1 else min(queues, key=lambda queue: work.place(queue[0]))
        share.append(first.popleft())
    return share


def _hold(context: Context, given: Sequence[tuple[Take, Unit]]) -> Generator[Step, list[Row], None]:
    if not given:
        return
    rows = yield FetchMany(
        "find_version_floor",
        [
            {"ordinal": place, "worker": ask.worker, "name": unit.name, "version": unit.version}
            for place, (ask, unit) in enumerate(given)
        ],
    )
    floors: dict[tuple[str, str], int] = {}
    for place, version in rows:
        name = (given[place][0].worker, given[place][1].name)
        floors[name] = max(floors.get(name, 0), version)
    tally: Counter[tuple[int, str]] = Counter()
    held: list[dict[str, Any]] = []
    hand_overs: list[dict[str, Any]] = []
    for ask, unit in given:
        tally[unit.lane, unit.counted_as] -= 1
        floor = floors.get((ask.worker, unit.name), 0)
        cause = work.hold(
            unit, ask.worker, version_floor=floor, now=context.now, terms=context.terms, limited=ask.limited
        )
        floors[ask.worker, unit.name] = unit.version
        tally[unit.lane, unit.counted_as] += 1
        held.append(
            {
                "id": unit.id,
                "version": unit.version,
                "holder": ask.worker,
                "handed_at": unit.handed_at,
                "run_until": unit.run_until,
            }
        )
        hand_overs.append(
            {
                "worker": ask.worker,
                "name": unit.name,
                "version": unit.version,
                "work": unit.id,
                "lane_key": unit.lane_key,
                "cause": cause,
                "at": context.now,
                "key": ask.key,
            }
        )
    yield Many("hold_work", held)
    yield Many("insert_hand_over", hand_overs)
    yield from write_tally(tally)
