"""The threads of a run: one that drains, one that says that the worker lives, and up to one for each slot.

One drain is parked however many slots are free, and asks for no more calls than there are slots. A hall that hands out
more anyway has the rest waiting here until a slot is free.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

from ..guarded import guarded
from ..steps import Again, Crash, Done, Skipped
from ..transport import Connection
from . import outcome
from .call import Call
from .child import Children
from .errands import Drain, Heartbeat, Lock, Register, Respond
from .methods import Running
from .outcome import Outcome
from .session import Hold
from .steps import Drained, Unregistered

if TYPE_CHECKING:
    from .shift import Shift

log = logging.getLogger("hiringhall_worker")

LOCK_ATTEMPTS = 4
# Before a worker registers again that the hall does not know.
UNREGISTERED_SECONDS = 0.5
# How long an answer waits for the feedback that came before it; the hall takes none after the answer.
FEEDBACK_FIRST_SECONDS = 1.0
# A Lazy worker looks by itself this often, in case its wake-up port cannot be reached.
LOOK_SECONDS = 30.0


class Drainer:
    """Registers, then drains whenever a slot is free: Eager all the time, Lazy when there is reason to."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._connection = Connection(shift.address)
        self._thread = guarded(shift, self._run, "drain")
        self._lazy = shift.probe is not None
        self._hungry = True

    def start(self) -> None:
        self._thread.start()

    def pull(self) -> None:
        """There is reason to drain."""
        with self._shift.changed:
            self._hungry = True
            self._shift.changed.notify_all()

    def end(self, parked_seconds: float, aborted_seconds: float) -> None:
        """End a parked drain; calls that are already under way still arrive."""
        if self._thread.ident is not None:
            self._connection.interrupt()
            self._thread.join(parked_seconds)
            self._connection.abort()
            self._thread.join(aborted_seconds)

    def _run(self) -> None:
        shift = self._shift
        if self._register():
            log.info("registered as %s/%s", shift.session.terms.service, shift.session.terms.worker_id)
            while self._due() and self._drain():
                pass
        self._connection.close()

    def _register(self) -> bool:
        shift = self._shift
        return isinstance(shift.carry_out(Register(shift.session), self._connection, shift.hopeful), Done)

    def _due(self) -> bool:
        """Wait until a call could be started, and is worth asking for; False once nothing new is taken."""
        shift = self._shift

        def ready() -> bool:
            return not shift.session.quiet and len(shift.session.holds) < shift.rules.concurrency

        look_at = time.monotonic() + LOOK_SECONDS
        with shift.changed:
            while not shift.stop.is_set():
                hungry = self._hungry or not self._lazy
                if ready() and (hungry or time.monotonic() >= look_at):
                    self._hungry = False
                    return True
                shift.changed.wait(LOOK_SECONDS if self._lazy and not hungry else None)
        return False

    def _drain(self) -> bool:
        """Drain once; False ends the draining."""
        shift = self._shift
        with shift.changed:
            spare = shift.rules.concurrency - len(shift.session.holds)
            errand = Drain(shift.session, max(1, spare), wait=not self._lazy)
        step = shift.carry_out(errand, self._connection, shift.hopeful)
        if isinstance(step, Unregistered):
            log.warning("the hall does not know this worker; registering")
            return shift.hopeful(UNREGISTERED_SECONDS) and self._register()
        if not isinstance(step, Drained):
            return False
        if step.holds:
            self._hungry = True
            for hold in step.holds:
                log.info("got %s", hold)
            shift.slots.put(step.holds)
        return True


