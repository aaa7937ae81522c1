"""A drain: a service worker asks for its share of the calls that are ready for it, and may wait until there are some.

"Eager mode adds ?wait=N so the call hangs until work arrives or about N seconds pass."
It stands in every lane that the worker fits, and moves when these change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from hiringhall.domain.call import Dispatch, parts_of_lane
from hiringhall.domain.names import call_name
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.operations.waiting import Caller, Waiting
from hiringhall.ports.calls import Drain, Drained, Message
from hiringhall.ports.wakeups import Lane


class Drainer(Caller, Protocol):
    """Who waits for the outcome of a drain."""

    def handed(self, messages: tuple[Message, ...]) -> None:
        """These were handed or offered."""

    def refused(self, refused: Refused) -> None:
        """The worker is given nothing, and why."""


class Draining(Waiting):
    """One drain of one worker, under its login `session`."""

    __slots__ = ("_incarnation", "_keys", "_limit", "_session", "_taken")

    _caller: Drainer

    def __init__(
        self, hall: Hall, drainer: Drainer, known: Known, session: str, hold_seconds: float,
        *, limit: int, limited: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(hall, drainer, known, (), hold_seconds, limited=limited)
        self._session = session
        self._limit = limit
        self._keys: tuple[str, ...] = ()
        self._incarnation = 0
        self._taken: tuple[Message, ...] = ()
        self._is_changed()

    def _is_changed(self) -> bool:
        service = self._known.service
        if service is None or (service.lanes == self._keys and service.incarnation == self._incarnation):
            return False
        wakeups = self._hall.wakeups
        lanes = tuple(wakeups.lane(key) for key in service.lanes)
        self._leave_line()
        for lane in self._lanes:
            wakeups.done_with(lane)
        self._lanes, self._keys, self._incarnation = lanes, service.lanes, service.incarnation
        return True

    def _has_to_look(self) -> bool:
        return self._hold <= 0 or not self._lanes

    def _ask(self) -> Drain:
        return Drain(self._known.key, self._session, self._limit, self._limited)

    def _seen_empty(self, outcome: Drained) -> Iterable[Lane]:
        """A call in a race stays ready for others when it has been offered to this worker."""
        return [lane for lane in self._lanes if not _is_race(lane.key)] if outcome.drained else ()

    def _left_over(self, outcome: Drained) -> Iterable[Lane]:
        if not outcome.drained:
            return self._lanes
        if any(message.lock_required for message in outcome.messages):
            return [lane for lane in self._lanes if _is_race(lane.key)]
        return ()

    def _refused(self, refused: Refused) -> None:
        self._caller.refused(refused)

    def _deliver(self, outcome: Drained) -> bool:
        messages = outcome.messages
        self._hall.probes.drained(self._known.key, not outcome.drained, taken=bool(messages))
        if not messages:
            return False
        self._finish()
        known = self._known
        if not self._caller.is_there():
            self._give_back(messages)
            return True
        self._taken = messages
        if known.open is not None:
            now = self._hall.time()
            for message in messages:
                if not message.lock_required:
                    known.open[message.work] = (call_name(message.request_id), now)
        self._caller.handed(messages)
        return True

    def _give_back(self, messages: Iterable[Message]) -> None:
        """What was only offered needs nothing: nobody holds it."""
        held = [message for message in messages if not message.lock_required]
        self._hall.hand_back.lost(held, self._known.key, repeatable=False)

    def lost(self) -> None:
        """The answer certainly did not arrive."""
        if self._known.open is not None:
            for message in self._taken:
                self._known.open.pop(message.work, None)
        self._give_back(self._taken)


def _is_race(lane_key: str) -> bool:
    """Whether the calls of a lane are offered to all."""
    parts = parts_of_lane(lane_key)
    return parts is not None and parts[2] is Dispatch.RACE
