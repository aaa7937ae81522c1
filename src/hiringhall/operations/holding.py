"""What a worker says that it holds: whatever else it holds by the store is a lost answer, and returns at once.

"What it holds but does not name, and was handed more than min(10 s, timeout / 2) before the call arrived, returns at
once."
The store is asked only when the worker could hold something that it does not name.
"""

from __future__ import annotations

from typing import Any, Final

from hiringhall.domain.names import parse_holding
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import NEVER, Known
from hiringhall.ports.asks import Reconcile
from hiringhall.ports.store import StoreUnavailable

APART_SECONDS_MIN: Final = 1.0


def holding(hall: Hall, known: Known, header: bytes, now: float) -> None:
    """Compare a `Hall-Holding` header with what the worker was handed."""
    if known.open is None:
        known.open = {}
    handed = known.open
    if now - known.holding_at < APART_SECONDS_MIN:
        return
    named = parse_holding(header.decode("latin-1"))
    old_enough = hall.terms.answer_lost_after_ms / 1000
    if now < known.clean_until and not any(
        name not in named and now - handed_at > old_enough for name, handed_at in handed.values()
    ):
        return
    known.holding_at = now

    def compared(outcome: Any) -> None:
        if isinstance(outcome, Exception):
            known.clean_until = NEVER
            if not isinstance(outcome, StoreUnavailable):
                context = {"message": "what a worker holds could not be compared", "exception": outcome}
                hall.loop.call_exception_handler(context)
            return
        known.clean_until = now + old_enough  # other processes may have handed it something since
        for work in [work for work, (name, at) in handed.items() if name not in named and now - at > old_enough]:
            del handed[work]

    hall.coalescer.ask(Reconcile(known.key, named), compared)
