"""Which asks are usual, so that a database may have a short way for them, of the same effect as the procedure."""

from __future__ import annotations

from collections.abc import Container, Sequence

from hiringhall.domain.lifecycle import Move
from hiringhall.domain.topics import plan_of_lane
from hiringhall.ports.asks import Settle, Take


def take_from_one_plan(asks: Sequence[Take]) -> bool:
    """Whether each ask is for tasks of one plan."""
    return all(len(ask.lanes) == 1 and plan_of_lane(ask.lanes[0]) for ask in asks)


def firsts(asks: Sequence[Settle], moves: Container[Move]) -> dict[Move, list[int]]:
    """By move, the places of the asks that may be tried first: those about a unit that no ask before may be about."""
    named: set[tuple[str, str]] = set()
    named_by_any: set[str] = set()
    found: dict[Move, list[int]] = {}
    for place, ask in enumerate(asks):
        name = (ask.worker, ask.task_id)
        if ask.move in moves and name not in named and ask.task_id not in named_by_any:
            found.setdefault(ask.move, []).append(place)
        named.add(name)
        if ask.any_holder:
            named_by_any.add(ask.task_id)
    return found
