"""A picture of everything in a database, by names instead of ids, equal to the oracle's if the two agree."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from hiringhall.domain.lifecycle import MOVES, Move, State
from hiringhall.domain.work import Unit
from hiringhall.ports.questions import HistoryLine, ListPlans, PlanView, ReadHistory
from hiringhall.ports.store import Store
from hiringhall.storage.procedures.units import unit_from

Rows: TypeAlias = Callable[[str], Awaitable[list[tuple[Any, ...]]]]
Edge: TypeAlias = tuple[State, Move]

TASKS = """
SELECT w.id, w.lane, l.key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
FROM task AS t JOIN work AS w ON w.id = t.work JOIN plan AS p ON p.lane = t.lane JOIN lane AS l ON l.id = p.lane
"""
WORKERS = """
SELECT w.key, w.hostname, w.token_hash, w.registered_at, w.quiet, w.terminate, p.offline, p.last_seen,
    p.last_beat, p.gaps
FROM worker AS w JOIN pulse AS p ON p.worker = w.key
"""
HAND_OVERS = "SELECT worker, name, version, lane_key, cause, at, key, gone_at FROM hand_over"


async def take_snapshot(store: Store, rows: Rows, *, histories: bool = True) -> dict[str, Any]:
    """Read everything; what the port tells is asked of the port. Histories take long: one question for each unit."""
    plans: list[PlanView] = await store.read(ListPlans(limit=1_000))
    tasks = [(unit_from(row), row[20]) for row in await rows(TASKS)]
    names = {unit.id: (unit.plan, unit.name) for unit, _ in tasks}
    return {
        "plans": {plan.id: {"name": plan.name, "paused": plan.paused, "applied_at": plan.applied_at} for plan in plans},
        "tasks": {names[unit.id]: _members(unit, detail) for unit, detail in tasks},
        "edges": _named(names, await rows("SELECT dependency, dependent FROM edge")),
        "unmet": _named(names, await rows("SELECT dependency, dependent FROM unmet")),
        "tallies": {plan.id: {state: n for state, n in plan.counts.items() if n} for plan in plans},
        "workers": {row[0]: _worker(row) for row in await rows(WORKERS)},
        "directives": {(row[0], row[1]): row[2] for row in await rows("SELECT worker, target, at FROM directive")},
        "hand_overs": {(row[0], row[1], row[2]): _hand_over(row) for row in await rows(HAND_OVERS)},
        "histories": {names[unit.id]: await store.read(ReadHistory(unit.id)) for unit, _ in tasks if histories},
        "hall": (await rows("SELECT heard_since, pulse_at FROM hall"))[0],
    }


def _members(unit: Unit, detail: str) -> dict[str, Any]:
    left_out = {"id", "lane", "lane_key", "name"}
    members = {name: getattr(unit, name) for name in Unit.__struct_fields__ if name not in left_out}
    return {**members, "detail": detail}


def _named(
    names: dict[int, tuple[str, str]], edges: list[tuple[Any, ...]]
) -> set[tuple[tuple[str, str], tuple[str, str]]]:
    """Edges by names. Those of deleted plans are left out: they go in portions."""
    return {(names[one], names[other]) for one, other in edges if one in names and other in names}


def _worker(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "hostname": json.loads(row[1]),
        "token_hash": None if row[2] is None else bytes(row[2]),
        "registered_at": row[3],
        "quiet": bool(row[4]),
        "terminate": bool(row[5]),
        "offline": bool(row[6]),
        "last_seen": row[7],
        "last_beat": row[8],
        "gaps": tuple(int(gap) for gap in row[9].split(",") if gap),
    }


def _hand_over(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[3:6], None if row[6] is None else bytes(row[6]), row[7])


def crossed_edges(
    before: dict[str, Any], after: dict[str, Any], units: str = "tasks", histories: str = "histories"
) -> set[Edge]:
    """Which edges of the lifecycle were crossed between two pictures of one store.

    `units` and `histories` name the parts of the pictures that are looked at.

    Raises:
        AssertionError: some unit went a way that the table does not know, or its version did not rise with each move.
    """
    crossed: set[Edge] = set()
    for name, now in after[units].items():
        was = before[units].get(name)
        old, new = before[histories].get(name, []), after[histories][name]
        if was is None or new[: len(old)] != old:
            continue  # made, or removed and made anew
        state = was["state"]
        version = was["version"]
        for line in new[len(old) :]:
            state, edge = _step(state, line)
            crossed.add(edge)
            assert line.version > version, f"{name}: version {line.version} of {line.move} is not above {version}"
            version = line.version
        assert now["version"] == version, f"{name} has version {now['version']}, but its history ends with {version}"
        if state is not now["state"]:
            silent = Move.UNBLOCK if now["state"] is State.READY else Move.BLOCK
            assert MOVES.get((state, silent)) is now["state"], f"{name} went from {state} to {now['state']} by no move"
            crossed.add((state, silent))
    return crossed


def _step(state: State, line: HistoryLine) -> tuple[State, Edge]:
    move, told = Move(line.move), State(line.state)
    # A unit that was waiting may have been unblocked, silently, before it moved; and one that was ready, blocked.
    for silent in (None, Move.UNBLOCK, Move.BLOCK):
        start = state if silent is None else MOVES.get((state, silent))
        target = None if start is None else MOVES.get((start, move))
        if (
            start is not None
            and target is not None
            and (target is told or (target is State.READY and told is State.WAITING))
        ):
            return told, (start, move)
    raise AssertionError(f"{move} leads from {state} to {told}, which is not in the table")
