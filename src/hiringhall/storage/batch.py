"""Carry out a batch of asks of any kinds in the fixed order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hiringhall.ports.asks import ORDER, Ask
from hiringhall.storage.procedure import Context, Procedure
from hiringhall.storage.procedures.registry import PROCEDURES


def carry_out(
    context: Context, asks: Sequence[Ask], procedures: Mapping[type[Any], Callable[..., Procedure]] = PROCEDURES
) -> Procedure:
    """Run the procedure of each kind on its asks, and put the outcomes in the order in which the asks came."""
    kinds = {type(ask) for ask in asks}
    outcomes: list[Any] = [None] * len(asks)
    for kind in ORDER if len(kinds) > 1 else kinds:
        if kind not in kinds:
            continue
        places = [place for place, ask in enumerate(asks) if type(ask) is kind]
        found = yield from procedures[kind](context, [asks[place] for place in places])
        for place, outcome in zip(places, found, strict=True):
            outcomes[place] = outcome
    return outcomes
