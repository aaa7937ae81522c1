"""Delete what has been kept long enough of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Final

from hiringhall.domain.call import LANES_KEPT_MS
from hiringhall.ports.asks import Swept
from hiringhall.ports.calls import ForgetCalls
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.units import lock_units
from hiringhall.storage.procedures.writing import write_tally

OF_CALLS: Final = (
    "delete_offers_of",
    "delete_feedback_of",
    "delete_submissions_of",
    "delete_hand_overs_of",
    "delete_result",
    "delete_payload",
    "delete_request",
)
"""What belongs to calls beyond what belongs to any unit."""


def forget_calls(context: Context, asks: Sequence[ForgetCalls]) -> Procedure:
    """Delete finished calls, feedback that need not persist, stale offers, idempotency records, and unused lanes."""
    outcomes = []
    for ask in asks:
        now = context.now
        rows = yield Fetch("find_old_calls", {"before": now - ask.keep_calls_ms, "limit": ask.limit})
        changed, more = (yield from _delete_calls([row[0] for row in rows])), len(rows) == ask.limit
        for statement, before in (
            ("delete_passing_feedback", now - ask.keep_passing_feedback_ms),
            ("delete_stale_offers", now - context.terms.visibility_timeout_ms + 1),
            ("delete_submissions", now - ask.keep_keys_ms),
        ):
            rows = yield Fetch(statement, {"before": before, "limit": ask.limit})
            more, changed = more or len(rows) == ask.limit, changed + len(rows)
        lanes = yield from _delete_lanes(now - LANES_KEPT_MS, ask.limit)
        outcomes.append(Swept(changed + lanes, more or lanes == ask.limit))
    return outcomes


def _delete_calls(ids: Sequence[int]) -> Generator[Step, list[Row], int]:
    """Delete calls and all that belongs to them; return how many. Left out is what, once it is locked, has been deleted
    by somebody else or is to be done once more."""
    units = yield from lock_units(ids)
    ended = [unit for unit in units.values() if unit.finished]
    if not ended:
        return 0
    gone = [unit.id for unit in ended]
    rows = [{"work": id_} for id_ in gone]
    for statement in OF_CALLS:
        yield Fetch(statement, {"ids": gone})
    yield Many("delete_events", rows)
    yield Many("delete_work", rows)
    counts = Counter((unit.lane, unit.counted_as) for unit in ended)
    yield from write_tally({counted: -n for counted, n in counts.items()})
    return len(gone)


def _delete_lanes(before: int, limit: int) -> Generator[Step, list[Row], int]:
    """Delete lanes that no call has been in for long. Whoever is about to use one waits, and makes it anew."""
    found = yield Fetch("find_unused_lanes", {"before": before, "limit": limit})
    locked = (yield Fetch("lock_lanes", {"lanes": sorted(row[0] for row in found)})) if found else []
    rows = (yield Fetch("find_still_unused", {"lanes": sorted(row[0] for row in locked)})) if locked else []
    lanes = [{"lane": row[0]} for row in rows]
    if lanes:
        for statement in ("delete_fits_of_lane", "delete_tallies", "delete_lane"):
            yield Many(statement, lanes)
    return len(lanes)
