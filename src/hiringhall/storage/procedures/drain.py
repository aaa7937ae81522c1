"""Hand or offer service workers their share of what is ready in the lanes that they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hiringhall.domain import work
from hiringhall.domain.call import MESSAGE_BYTES_MAX, MESSAGES_MAX, READY_COUNTED_MAX, Dispatch, share
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Unit
from hiringhall.ports.calls import Drain, Drained, Message
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.calls import HandOver, hand_over
from hiringhall.storage.procedures.standing import Standing, find_standings
from hiringhall.storage.procedures.units import unit_from

TO_HAND, BEYOND, KEPT = 0, 1, 2
"""What a row of `find_call_heads` is there for: to be handed over, to tell that there is more, kept for others."""


class Head(msgspec.Struct):
    """A ready call at the head of its lane. `size`: of its parameters, which are stored with `payload`."""

    unit: Unit
    method: str
    size: int
    traceparent: str | None
    payload: int
    avoided_by: str | None  # for a while it is kept for others than this worker
    beyond: bool = False  # tells only that there is more: it is not locked
    given: bool = False


@dataclass(slots=True)
class Lane:
    """A lane in which something is ready."""

    id: int
    race: bool
    own: bool
    ready: int
    live: int = 1
    heads: list[Head] = field(default_factory=list)


@dataclass(slots=True)
class Hungry:
    """A drain that may be given something, the lanes that its worker fits, and what it is given."""

    ask: Drain
    standing: Standing
    room: int  # for how many messages
    lanes: list[Lane] = field(default_factory=list)
    taken: list[Head] = field(default_factory=list)


def drain(context: Context, asks: Sequence[Drain]) -> Procedure:
    """Serve the drains one after the other; whether more is ready for a worker is judged when all are served."""
    standings = yield from find_standings((ask.worker, ask.session) for ask in asks)
    hungry: dict[int, Hungry] = {}
    for place, ask in enumerate(asks):
        standing = standings[ask.worker, ask.session]
        if isinstance(standing, Standing) and standing.live:
            hungry[place] = Hungry(ask, standing, min(ask.limit, MESSAGES_MAX))
    spare = yield from _find_room(context, hungry.values())
    for place in [place for place, each in hungry.items() if each.room <= 0]:
        del hungry[place]
    raced = yield from _find_lanes(context, hungry.values())
    _serve(hungry.values(), raced, spare)
    yield from _write(context, hungry.values())
    params = yield from _find_params(hungry.values())
    outcomes: list[Any] = []
    for place, ask in enumerate(asks):
        refused, served = standings[ask.worker, ask.session], hungry.get(place)
        if isinstance(refused, Refused):
            outcomes.append(refused)
        elif served is None or (not served.taken and spare.get(ask.worker, 1) <= 0):
            outcomes.append(Drained())
        else:
            messages = tuple(_message(head, params) for head in served.taken)
            outcomes.append(Drained(messages, drained=not any(_open(served, raced))))
    return outcomes


def _find_room(context: Context, hungry: Iterable[Hungry]) -> Generator[Step, list[Row], dict[str, int]]:
    """For each worker that says how many calls it works on at a time, how many more that may be."""
    spare = {
        each.ask.worker: each.standing.capabilities.concurrency
        for each in hungry
        if each.standing.capabilities.concurrency is not None
    }
    if not spare:
        return {}
    since = context.now - context.terms.visibility_timeout_ms
    rows = yield Fetch("count_load", {"workers": sorted(spare), "since": since})
    left = {worker: limit or 0 for worker, limit in spare.items()}
    for worker, count in rows:
        left[worker] -= count
    for each in hungry:
        each.room = min(each.room, left.get(each.ask.worker, each.room))
    return left


Raced = dict[tuple[str, int], list[Head]]
"""The heads of lanes whose calls belong to the first who locks them, for each worker and lane."""


def _find_lanes(context: Context, hungry: Iterable[Hungry]) -> Generator[Step, list[Row], Raced]:
    """The lanes of the workers, and the heads of the lanes: as many as can be wanted, and one more if there is one."""
    by_worker: dict[str, list[Hungry]] = {}
    for each in hungry:
        by_worker.setdefault(each.ask.worker, []).append(each)
    if not by_worker:
        return {}
    rows = yield Fetch("find_fits", {"workers": sorted(by_worker), "limit": READY_COUNTED_MAX})
    lanes: dict[int, Lane] = {}
    for worker, id_, dispatch, ready in rows:
        lane = lanes.get(id_)
        if lane is None:
            own = dispatch is None
            lane = lanes[id_] = Lane(id_, dispatch == Dispatch.RACE.value, own, ready)
        for each in by_worker[worker]:
            each.lanes.append(lane)
    if not lanes:
        return {}
    yield from _count_live(hungry, lanes)
    shares = [(each, _share(each)) for each in hungry]
    yield from _find_heads(context, lanes, shares)
    return (yield from _find_raced(context, shares))


def _share(each: Hungry) -> int:
    return share([(lane.ready, lane.live) for lane in each.lanes], limit=each.room)


def _count_live(hungry: Iterable[Hungry], lanes: Mapping[int, Lane]) -> Generator[Step, list[Row], None]:
    """How many workers share each lane, unless everybody's share is one message anyway."""
    shared = {
        lane.id
        for each in hungry
        if each.room > 1 and sum(lane.ready for lane in each.lanes) > 1
        for lane in each.lanes
        if not lane.own
    }
    if shared:
        rows = yield Fetch("count_live", {"lanes": sorted(shared)})
        for id_, live in rows:
            lanes[id_].live = live


