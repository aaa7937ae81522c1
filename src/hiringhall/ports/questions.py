"""What may be asked about what is stored: queries, and the views that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hiringhall.domain.lifecycle import State
from hiringhall.ports.asks import TaskView
from hiringhall.ports.calls import CallQuery, ServiceWorkerView
from hiringhall.ports.identity import IdentityQuery


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as the hall knows it. Times are milliseconds since the epoch."""

    key: str
    hostname: str
    has_token: bool
    quiet: bool
    terminate: bool
    registered_at: int
    last_seen: int | None
    last_beat: int | None
    offline: bool
    cancels: tuple[str, ...] = ()  # PLAN/TASK that it has to stop
    holds: int | None = None  # how many units; None: not asked for
    token_hash: bytes | None = None
    service: ServiceWorkerView | None = None  # told to FindWorkers


@dataclass(frozen=True, slots=True)
class FindWorkers:
    """Workers by key or by the hash of their token. Result: list[WorkerView], in no order.

    Asked by many requests at once, hence in the plural.
    """

    keys: tuple[str, ...] = ()
    token_hashes: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class ListWorkers:
    """Workers in the order of their keys. Result: list[WorkerView] with `holds`."""

    after: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ReadyLanes:
    """Which of these lane keys have something ready to be taken. Result: list[str].

    Lanes of calls made within the last minute are told too if they have: who could take from them may not know them.
    """

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan and how many of its tasks are where.

    `counts` has states as keys, and "retrying" for those failed with a retry due.
    """

    id: str
    name: str
    paused: bool
    applied_at: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FindPlan:
    """One plan. Result: PlanView | None."""

    plan: str


@dataclass(frozen=True, slots=True)
class ListPlans:
    """Plans in the order of their ids. Result: list[PlanView]."""

    after: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task in an operator's list."""

    view: TaskView
    seq: int
    waiting_on: int
    holder: str | None  # worker key
    retry_at: int | None
    attempts: int
    abandoned: int
    handed_at: int | None
    blocked_by: str | None = None  # the failed task that it waits for
    last_holder: str | None = None
    made_at: int = 0


@dataclass(frozen=True, slots=True)
class ListTasks:
    """Tasks of a plan in plan order.

    Result: list[TaskRow]. `after`: seq and work of the last one of the page before.
    """

    plan: str
    after: tuple[int, int] = (-1, 0)
    limit: int = 1_000
    states: tuple[State, ...] = ()


@dataclass(frozen=True, slots=True)
class FindTasks:
    """Tasks by id: of one plan, or of any plan that has one of that id. Result: list[TaskRow]."""

    task_id: str
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class KnownTasks:
    """Which of these tasks a plan has. Result: set[str]."""

    plan: str
    task_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One line of a unit's audit log. `move` is "submit" for its making and "hold" for a hand-over."""

    at: int
    version: int
    move: str
    state: str
    worker: str | None = None
    cause: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """The audit log of one unit, oldest first. Result: list[HistoryLine]."""

    work: int


@dataclass(frozen=True, slots=True)
class Alive:
    """Whether the database answers. Result: True."""


Query: TypeAlias = (
    FindWorkers
    | ListWorkers
    | ReadyLanes
    | FindPlan
    | ListPlans
    | ListTasks
    | FindTasks
    | KnownTasks
    | ReadHistory
    | Alive
    | IdentityQuery
    | CallQuery
)
