"""What may be asked of the store, and the outcome of each ask.

An ask that is refused changes nothing. The order within a batch is fixed by `ORDER`, whatever the order of arrival.
Times are milliseconds by the database's clock. What is made for every request is a msgspec struct, which costs a
fraction of a frozen dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.plan import PlanFile
from hiringhall.ports.calls import (
    AddFeedback,
    CallAsk,
    Drain,
    ForgetCalls,
    Goodbye,
    Lock,
    RegisterServiceWorker,
    Respond,
    Submit,
    SweepDeadlines,
    Withdraw,
)
from hiringhall.ports.identity import IDENTITY_ORDER, IdentityAsk

# --- plans -----------------------------------------------------------------------------------------------------------


class TaskView(msgspec.Struct, frozen=True):
    """A task as the wire shows it."""

    work: int
    plan: str
    task_id: str
    state: State
    started: bool
    version: int
    priority: int
    detail: str  # the inside of a JSON object
    traceparent: str | None = None  # of the request that applied the plan; told at a hand-over only
    delivery: int = 1  # how often this hand-over was sent, since its claim was repeated


class Settle(msgspec.Struct, frozen=True):
    """Complete, fail or release the task that the worker was handed. Outcome: TaskView | Conflict | Refused."""

    worker: str
    task_id: str
    version: int
    move: Move  # COMPLETE, FAIL or RELEASE
    plan: str | None = None
    reason: str | None = None
    any_holder: bool = False  # the asker bears the shared token
    jitter: float = 0.0
    key: bytes | None = None  # SHA-256 of the Idempotency-Key
    body: bytes | None = None  # SHA-256 of the body, with a key

    @property
    def unit(self) -> object:
        """At most one ask about a unit may be in a batch."""
        return (self.worker, self.task_id)


@dataclass(frozen=True, slots=True)
class Return:
    """Give back a hand-over whose answer did not arrive. Outcome: True if it was still held so.

    If the claim was repeated and its answer sent again, the earlier `delivery` is no longer the one to give back.
    """

    work: int
    version: int
    worker: str
    cause: Cause
    delivery: int = 1


@dataclass(frozen=True, slots=True)
class Reconcile:
    """Take back what a worker holds but does not name; the rest has no run limit any more, since the worker says what
    it holds. Outcome: the number of units taken back."""

    worker: str
    named: frozenset[tuple[str, str, int]]  # (plan, task, version)
    arrived_ms_ago: int = 0


@dataclass(frozen=True, slots=True)
class Apply:
    """Store a plan file, all or nothing. Outcome: Applied | Refused."""

    file: PlanFile
    prune: bool = False
    traceparent: str | None = None  # of the request, passed on to the workers that take the plan's tasks


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying changed. `created`: the plan is new."""

    plan_id: str
    added: int
    changed: int
    unchanged: int
    pruned: int
    created: bool


@dataclass(frozen=True, slots=True)
class DeletePlan:
    """Remove a plan and all its tasks. Outcome: True (False: there is none) | Refused."""

    plan: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class PausePlan:
    """Stop or go on handing out the tasks of a plan. Outcome: True (False: there is no such plan)."""

    plan: str
    paused: bool


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """Retry every failed task of a plan. Outcome: the number of tasks, or None if there is no such plan."""

    plan: str


@dataclass(frozen=True, slots=True)
class Steer:
    """An operator's verb on one task, or on the call that is the unit `work`. Outcome: TaskView, for a call
    State | Refused (`not_found` if it exists nowhere)."""

    plan: str
    task_id: str
    move: Move  # START, SKIP, CANCEL, RETRY, RESET, RELEASE, REPRIORITISE
    force: bool = False
    cascade: bool = False
    priority: int | None = None
    work: int | None = None  # of a call, which has no plan


@dataclass(frozen=True, slots=True)
class Unblock:
    """Close edges whose dependency is satisfied: of one plan, of plans applied lately, or of all. Outcome: Swept."""

    plan: str | None = None
    applied_within_ms: int | None = None


# --- taking ----------------------------------------------------------------------------------------------------------


