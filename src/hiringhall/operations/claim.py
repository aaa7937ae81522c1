"""A claim: look, wait in line, be rung and look again, until there is work or the hold is over.

"a task transitions PENDING → CLAIMED (200), or the cumulative wait exceeds claim_long_poll_timeout (204)". A caller
that went away gets nothing: a claim not yet looked for is dropped, and what was handed over for it is given back.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from hiringhall.domain.topics import plan_lane
from hiringhall.operations.hall import Hall
from hiringhall.operations.parked import Moment
from hiringhall.operations.presence import NEVER, Known
from hiringhall.ports.asks import Take, TaskView
from hiringhall.ports.wakeups import HOPS_MAX

MAX_TASKS_LIMIT: Final = 100
SHORTEST_SHARE: Final = 0.9
"""A held call ends after 0.9 to 1.0 of its time, so that callers do not fall into step."""

_LOOKING, _PARKED, _ENDED = range(3)


class Claimant(Protocol):
    """Who waits for the outcome of a claim."""

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""

    def handed(self, tasks: tuple[TaskView, ...]) -> None:
        """These were handed over."""

    def nothing(self) -> None:
        """There was nothing for it in time."""

    def failed(self, failure: Exception) -> None:
        """It could not be looked for."""


class Claim:
    """One claim of one worker on one plan. `key`: SHA-256 of its Idempotency-Key."""

    __slots__ = (
        "__weakref__",
        "_claimant",
        "_ends_at",
        "_hall",
        "_hold",
        "_hops",
        "_key",
        "_known",
        "_lane",
        "_limit",
        "_limited",
        "_moment",
        "_rings",
        "_said",
        "_state",
        "_taken",
    )  # fmt: skip

    def __init__(
        self, hall: Hall, claimant: Claimant, known: Known, plan: str, hold_seconds: float,
        *, limit: int = 1, limited: bool = True, key: bytes | None = None,
    ) -> None:  # fmt: skip
        self._hall = hall
        self._claimant = claimant
        self._known = known
        self._lane = hall.wakeups.lane(plan_lane(plan))
        self._hold = hold_seconds
        self._limit = limit
        self._limited = limited
        self._key = key
        self._ends_at = 0.0
        self._moment: Moment | None = None
        """When it ends, once it was parked."""
        self._rings = 0
        self._hops = 0
        self._taken: tuple[TaskView, ...] = ()
        self._said = known.directive
        self._state = _LOOKING

    def start(self, now: float) -> None:
        """Look for work, or wait in line if it is known that there is none."""
        if self._hall.draining:
            self._finish()
            self._claimant.nothing()
            return
        self._ends_at = now + self._hold
        # Whoever does not wait has to look, unless others wait there: the re-check notices a lost ring for them alone.
        known_drained = self._lane.drained and (self._hold > 0 or self._lane.waiting > 0)
        if self._key is None and (self._quiet or known_drained):
            self._park()
        else:
            self._look()

    @property
    def _quiet(self) -> bool:
        return self._known.quiet

    # --- looking

    def _look(self) -> None:
        self._state = _LOOKING
        lane = self._lane
        self._rings = lane.rings
        self._limited = self._limited and self._known.open is None
        self._hall.coalescer.ask(
            Take(self._known.key, (lane.key,), self._limit, self._limited, self._key),
            self._looked, alive=self._claimant.is_there, on_gone=self._dropped,
        )  # fmt: skip

    def _dropped(self) -> None:
        """Gone before the batch was formed: nothing was taken."""
        hops = self._hops
        self._finish()
        self._lane.pass_on(hops)

    def _looked(self, outcome: Any) -> None:
        lane, hops, self._hops = self._lane, self._hops, 0
        if isinstance(outcome, Exception):
            self._finish()
            if self._claimant.is_there():
                self._claimant.failed(outcome)
            return
        if outcome.drained:
            lane.mark_drained(self._rings)
        if outcome.tasks:
            self._hand_over(outcome.tasks)
            if not outcome.drained:  # there is more than was told of: whoever is served wakes the next
                lane.pass_on(HOPS_MAX)
        elif not self._claimant.is_there():
            self._finish()
            lane.pass_on(hops)
        elif self._hall.draining or self._known.directive != self._said or self._is_over():
            self._finish()
            lane.pass_on(hops)
            self._claimant.nothing()
        elif lane.rings != self._rings and not lane.drained and not self._quiet:
            self._hops = hops
            self._look()
        else:
            self._park()
            lane.pass_on(hops)

    def _is_over(self) -> bool:
        return self._hold <= 0 or self._hall.time() >= self._ends_at

    def _hand_over(self, tasks: tuple[TaskView, ...]) -> None:
        self._finish()
        hall, known = self._hall, self._known
        if not self._claimant.is_there():
            hall.hand_back.lost(tasks, known.key, repeatable=self._key is not None)
            return
        self._taken = tasks
        if self._key is not None:
            hall.hand_back.answered(tasks)
        if known.open is not None:
            now = hall.time()
            for task in tasks:
                known.open[task.work] = ((task.plan, task.task_id, task.version), now)
        self._claimant.handed(tasks)

    def lost(self) -> None:
        """The answer certainly did not arrive."""
        if self._known.open is not None:
            for task in self._taken:
                self._known.open.pop(task.work, None)
        self._hall.hand_back.lost(self._taken, self._known.key, repeatable=self._key is not None)

    # --- waiting in line

    def _park(self) -> None:
        if self._hold <= 0:
            self._finish()
            self._claimant.nothing()
            return
        self._state = _PARKED
        hall, known = self._hall, self._known
        if not self._quiet:  # a quiet worker gets nothing, so a ring would be wasted on it
            self._lane.park(self)
        if self._moment is None:
            ends_at = self._ends_at - self._hold * (1.0 - SHORTEST_SHARE) * hall.jitter()
            self._moment = hall.parked.add(self, ends_at)
            self._ends_at = self._moment.at
            hall.presence.park(known, self)
            if known.read_at == NEVER:  # the worker's topic was rung before anybody listened
                self.told()

    def rung(self, hops: int) -> None:
        """There may be work: look again."""
        self._hops = hops
        self._look()

    def told(self) -> None:
        """Something about the worker changed: see what."""
        self._hall.presence.find(self._known.key, self._seen_again)

    def _seen_again(self, known: Known | Exception | None) -> None:
        if self._state != _PARKED or isinstance(known, Exception):
            return
        if known is None or known.directive not in (self._said, b""):
            self.end()
        elif known.directive != self._said:  # nothing to tell any more
            was_quiet, self._said = self._said.startswith((b"quiet", b"terminate")), b""
            if was_quiet:
                self._look()

    def time_over(self) -> None:
        """The moment at which it ends has come; if it is being looked for, that was the last look."""
        self._ends_at = 0.0
        self.end()

    def end(self) -> None:
        """End a parked claim with the empty answer; one that is being looked for ends by itself."""
        if self._state == _PARKED:
            self._finish()
            self._claimant.nothing()

    def fail(self, failure: Exception) -> None:
        """End a parked claim since the database is away."""
        if self._state == _PARKED:
            self._finish()
            self._claimant.failed(failure)

    def gone(self) -> None:
        """The caller went away before the answer."""
        if self._state == _PARKED:
            self._finish()

    def _finish(self) -> None:
        if self._state == _ENDED:
            return
        self._state = _ENDED
        hall, lane = self._hall, self._lane
        if self._moment is not None:
            lane.leave(self)
            hall.parked.remove(self, self._moment)
            self._moment = None
            hall.presence.unpark(self._known, self)
        hall.wakeups.done_with(lane)
