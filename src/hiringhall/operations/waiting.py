"""A call that waits for work: look, wait in line, be rung and look again, until there is work or the hold is over.

A caller that went away gets nothing: a look not yet begun is dropped, and what was handed over for it is given back.
One who waits stands in several lanes at once, and is rung in one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.parked import Moment
from hiringhall.operations.presence import NEVER, Known
from hiringhall.ports.asks import Ask
from hiringhall.ports.wakeups import HOPS_MAX, Lane

SHORTEST_SHARE: Final = 0.9
"""A held call ends after 0.9 to 1.0 of its time, so that callers do not fall into step."""

_LOOKING, _PARKED, _ENDED = range(3)


class Caller(Protocol):
    """Who waits for the outcome."""

    def is_there(self) -> bool:
        """Whether an answer could still arrive."""

    def nothing(self) -> None:
        """There was nothing for it in time."""

    def failed(self, failure: Exception) -> None:
        """It could not be looked for."""


class Waiting:
    """One call of one worker. Subclasses say what the store is asked, and what to do with its outcome."""

    __slots__ = (
        "__weakref__",
        "_caller",
        "_ends_at",
        "_hall",
        "_hold",
        "_hops",
        "_known",
        "_lanes",
        "_limited",
        "_moment",
        "_rings",
        "_rung_on",
        "_said",
        "_state",
    )  # fmt: skip

    _caller: Caller

    def __init__(
        self, hall: Hall, caller: Caller, known: Known, lanes: tuple[Lane, ...], hold_seconds: float, *, limited: bool
    ) -> None:
        self._hall = hall
        self._caller = caller
        self._known = known
        self._lanes = lanes
        self._hold = hold_seconds
        self._limited = limited
        self._ends_at = 0.0
        self._moment: Moment | None = None
        """When it ends, once it was parked."""
        self._rings = 0
        """The generation of its lanes before the last look."""
        self._rung_on: Lane | None = None
        self._hops = 0
        self._said = known.word
        self._state = _LOOKING

    # --- what differs

    def _ask(self) -> Ask:
        """What the store is asked."""
        raise NotImplementedError

    def _has_to_look(self) -> bool:
        """Whether it looks even though nothing is said to be there."""
        raise NotImplementedError

    def _seen_empty(self, outcome: Any) -> Iterable[Lane]:
        """The lanes in which the look found that nothing is ready for anybody."""
        raise NotImplementedError

    def _left_over(self, outcome: Any) -> Iterable[Lane]:
        """The lanes in which there is more than it was told of: whoever is served wakes the next."""
        raise NotImplementedError

    def _deliver(self, outcome: Any) -> bool:
        """Hand over what was found, or give it back; false if nothing was. The call has not ended yet."""
        raise NotImplementedError

    def _is_changed(self) -> bool:
        """Whether what the worker may be given has changed, so that it has to look in other places."""
        return False

    def _refused(self, refused: Refused) -> None:
        """The store does not serve this worker."""
        raise NotImplementedError

    # --- looking

    def start(self, now: float) -> None:
        """Look for work, or wait in line if it is known that there is none."""
        if self._hall.draining:
            self._finish()
            self._caller.nothing()
            return
        self._ends_at = now + self._hold
        if not self._has_to_look() and (self._quiet or self._is_known_empty()):
            self._park()
        else:
            self._look()

    def _is_known_empty(self) -> bool:
        """Whoever does not wait has to look, unless others wait there: the re-check notices a lost ring for them
        alone."""
        waits = self._hold > 0
        return all(lane.drained and (waits or lane.waiting > 0) for lane in self._lanes)

    @property
    def _quiet(self) -> bool:
        return self._known.quiet

    def _generation(self) -> int:
        """It changes with every ring in any of the lanes."""
        lanes = self._lanes
        return lanes[0].rings if len(lanes) == 1 else sum(lane.rings for lane in lanes)

    def _look(self) -> None:
        if self._state == _PARKED:
            self._leave_line()
        self._state = _LOOKING
        self._rings = self._generation()
        self._limited = self._limited and self._known.open is None
        self._hall.coalescer.ask(self._ask(), self._looked, alive=self._caller.is_there, on_gone=self._dropped)

    def _dropped(self) -> None:
        """Gone before the batch was formed: nothing was taken."""
        self._finish()
        self._pass_on()

    def _pass_on(self) -> None:
        """A ring that was of no use is the next one's."""
        lane, hops, self._rung_on, self._hops = self._rung_on, self._hops, None, 0
        if lane is not None:
            lane.pass_on(hops)

    def _looked(self, outcome: Any) -> None:
        if isinstance(outcome, Exception):
            self._finish()
            if self._caller.is_there():
                self._caller.failed(outcome)
            return
        if isinstance(outcome, Refused):
            self._finish()
            if self._caller.is_there():
                self._refused(outcome)
            self._pass_on()
            return
        self._mark_empty(outcome)
        if self._deliver(outcome):
            for lane in self._left_over(outcome):
                lane.pass_on(HOPS_MAX)
        elif not self._caller.is_there():
            self._finish()
            self._pass_on()
        elif self._hall.draining or self._known.word != self._said or self._is_over():
            self._finish()
            self._pass_on()
            self._caller.nothing()
        elif self._is_changed() or self._is_rung_meanwhile():
            self._look()
        else:
            self._park()
            self._pass_on()

    def _mark_empty(self, outcome: Any) -> None:
        if self._generation() == self._rings:
            for lane in self._seen_empty(outcome):
                lane.mark_drained(lane.rings)

    def _is_rung_meanwhile(self) -> bool:
        if self._quiet or self._generation() == self._rings:
            return False
        return not all(lane.drained for lane in self._lanes)

    def _is_over(self) -> bool:
        return self._hold <= 0 or self._hall.time() >= self._ends_at

    # --- waiting in line

    def _park(self) -> None:
        if self._hold <= 0:
            self._finish()
            self._caller.nothing()
            return
        self._state = _PARKED
        hall, known = self._hall, self._known
        if not self._quiet:  # a quiet worker gets nothing, so a ring would be wasted on it
            for lane in self._lanes:
                lane.park(self)
        if self._moment is None:
            ends_at = self._ends_at - self._hold * (1.0 - SHORTEST_SHARE) * hall.jitter()
            self._moment = hall.parked.add(self, ends_at)
            self._ends_at = self._moment.at
            hall.presence.park(known, self)
            if known.read_at == NEVER:  # the worker's topic was rung before anybody listened
                self.told()

    def _leave_line(self) -> None:
        for lane in self._lanes:
            lane.leave(self)

    def rung(self, lane: Lane, hops: int) -> None:
        """There may be work: look again."""
        if self._state != _PARKED:  # rung in another lane at the same time: that look is to come
            return
        self._rung_on, self._hops = lane, hops
        self._look()

    def told(self) -> None:
        """Something about the worker changed: see what."""
        self._hall.presence.find(self._known.key, self._seen_again)

    def _seen_again(self, known: Known | Exception | None) -> None:
        if self._state != _PARKED or isinstance(known, Exception):
            return
        if known is None or known.word not in (self._said, b""):
            self.end()
        elif self._is_changed():
            self._said = known.word
            self._look()
        elif known.word != self._said:  # nothing to tell any more
            was_quiet, self._said = self._said.startswith((b"quiet", b"terminate")), b""
            if was_quiet:
                self._look()

    def look_again(self) -> None:
        """The worker may be given more than before."""
        if self._state == _PARKED and not self._quiet and not self._is_known_empty():
            self._look()

    # --- ending

    def time_over(self) -> None:
        """The moment at which it ends has come; if it is being looked for, that was the last look."""
        self._ends_at = 0.0
        self.end()

    def end(self) -> None:
        """End a parked call with the empty answer; one that is being looked for ends by itself."""
        if self._state == _PARKED:
            self._finish()
            self._caller.nothing()

    def fail(self, failure: Exception) -> None:
        """End a parked call since the database is away."""
        if self._state == _PARKED:
            self._finish()
            self._caller.failed(failure)

    def gone(self) -> None:
        """The caller went away before the answer."""
        if self._state == _PARKED:
            self._finish()

    def _finish(self) -> None:
        if self._state == _ENDED:
            return
        self._state = _ENDED
        hall = self._hall
        if self._moment is not None:
            self._leave_line()
            hall.parked.remove(self, self._moment)
            self._moment = None
            hall.presence.unpark(self._known, self)
        for lane in self._lanes:
            hall.wakeups.done_with(lane)
