"""Settling: complete, fail or release the task that a worker was handed, and on demand take the next one.

"Terminal-state RPC: status → DONE", "→ FAILED", or back to PENDING "so that a peer can re-claim it".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hiringhall.domain.lifecycle import Move, State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import plan_lane
from hiringhall.domain.work import Conflict, cut_reason
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.ports.asks import Settle, Take, Taken, TaskView


class Settler(Protocol):
    """Who waits for the outcome of a settle."""

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""

    def settled(self, task: TaskView) -> None:
        """It is as the worker said."""

    def refused(self, outcome: Conflict | Refused) -> None:
        """It is not, and why."""

    def failed(self, failure: Exception) -> None:
        """It is not known whether it is."""


class Settling:
    """One settle of one worker. `known` is None for a worker id that the hall does not know (the shared token)."""

    __slots__ = ("_hall", "_known", "_settler")

    def __init__(self, hall: Hall, settler: Settler, known: Known | None) -> None:
        self._hall = hall
        self._settler = settler
        self._known = known

    def start(
        self, worker: str, task_id: str, version: int, move: Move,
        *, plan: str | None, reason: str | None, any_holder: bool, key: bytes | None = None, body: bytes | None = None,
    ) -> None:  # fmt: skip
        """Ask for it. Once asked it is done, whether or not the caller waits for the answer."""
        hall = self._hall
        jitter = hall.jitter() if move is Move.FAIL else 0.0
        if reason is not None:
            reason = cut_reason(reason)
        hall.coalescer.ask(
            Settle(worker, task_id, version, move, plan, reason, any_holder, jitter, key, body), self._done
        )

    def _done(self, outcome: Any) -> None:
        if type(outcome) is TaskView:
            if self._known is not None and self._known.open:
                self._known.open.pop(outcome.work, None)
            if outcome.state is State.FAILED:
                self._hall.task_failed()
            self._settler.settled(outcome)
        elif isinstance(outcome, Exception):
            self._settler.failed(outcome)
        else:
            self._settler.refused(outcome)


def take_next(
    hall: Hall,
    known: Known,
    plan: str,
    *,
    limited: bool,
    is_there: Callable[[], bool],
    done: Callable[[TaskView | None], None],
) -> None:
    """The next task of the plan, already claimed, or None; for a worker that has just settled one."""
    lane = hall.wakeups.lane(plan_lane(plan))
    if hall.draining or lane.drained:
        hall.wakeups.done_with(lane)
        done(None)
        return
    rings = lane.rings

    def taken(outcome: Any) -> None:
        hall.wakeups.done_with(lane)
        if not isinstance(outcome, Taken):
            done(None)
            return
        if outcome.drained:
            lane.mark_drained(rings)
        if outcome.tasks and not is_there():
            hall.hand_back.lost(outcome.tasks, known.key, repeatable=False)
            return
        task = outcome.tasks[0] if outcome.tasks else None
        if task is not None and known.open is not None:
            known.open[task.work] = ((task.plan, task.task_id, task.version), hall.time())
        done(task)

    def dropped() -> None:
        hall.wakeups.done_with(lane)

    hall.coalescer.ask(Take(known.key, (lane.key,), 1, limited), taken, alive=is_there, on_gone=dropped)