def _find_heads(
    context: Context, lanes: Mapping[int, Lane], shares: Sequence[tuple[Hungry, int]]
) -> Generator[Step, list[Row], None]:
    wanted: Counter[int] = Counter()
    for each, count in shares:
        for lane in each.lanes:
            if not lane.race:
                wanted[lane.id] += count
    ids = sorted(wanted)
    if not ids:
        return
    rows = yield FetchMany(
        "find_call_heads",
        [
            {"ordinal": place, "lane": id_, "limit": wanted[id_] + 1, "now": context.now}
            for place, id_ in enumerate(ids)
        ],
    )
    for row in rows:
        head = _head(row)
        lanes[ids[row[0]]].heads.append(head)
    for id_ in ids:
        lanes[id_].heads.sort(key=lambda head: work.place(head.unit))


def _head(row: Row) -> Head:
    unit = unit_from(row[1:21])
    method, size, traceparent, parent, part = row[21:26]
    payload, avoided_by = unit.id if parent is None else parent, unit.last_holder if part == KEPT else None
    return Head(unit, method, size, traceparent, payload, avoided_by, beyond=part == BEYOND)


def _find_raced(context: Context, shares: Sequence[tuple[Hungry, int]]) -> Generator[Step, list[Row], Raced]:
    wanted: Counter[tuple[str, int]] = Counter()
    for each, count in shares:
        for lane in each.lanes:
            if lane.race:
                wanted[each.ask.worker, lane.id] += count
    pairs = sorted(wanted)
    found: Raced = {pair: [] for pair in pairs}
    if pairs:
        since = context.now - context.terms.visibility_timeout_ms
        asked = [
            {"ordinal": place, "worker": worker, "lane": lane, "limit": wanted[worker, lane] + 1, "now": context.now,
             "since": since}
            for place, (worker, lane) in enumerate(pairs)
        ]  # fmt: skip
        rows = yield FetchMany("find_race_heads", asked)
        for row in rows:
            found[pairs[row[0]]].append(_head((*row[:25], TO_HAND)))
    return found


def _open(each: Hungry, raced: Raced) -> Iterable[Head]:
    """What can be handed or offered to the worker now."""
    worker = each.ask.worker
    for lane in each.lanes:
        for head in raced.get((worker, lane.id), ()) if lane.race else lane.heads:
            if not head.given and head.avoided_by != worker:
                yield head


def _serve(hungry: Iterable[Hungry], raced: Raced, spare: dict[str, int]) -> None:
    for each in hungry:
        worker = each.ask.worker
        each.room = min(each.room, spare.get(worker, each.room))
        if each.room <= 0 or not each.lanes:
            continue
        limit, left = _share(each), MESSAGE_BYTES_MAX
        meant = (head for head in _open(each, raced) if not head.beyond)
        for head in sorted(meant, key=lambda head: work.place(head.unit))[:limit]:
            left -= head.size
            if left < 0 and each.taken:
                break
            head.given = True
            each.taken.append(head)
        taken = Counter(head.unit.lane for head in each.taken)
        for lane in each.lanes:
            if not lane.race:
                lane.ready -= taken[lane.id]
        if worker in spare:
            spare[worker] -= len(each.taken)


def _write(context: Context, hungry: Iterable[Hungry]) -> Generator[Step, list[Row], None]:
    given: list[HandOver] = []
    offered: list[dict[str, Any]] = []
    for each in hungry:
        raced = {lane.id for lane in each.lanes if lane.race}
        for head in each.taken:
            if head.unit.lane in raced:
                offered.append({"work": head.unit.id, "worker": each.ask.worker, "offered_at": context.now})
            else:
                given.append(HandOver(head.unit, each.ask.worker, each.ask.limited, each.standing.told))
    yield from hand_over(context, given)
    if offered:
        yield Many("upsert_offer", offered)


def _find_params(hungry: Iterable[Hungry]) -> Generator[Step, list[Row], dict[int, bytes]]:
    ids = sorted({head.payload for each in hungry for head in each.taken})
    rows = (yield Fetch("find_payloads", {"ids": ids})) if ids else []
    return {row[0]: bytes(row[1]) for row in rows}


def _message(head: Head, params: Mapping[int, bytes]) -> Message:
    unit = head.unit
    offered = unit.holder is None
    return Message(unit.id, unit.name, head.method, offered, params[head.payload], unit.version, head.traceparent)
