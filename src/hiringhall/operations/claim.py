"""A claim: one worker waits for the next tasks of one plan.

"a task transitions PENDING → CLAIMED (200), or the cumulative wait exceeds claim_long_poll_timeout (204)"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from hiringhall.domain.topics import plan_lane
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.operations.waiting import Caller, Waiting
from hiringhall.ports.asks import Take, Taken, TaskView
from hiringhall.ports.wakeups import Lane

MAX_TASKS_LIMIT: Final = 100


class Claimant(Caller, Protocol):
    """Who waits for the outcome of a claim."""

    def handed(self, tasks: tuple[TaskView, ...]) -> None:
        """These were handed over."""


class Claim(Waiting):
    """One claim of one worker on one plan. `key`: SHA-256 of its Idempotency-Key."""

    __slots__ = ("_key", "_limit", "_taken")

    _caller: Claimant

    def __init__(
        self, hall: Hall, claimant: Claimant, known: Known, plan: str, hold_seconds: float,
        *, limit: int = 1, limited: bool = True, key: bytes | None = None,
    ) -> None:  # fmt: skip
        lane = hall.wakeups.lane(plan_lane(plan))
        super().__init__(hall, claimant, known, lane.alone, hold_seconds, limited=limited)
        self._limit = limit
        self._key = key
        self._taken: tuple[TaskView, ...] = ()

    def _has_to_look(self) -> bool:
        return self._key is not None

    def _ask(self) -> Take:
        return Take(self._known.key, (self._lanes[0].key,), self._limit, self._limited, self._key)

    def _seen_empty(self, outcome: Taken) -> Iterable[Lane]:
        return self._lanes if outcome.drained else ()

    def _left_over(self, outcome: Taken) -> Iterable[Lane]:
        return () if outcome.drained else self._lanes

    def _deliver(self, outcome: Taken) -> bool:
        tasks = outcome.tasks
        if not tasks:
            return False
        self._finish()
        hall, known = self._hall, self._known
        if not self._caller.is_there():
            hall.hand_back.lost(tasks, known.key, repeatable=self._key is not None)
            return True
        self._taken = tasks
        if self._key is not None:
            hall.hand_back.answered(tasks)
        if known.open is not None:
            now = hall.time()
            for task in tasks:
                known.open[task.work] = ((task.plan, task.task_id, task.version), now)
        self._caller.handed(tasks)
        return True

    def lost(self) -> None:
        """The answer certainly did not arrive."""
        if self._known.open is not None:
            for task in self._taken:
                self._known.open.pop(task.work, None)
        self._hall.hand_back.lost(self._taken, self._known.key, repeatable=self._key is not None)
