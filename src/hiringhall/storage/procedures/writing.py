"""Write back what decisions changed, and carry out what follows from it: for tasks, for calls, for counts and rings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from hiringhall.domain import work
from hiringhall.domain.lifecycle import State
from hiringhall.domain.topics import topic_of
from hiringhall.domain.work import Event, Unit
from hiringhall.storage.procedure import Context, Fetch, Many, Row, Step
from hiringhall.storage.procedures.endings import conclude
from hiringhall.storage.procedures.units import Changes, load_missing


def write(context: Context, changes: Changes) -> Generator[Step, list[Row], None]:
    """Write everything that changed, and carry out what follows: skipped descendants, closed edges, counts, rings."""
    while changes.failed or changes.satisfied:
        if changes.failed:
            yield from _skip_descendants(changes)
        if changes.satisfied:
            yield from _close_edges(changes)
    if not changes.units:
        return
    yield from conclude(context, changes)
    yield Many("update_work", [_columns(unit) for unit in changes.units.values()])
    tally: Counter[tuple[int, str]] = Counter()
    for unit in changes.units.values():
        before, after = changes.before[unit.id], unit.counted_as
        if before != after:
            tally[unit.lane, before] -= 1
            tally[unit.lane, after] += 1
            if unit.state is State.READY:
                context.ring(topic_of(unit.lane_key))
    yield from write_events(context, changes.events)
    yield from write_tally(tally)


def write_events(context: Context, events: Sequence[Event]) -> Generator[Step, list[Row], None]:
    """Append to the audit log."""
    if events:
        yield Many("insert_event", [_event_columns(event, context.now) for event in events])


def write_tally(tally: Mapping[tuple[int, str], int]) -> Generator[Step, list[Row], None]:
    """Append the changes of the counts."""
    rows = [{"lane": lane, "state": state, "n": n} for (lane, state), n in sorted(tally.items()) if n]
    if rows:
        yield Many("insert_tally", rows)


def _skip_descendants(changes: Changes) -> Generator[Step, list[Row], None]:
    failed, changes.failed = changes.failed, []
    for culprit in failed:
        rows = yield Fetch("find_descendants", {"work": culprit.id})
        units = yield from load_missing(changes, (row[0] for row in rows))
        for unit in units:
            if unit.state is State.WAITING:
                before = unit.counted_as
                changes.note(before, unit, work.skip_after_failure(unit, culprit.name))


def _close_edges(changes: Changes) -> Generator[Step, list[Row], None]:
    satisfied, changes.satisfied = changes.satisfied, []
    rows = yield Fetch("close_edges", {"ids": sorted(satisfied)})
    closed = Counter(row[0] for row in rows)
    units = yield from load_missing(changes, closed)
    for unit in units:
        before = unit.counted_as
        work.satisfy_dependencies(unit, closed[unit.id])
        changes.note(before, unit, None)


def _columns(unit: Unit) -> dict[str, Any]:
    return {
        "id": unit.id,
        "state": unit.state,
        "priority": unit.priority,
        "seq": unit.seq,
        "waiting_on": unit.waiting_on,
        "version": unit.version,
        "handed_version": unit.handed_version,
        "started": int(unit.started),
        "holder": unit.holder,
        "last_holder": unit.last_holder,
        "handed_at": unit.handed_at,
        "run_until": unit.run_until,
        "retry_at": unit.retry_at,
        "attempts": unit.attempts,
        "abandoned": unit.abandoned,
        "cause": unit.cause,
        "cancelling": int(unit.cancelling),
    }


def _event_columns(event: Event, now: int) -> dict[str, Any]:
    return {
        "work": event.work,
        "version": event.version,
        "move": event.move,
        "state": event.state,
        "worker": event.worker,
        "cause": None if event.cause is None else event.cause,
        "reason": None if event.reason is None else json.dumps(event.reason),
        "at": now,
    }
