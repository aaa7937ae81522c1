"""Calls between rows and decisions: found by id and locked, and handed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.call import Dispatch
from hiringhall.domain.refusals import Refused
from hiringhall.domain.work import Unit
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Row, Step
from hiringhall.storage.procedures.units import any_unit_from
from hiringhall.storage.procedures.writing import write_tally


@dataclass(slots=True)
class Call:
    """A call with its unit locked. `child_of`: the worker for which it is, if it is a child of a broadcast."""

    unit: Unit
    client: str
    service: str
    child_of: str | None
    dispatch: Dispatch

    def is_known_to(self, worker: str, service: str) -> bool:
        """Whether the worker may know of it: it is of its service, and no other worker's child."""
        return self.service == service and self.child_of in (None, worker)


@dataclass(frozen=True, slots=True)
class HandOver:
    """A unit that a worker is to hold. `told`: the worker has to stop some unit."""

    unit: Unit
    worker: str
    limited: bool
    told: bool = False


def no_such_call(request_id: str) -> Refused:
    """The refusal of an id under which the asker knows no call."""
    return Refused("not_found", f"there is no request {request_id!r} here; finished ones are kept for a while only")


def lock_calls(request_ids: Iterable[str]) -> Generator[Step, list[Row], dict[str, Call]]:
    """Calls by id, their units locked in ascending order."""
    rows = yield Fetch("lock_calls", {"names": sorted(set(request_ids))})
    return {
        row[3]: Call(any_unit_from(row), client=row[24], service=row[25], child_of=row[26], dispatch=Dispatch(row[27]))
        for row in rows
    }


def hand_over(context: Context, given: Sequence[HandOver]) -> Generator[Step, list[Row], None]:
    """Have workers hold units, with a record of each hand-over."""
    if not given:
        return
    tally: Counter[tuple[int, str]] = Counter()
    held: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for each in given:
        unit = each.unit
        tally[unit.lane, unit.counted_as] -= 1
        cause = work.hold(
            unit, each.worker, version_floor=0, now=context.now, terms=context.terms, limited=each.limited
        )
        tally[unit.lane, unit.counted_as] += 1
        held.append(
            {
                "id": unit.id,
                "version": unit.version,
                "holder": each.worker,
                "handed_at": unit.handed_at,
                "run_until": unit.run_until,
            }
        )
        records.append(
            {
                "worker": each.worker,
                "name": unit.name,
                "version": unit.version,
                "work": unit.id,
                "lane_key": unit.lane_key,
                "cause": cause,
                "at": context.now,
                "key": None,
            }
        )
    yield Many("hold_work", held)
    yield Many("insert_hand_over", records)
    yield from write_tally(tally)
    # What was said of an earlier hand-over must not be taken for this one.
    said = [{"worker": each.worker, "target": each.unit.target} for each in given if each.told]
    if said:
        yield FetchMany("delete_directive", said)