class Take(msgspec.Struct, frozen=True):
    """Hand the worker the next ready units of some lanes. Outcome: Taken."""

    worker: str
    lanes: tuple[str, ...]  # keys
    limit: int = 1
    limited: bool = True  # the run limit applies
    key: bytes | None = None  # SHA-256 of the Idempotency-Key

    @property
    def unit(self) -> object:
        """A claim and its repetition may not be in one batch, or both would be given work."""
        return None if self.key is None else (self.worker, self.key)


class Taken(msgspec.Struct, frozen=True):
    """What was handed over, perhaps nothing. `drained`: a lane named by the ask has nothing ready now."""

    tasks: tuple[TaskView, ...] = ()
    drained: bool = False


# --- workers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """Admit a worker. Outcome: True, or False if the id is taken (never for `known_is_fine`)."""

    worker: str
    hostname: str = ""
    token_hash: bytes | None = None
    known_is_fine: bool = False


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of life: how long ago a worker was last heard, and its last heartbeat if any since the last sign."""

    worker: str
    seen_ms_ago: int
    beat_ms_ago: int | None = None


@dataclass(frozen=True, slots=True)
class MarkSeen:
    """Write down signs of life. Outcome: None."""

    signs: tuple[Sign, ...]


@dataclass(frozen=True, slots=True)
class DirectWorker:
    """Quiet, resume or terminate a worker. Outcome: True (False: there is no such worker)."""

    worker: str
    quiet: bool | None = None
    terminate: bool | None = None


@dataclass(frozen=True, slots=True)
class RemoveWorker:
    """Forget a worker; what it holds returns in the same transaction.

    Outcome: True (False: there is no such worker).
    """

    worker: str


# --- sweeps ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Beat:
    """Write the hall's pulse. Outcome: Beaten."""


@dataclass(frozen=True, slots=True)
class Beaten:
    """What is due. `deaf`: the hall could not hear until now, so that `heard_since` became now."""

    deaf: bool
    silent_due: bool  # somebody has been silent for so long that SweepSilent may find something
    overrun_due: bool  # something has been held for so long that SweepRunLimit may find something
    retry_in_ms: int | None  # until the next retry is due; 0 if one is
    deadline_in_ms: int | None = None  # until the next deadline passes; 0 if SweepDeadlines is due


@dataclass(frozen=True, slots=True)
class SweepSilent:
    """Take back what workers hold that fell silent.

    Outcome: Swept. `orphans`: also what holders held that are not known.
    """

    limit: int = 5_000
    orphans: bool = True


@dataclass(frozen=True, slots=True)
class SweepRunLimit:
    """Take back what was held longer than its run limit allows. Outcome: Swept."""

    limit: int = 500


@dataclass(frozen=True, slots=True)
class SweepRetries:
    """Make failed units ready whose retry is due. Outcome: Swept."""

    limit: int = 500


@dataclass(frozen=True, slots=True)
class FoldTallies:
    """Replace deltas by their sums. Outcome: Swept."""

    limit: int = 5_000


@dataclass(frozen=True, slots=True)
class Forget:
    """Delete what has been kept long enough. Outcome: Swept."""

    keep_plans_ms: int | None = None  # None: until deleted
    keep_workers_ms: int = 86_400_000
    keep_service_workers_ms: int = 7 * 86_400_000
    keep_hand_overs_ms: int = 86_400_000
    keep_directives_ms: int = 600_000
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: how many units or rows it changed, and whether there is more to do at once."""

    changed: int = 0
    more: bool = False


Ask: TypeAlias = (
    Settle | Return | Reconcile | Apply | DeletePlan | PausePlan | RetryPlan | Steer | Unblock | Take
    | Register | MarkSeen | DirectWorker | RemoveWorker
    | Beat | SweepSilent | SweepRunLimit | SweepRetries | FoldTallies | Forget
    | IdentityAsk | CallAsk
)  # fmt: skip

ORDER: Final[tuple[type[Any], ...]] = (
    Beat, *IDENTITY_ORDER, Register, RegisterServiceWorker, MarkSeen, Settle, AddFeedback, Respond, Return, Reconcile,
    Goodbye, DirectWorker, RemoveWorker, Apply, DeletePlan, PausePlan, RetryPlan, Steer, Withdraw, Lock, Submit,
    SweepSilent, SweepRunLimit, SweepRetries, SweepDeadlines, Unblock, FoldTallies, Forget, ForgetCalls, Take, Drain,
)  # fmt: skip
"""The order in which the asks of one batch are carried out."""
