"""Take, complete, release, signs of life and the pulse as single statements: one round trip for a whole batch.

They do what the procedures do, for the asks that are usual; what they do not cover is left to the procedures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hiringhall.domain.announcement import rings_of_lanes
from hiringhall.domain.lease import Terms
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import cut_reason, release_cause
from hiringhall.ports.asks import Beat, MarkSeen, Settle, Take, Taken, TaskView
from hiringhall.ports.store import Committed
from hiringhall.storage.postgres.connection import Connection
from hiringhall.storage.postgres.runner import Runner
from hiringhall.storage.procedure import Fetch
from hiringhall.storage.procedures.sweeps import beat_step, beaten
from hiringhall.storage.procedures.take import replay
from hiringhall.storage.procedures.usual import take_from_one_plan
from hiringhall.storage.procedures.workers import seen_step

SETTLED_AT_ONCE: Final = {Move.COMPLETE: State.DONE, Move.RELEASE: State.READY}
"""The moves that have a statement of their name, and the state to which it brings units that wait for nothing."""


def may_take_at_once(asks: Sequence[Take]) -> bool:
    """Whether each worker asks for tasks of one plan, in which no task id occurs twice."""
    lanes: dict[str, str] = {}
    return take_from_one_plan(asks) and all(lanes.setdefault(ask.worker, ask.lanes[0]) == ask.lanes[0] for ask in asks)


async def take_at_once(
    runner: Runner, connection: Connection, asks: Sequence[Take], now: int | None, terms: Terms
) -> Committed:
    """Hand units over, in autocommit. An ask whose key was answered before gets that answer."""
    places = [ordinal for ordinal, ask in enumerate(asks) for _ in range(ask.limit)]
    parameters = {
        "now": now,
        "run_limit_ms": terms.run_limit_ms,
        "ordinal": places,
        "worker": [asks[ordinal].worker for ordinal in places],
        "lane": [asks[ordinal].lanes[0] for ordinal in places],
        "limited": [asks[ordinal].limited for ordinal in places],
        "key": [asks[ordinal].key for ordinal in places],
    }
    rows = await runner.carry_out(connection, Fetch("take", parameters))
    views: dict[int, list[TaskView]] = {}
    drained: dict[int, bool] = {}
    answered: dict[int, Take] = {}
    for ordinal, was_answered, more, work, plan, task_id, version, priority, detail, traceparent in rows:
        if was_answered:
            answered[ordinal] = asks[ordinal]
        else:
            drained[ordinal] = not more
        if work is not None:
            view = TaskView(work, plan, task_id, State.HELD, False, version, priority, detail, traceparent)
            views.setdefault(ordinal, []).append(view)
    found = await _replayed(runner, connection, answered)
    outcomes = [
        Taken(found.get(ordinal) or tuple(views.get(ordinal, ())), drained.get(ordinal, False))
        for ordinal in range(len(asks))
    ]
    return Committed(outcomes)


async def _replayed(
    runner: Runner, connection: Connection, answered: Mapping[int, Take]
) -> dict[int, tuple[TaskView, ...]]:
    if not answered:
        return {}
    found = await runner.run(connection, replay(list(answered.values())))
    return {ordinal: found[id(ask)] for ordinal, ask in answered.items() if id(ask) in found}


async def settle_at_once(
    runner: Runner, connection: Connection, asks: Sequence[Settle], now: int | None, origin: str
) -> Committed:
    """Complete or release units, all the same, in autocommit. The outcome is None for an ask that matches no unit in
    the usual way."""
    move = asks[0].move
    parameters: dict[str, Any] = {
        "now": now,
        "origin": origin,
        "ordinal": list(range(len(asks))),
        "worker": [ask.worker for ask in asks],
        "task_id": [ask.task_id for ask in asks],
        "version": [ask.version for ask in asks],
        "lane_key": [None if ask.plan is None else plan_lane(ask.plan) for ask in asks],
        "key": [ask.key for ask in asks],
        "body": [ask.body for ask in asks],
    }
    if move is Move.RELEASE:
        parameters["cause"] = [release_cause(ask.reason) for ask in asks]
        parameters["reason"] = [None if ask.reason is None else json.dumps(cut_reason(ask.reason)) for ask in asks]
    rows = await runner.carry_out(connection, Fetch(move.value, parameters))
    outcomes: list[Any] = [None] * len(asks)
    state = SETTLED_AT_ONCE[move]
    for ordinal, work, plan, version, priority, detail, _ in rows:
        outcomes[ordinal] = TaskView(work, plan, asks[ordinal].task_id, state, False, version, priority, detail)
    lanes = rows[0][6] if rows else None
    return Committed(outcomes, rings_of_lanes(json.loads(lanes)) if lanes else {})


async def beat_at_once(
    runner: Runner, connection: Connection, asks: Sequence[Beat], now: int | None, terms: Terms
) -> Committed:
    """Write the pulse, in autocommit."""
    rows = await runner.carry_out(connection, beat_step(now, terms))
    return Committed([beaten(rows[0], terms)] * len(asks))


def without_heartbeats(asks: Sequence[MarkSeen]) -> bool:
    """Whether signs of life can be written without looking at the gaps between heartbeats."""
    return all(sign.beat_ms_ago is None for ask in asks for sign in ask.signs)


async def mark_seen_at_once(
    runner: Runner, connection: Connection, asks: Sequence[MarkSeen], now: int | None
) -> Committed:
    """Write signs of life down, in autocommit."""
    await runner.carry_out(connection, seen_step([sign for ask in asks for sign in ask.signs], now))
    return Committed([None] * len(asks))