class Heart:
    """Beats in a thread of its own, so that no method delays it, and registers anew if the hall asks who this is."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.connection = Connection(shift.address)
        self._thread = guarded(shift, self._run, "heartbeat")

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        shift = self._shift
        with shift.changed:
            shift.changed.wait_for(lambda: shift.ended.is_set() or shift.session.registered)
        while shift.patient(shift.session.beat_seconds):
            step = shift.carry_out(Heartbeat(shift.session), self.connection, shift.patient)
            if isinstance(step, Crash):
                break
            if isinstance(step, Unregistered) and not shift.stop.is_set():
                log.warning("the hall no longer knows this worker; registering anew")
                shift.carry_out(Register(shift.session), self.connection, shift.patient)
        self.connection.close()


class Slots:
    """Threads that run methods and answer for them: as many as calls were here at once, at most `concurrency`."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._waiting: deque[Hold] = deque()
        self._threads = 0
        self._idle = 0
        self._children = Children()
        self._closed = False

    def put(self, holds: tuple[Hold, ...]) -> None:
        """Have these calls run, in this order."""
        with self._shift.changed:
            self._waiting.extend(holds)
            wanted = min(len(self._waiting) - self._idle, self._shift.rules.concurrency - self._threads)
            for _ in range(max(0, wanted)):
                self._threads += 1
                guarded(self._shift, self._run, f"slot-{self._threads}").start()
            self._shift.changed.notify_all()

    def close(self) -> None:
        """Let the threads end, each after what it does now, and kill the processes."""
        with self._shift.changed:
            self._closed = True
            self._shift.changed.notify_all()
        self._children.close()

    def _next(self) -> Hold | None:
        shift = self._shift
        with shift.changed:
            self._idle += 1
            shift.changed.wait_for(lambda: self._waiting or self._closed)
            self._idle -= 1
            if not self._waiting or self._closed:
                return None
            hold = self._waiting.popleft()
            hold.begun = not hold.given_back
            return hold

    def _run(self) -> None:
        shift = self._shift
        connection = Connection(shift.address)
        while (hold := self._next()) is not None:
            try:
                if hold.begun and (not hold.lock_required or self._lock(hold, connection)):
                    self._answer(hold, self._outcome(hold), connection)
            finally:
                with shift.changed:
                    shift.session.forget(hold)
                    shift.runs.pop(hold, None)
                    shift.changed.notify_all()
        connection.close()

    def _lock(self, hold: Hold, connection: Connection) -> bool:
        shift = self._shift
        left = LOCK_ATTEMPTS - 1

        def patience(seconds: float) -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and shift.patient(seconds)

        with shift.changed:
            errand = Lock(shift.session, hold)
        step = shift.carry_out(errand, connection, patience)
        if isinstance(step, Skipped):
            log.debug("%s is another worker's: %s", hold, step.why)
        return isinstance(step, Done)

    def _outcome(self, hold: Hold) -> Outcome:
        shift = self._shift
        prepared = shift.methods.prepare(hold.method, hold.params)
        if isinstance(prepared, Outcome):
            log.warning("%s: %s", hold, prepared.error_text)
            return prepared
        method, arguments = prepared
        call = Call(shift.session.terms.service, hold.members, shift.feed.say)
        running = Running(method, arguments, call, shift.loops, self._children)
        with shift.changed:
            if hold.cancelled:
                return outcome.failed(f"{call.service}/{hold.method}: cancelled")
            shift.runs[hold] = running
        return running.outcome()

    def _answer(self, hold: Hold, told: Outcome, connection: Connection) -> None:
        shift = self._shift
        shift.feed.flush(hold.request_id, FEEDBACK_FIRST_SECONDS)
        with shift.changed:
            if hold.given_back:
                log.info("%s was given back before its method ended; the answer is dropped", hold)
                return
            hold.answering = True
            errand = Respond(shift.session, hold, told)
        step = shift.carry_out(errand, connection, shift.persistent)
        if isinstance(step, Skipped):
            log.log(logging.INFO if step.expected else logging.WARNING, "answer of %s dropped: %s", hold, step.why)
        elif isinstance(step, Again):
            log.warning("answer of %s could not be given before the end: %s", hold, step.why)
        elif not isinstance(step, Crash):
            log.info("%s: %s", told.status, hold)
