"""Take and complete in a few statements for a whole batch, without a unit's every member.

They do what the procedures do, for the asks that are usual; what they do not cover is left to the procedures.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.names import unit_path
from hiringhall.domain.topics import plan_lane, plan_of_lane
from hiringhall.domain.work import next_version, run_until
from hiringhall.ports.asks import Settle, Take, Taken, TaskView
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures import settle as settling
from hiringhall.storage.procedures import take as taking
from hiringhall.storage.procedures.units import Changes, policy_of
from hiringhall.storage.procedures.usual import firsts, take_from_one_plan
from hiringhall.storage.procedures.writing import write, write_tally

HELD: Final = State.HELD
DONE: Final = State.DONE
READY: Final = State.READY


def settle(context: Context, asks: Sequence[Settle]) -> Procedure:
    """Complete together what can be; decide the rest one by one."""
    outcomes: list[Any] = [None] * len(asks)
    places = firsts(asks, (Move.COMPLETE,)).get(Move.COMPLETE)
    if places:
        yield from _complete(context, asks, places, outcomes)
    left = [place for place, outcome in enumerate(outcomes) if outcome is None]
    if left:
        found = yield from settling.settle(context, [asks[place] for place in left])
        for place, outcome in zip(left, found, strict=True):
            outcomes[place] = outcome
    return outcomes


def _complete(
    context: Context, asks: Sequence[Settle], places: Sequence[int], outcomes: list[Any]
) -> Generator[Step, list[Row], None]:
    rows = yield FetchMany(
        "find_completable",
        [
            {"ordinal": place, "worker": ask.worker, "name": ask.task_id, "version": ask.version}
            for place, ask in ((place, asks[place]) for place in places)
        ],
    )
    ids: list[int] = []
    answers: list[dict[str, Any]] = []
    tally: Counter[tuple[int, str]] = Counter()
    for place, number, lane, lane_key, version, priority, detail in rows:
        ask = asks[place]
        if ask.plan is not None and plan_lane(ask.plan) != lane_key:
            continue
        ids.append(number)
        tally[lane, HELD] -= 1
        tally[lane, DONE] += 1
        plan = plan_of_lane(lane_key)
        outcomes[place] = TaskView(number, plan, ask.task_id, DONE, False, version + 1, priority, detail)
        if ask.key is not None:
            answer = {"work": number, "worker": ask.worker, "version": ask.version, "key": ask.key, "body": ask.body}
            answers.append(answer)
    if not ids:
        return
    yield Fetch("complete_units", {"ids": ids})
    yield Fetch("log_completions", {"ids": ids, "now": context.now})
    if answers:
        yield Many("insert_answer", answers)
    yield from write_tally(tally)
    yield from write(context, Changes(satisfied=ids))


def take(context: Context, asks: Sequence[Take]) -> Procedure:
    """Serve the asks in order, each from the head of its plan."""
    if not take_from_one_plan(asks) or any(ask.key is not None for ask in asks):
        return (yield from taking.take(context, asks))
    rows = yield Fetch("find_takers", {"workers": sorted({ask.worker for ask in asks})})
    told: dict[str, int] = {row[0]: row[1] for row in rows}  # who may be given something, and whether to stop something
    demand: Counter[str] = Counter()
    for ask in asks:
        if ask.worker in told:
            demand[ask.lanes[0]] += ask.limit
    heads: dict[str, deque[Row]] = {}
    for lane, wanted in sorted(demand.items()):
        heads[lane] = deque((yield Fetch("find_next", {"lane": lane, "limit": wanted + 1})))
    given: list[tuple[int, Row]] = []
    for place, ask in enumerate(asks):
        if ask.worker in told:
            head = heads[ask.lanes[0]]
            given.extend((place, head.popleft()) for _ in range(min(ask.limit, len(head))))
    views: list[tuple[TaskView, ...]] = [()] * len(asks)
    if given:
        versions = yield from _versions(asks, given)
        yield from _hold(context, asks, given, versions)
        for (place, row), version in zip(given, versions, strict=True):
            number, _, plan, name, _, priority, _, detail, traceparent, _ = row
            views[place] += (TaskView(number, plan, name, HELD, False, version, priority, detail, traceparent),)
        yield from _no_longer_to_be_stopped(asks, given, told)
    return [Taken(views[place], ask.worker in told and not heads[ask.lanes[0]]) for place, ask in enumerate(asks)]


def _versions(asks: Sequence[Take], given: Sequence[tuple[int, Row]]) -> Generator[Step, list[Row], list[int]]:
    """The versions under which the units are handed over, each above those of its worker's earlier hand-overs."""
    handed_before = [
        {"ordinal": ordinal, "worker": asks[place].worker, "name": row[3], "version": row[4]}
        for ordinal, (place, row) in enumerate(given)
        if row[9]
    ]
    floors: dict[tuple[str, str], int] = {}
    if handed_before:
        for ordinal, version in (yield FetchMany("find_version_floor", handed_before)):
            place, row = given[ordinal]
            name = (asks[place].worker, row[3])
            floors[name] = max(floors.get(name, 0), version)
    versions = []
    for place, row in given:
        name = (asks[place].worker, row[3])
        version = floors[name] = next_version(row[4], floors.get(name, 0))
        versions.append(version)
    return versions


def _hold(
    context: Context, asks: Sequence[Take], given: Sequence[tuple[int, Row]], versions: Sequence[int]
) -> Generator[Step, list[Row], None]:
    now, usual_ms = context.now, context.terms.run_limit_ms
    tally: Counter[tuple[int, str]] = Counter()
    held = []
    for (place, row), version in zip(given, versions, strict=True):
        ask = asks[place]
        own_ms = policy_of(row[6]).run_limit_ms if row[6] else None
        until = run_until(own_ms, usual_ms, now, limited=ask.limited)
        held.append({"id": row[0], "version": version, "holder": ask.worker, "handed_at": now, "run_until": until})
        tally[row[1], READY] -= 1
        tally[row[1], HELD] += 1
    yield Many("hold_work", held)
    yield Fetch("record_hand_overs", {"ids": [row[0] for _, row in given]})
    yield from write_tally(tally)


def _no_longer_to_be_stopped(
    asks: Sequence[Take], given: Sequence[tuple[int, Row]], told: Mapping[str, int]
) -> Generator[Step, list[Row], None]:
    """A worker that is handed anew what it was told to stop must not take that word for the new hand-over."""
    rows = [
        {"worker": asks[place].worker, "target": unit_path(row[2], row[3])}
        for place, row in given
        if told[asks[place].worker]
    ]
    if rows:
        yield FetchMany("delete_directive", rows)
