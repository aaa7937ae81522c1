"""Units of work between rows and decisions: load and lock them, and remember what changed.

A procedure locks units in ascending order of their ids, lets the domain decide on each, notes the events in
`Changes`, and ends with `writing.write`. Dependents are numbered after what they depend on, so that locks are nearly
always taken in one order. A changed plan file may make a stored task depend on a new one; should two transactions then
wait for each other, PostgreSQL ends one of them and it is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import SATISFIED, State
from hiringhall.domain.retry import DEFAULT_POLICY, Backoff, Policy
from hiringhall.domain.work import Event, Unit
from hiringhall.ports.asks import TaskView
from hiringhall.storage.procedure import Fetch, Row, Step

_STATES: Final[dict[str, State]] = {state.value: state for state in State}
_CAUSES: Final[dict[str, Cause]] = {cause: cause for cause in Cause}


@lru_cache(maxsize=1_024)
def policy_of(text: str) -> Policy:
    """A policy from its stored form."""
    if not text:
        return DEFAULT_POLICY
    members = json.loads(text)
    return Policy(**{**members, "backoff": Backoff(**members["backoff"])})


@lru_cache(maxsize=1_024)
def text_of(policy: Policy) -> str:
    """The stored form of a policy; the default one is the empty text."""
    if policy == DEFAULT_POLICY:
        return ""
    backoff = policy.backoff
    members: dict[str, Any] = {
        "on_failure": policy.on_failure,
        "max_attempts": policy.max_attempts,
        "backoff": {"base_seconds": backoff.base_seconds, "factor": backoff.factor, "max_seconds": backoff.max_seconds},
        "max_abandoned": policy.max_abandoned,
        "run_limit_ms": policy.run_limit_ms,
    }
    return json.dumps(members, separators=(",", ":"))


def unit_from(row: Row) -> Unit:
    """A unit from a row whose columns begin with the unit's members in their order, those of calls left out."""
    members = list(row[:20])
    members[4], members[10] = _STATES[row[4]], bool(row[10])
    members[18], members[19] = _CAUSES[row[18]], policy_of(row[19])
    return Unit(*members)


def any_unit_from(row: Row) -> Unit:
    """A unit from a row of `lock_units`, which has what only calls have behind the detail of a task."""
    unit = unit_from(row)
    unit.cancelling, unit.deadline_at, unit.parent = bool(row[21]), row[22], row[23]
    return unit


def view_of(unit: Unit, detail: str, traceparent: str | None = None, delivery: int = 1) -> TaskView:
    """The unit as the wire shows it."""
    shown = (unit.id, unit.plan, unit.name, unit.state, unit.started, unit.version, unit.priority)
    return TaskView(*shown, detail, traceparent, delivery)


@dataclass(slots=True)
class Changes:
    """What the decisions of one procedure changed so far."""

    units: dict[int, Unit] = field(default_factory=dict)
    before: dict[int, str] = field(default_factory=dict)  # what each unit was counted as at first
    events: list[Event] = field(default_factory=list)
    satisfied: list[int] = field(default_factory=list)
    failed: list[Unit] = field(default_factory=list)
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)  # accepted answers to calls, by their units

    def note(self, before: str, unit: Unit, event: Event | None) -> None:
        """Remember that `unit`, which was counted as `before`, changed."""
        self.units[unit.id] = unit
        self.before.setdefault(unit.id, before)
        if event is not None:
            self.events.append(event)
        if unit.state != before:
            if unit.state in SATISFIED and before not in SATISFIED:
                self.satisfied.append(unit.id)
            if unit.failed_for_good and unit.policy.on_failure == "skip":
                self.failed.append(unit)


def lock_units(
    ids: Iterable[int], details: dict[int, str] | None = None
) -> Generator[Step, list[Row], dict[int, Unit]]:
    """Load units by id, ascending; on PostgreSQL their rows stay locked until the transaction ends.

    Units of deleted plans are left out. `details` receives the unchanging members of the tasks.
    """
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    rows = yield Fetch("lock_units", {"ids": wanted})
    if details is not None:
        details.update((row[0], row[20]) for row in rows)
    return {row[0]: any_unit_from(row) for row in rows}


def load_missing(changes: Changes, ids: Iterable[int]) -> Generator[Step, list[Row], list[Unit]]:
    """Units by id, ascending: those already changed as they stand, the others loaded and locked."""
    wanted = sorted(set(ids))
    loaded = yield from lock_units(id_ for id_ in wanted if id_ not in changes.units)
    found = {**loaded, **changes.units}
    return [found[id_] for id_ in wanted if id_ in found]
