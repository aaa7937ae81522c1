"""The threads of a run: one that claims, one that says that the worker lives, and one for each slot.

One claim is parked however many slots are free. As soon as it brings a task, a slot takes the task over and the next
claim goes out, so slots fill one round trip after another, and no task is ever claimed without a free slot.
"""

from __future__ import annotations

import logging
import queue
from typing import TYPE_CHECKING

from .errands import Claim, Heartbeat, Register
from .errors import Release
from .guarded import guarded
from .handlers import reason_of
from .session import Hold
from .steps import Crash, Done, Empty, Got, Skipped, Unregistered
from .transport import Connection
from .verdicts import Verb

if TYPE_CHECKING:
    from .shift import Shift

log = logging.getLogger("hiringhall_worker")

# After a claim that brought something unusable.
PAUSE_SECONDS = 0.5


class Claimer:
    """Registers, then claims whenever a slot is free."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.connection = Connection(shift.address)
        self._thread = guarded(shift, self._run, "claim")

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)

    def _run(self) -> None:
        if self._registered():
            while self._slot_free() and self._claim():
                pass
        self.connection.close()

    def _registered(self) -> bool:
        shift = self._shift
        with shift.changed:
            if shift.session.identity is not None:
                return True
        if not isinstance(shift.carry_out(Register(shift.session), self.connection, shift.hopeful), Done):
            return False
        log.info("registered as %s", shift.session.name)
        return True

    def _slot_free(self) -> bool:
        """Wait until a task could be started; False once nothing new is taken."""
        shift = self._shift

        def ready() -> bool:
            return not shift.session.quiet and len(shift.calls) < shift.rules.concurrency

        with shift.changed:
            shift.changed.wait_for(lambda: shift.stop.is_set() or ready())
            return not shift.stop.is_set()

    def _claim(self) -> bool:
        """Claim once; False ends the claiming."""
        shift = self._shift
        with shift.changed:
            idle = not shift.calls
            errand = Claim(shift.session)
        step = shift.carry_out(errand, self.connection, shift.hopeful)
        if isinstance(step, Got):
            log.info("claimed %s", step.hold)
            shift.begin(step.hold)
            return not (shift.rules.once and self._finish_when_idle())
        if isinstance(step, Empty):
            if shift.rules.until_empty and idle and not shift.session.quiet:
                shift.finish()
                return False
            return True
        if isinstance(step, Skipped):
            if step.expected:
                return True
            log.warning("claim: %s", step.why)
            return shift.hopeful(PAUSE_SECONDS)
        return False

    def _finish_when_idle(self) -> bool:
        shift = self._shift
        with shift.changed:
            shift.changed.wait_for(lambda: shift.stop.is_set() or not shift.calls)
        shift.finish()
        return True


class Heart:
    """Beats in a thread of its own, so that no handler delays it, and registers anew if the hall asks who this is."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.connection = Connection(shift.address)
        self._thread = guarded(shift, self._run, "heartbeat")

    def start(self) -> None:
        self._thread.start()

    def _patient(self, seconds: float) -> bool:
        return not self._shift.ended.wait(seconds)

    def _run(self) -> None:
        shift = self._shift
        with shift.changed:
            shift.changed.wait_for(lambda: shift.ended.is_set() or shift.session.identity is not None)
        # Registering tells how far apart the hall wants the beats; who did not register beats at once to hear it.
        beaten = False
        while (not beaten and not shift.session.introduced) or self._patient(shift.session.beat_seconds):
            beaten = True
            if shift.ended.is_set():
                break
            with shift.changed:
                errand = Heartbeat(shift.session)
                introduced = shift.session.introduced  # as it was before the hall was asked
            step = shift.carry_out(errand, self.connection, self._patient)
            if isinstance(step, Crash):
                break
            if isinstance(step, Unregistered) and introduced:
                self._register_anew(step)
        self.connection.close()

    def _register_anew(self, step: Unregistered) -> None:
        shift = self._shift
        if not step.can_register:
            log.warning("the hall does not know this worker id (any more); the next claim introduces it")
            return
        log.warning("the hall no longer knows this worker; registering anew")
        if isinstance(shift.carry_out(Register(shift.session), self.connection, self._patient), Done):
            log.info("registered as %s", shift.session.name)
            shift.interrupt_claim()


class Slots:
    """As many threads as tasks may run at once. Each runs a handler and tells the hall how it ended."""

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self._waiting: queue.SimpleQueue[Hold | None] = queue.SimpleQueue()
        self._threads = [guarded(shift, self._run, f"slot-{n}") for n in range(shift.rules.concurrency)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def put(self, hold: Hold) -> None:
        self._waiting.put(hold)

    def dismiss(self) -> None:
        """Let the threads end, each after what it does now."""
        for _ in self._threads:
            self._waiting.put(None)

    def _run(self) -> None:
        shift = self._shift
        connection = Connection(shift.address)
        while True:
            hold = self._waiting.get()
            if hold is None:
                break
            try:
                verb, reason = self._outcome(hold)
                shift.settle(hold, verb, reason, connection)
            finally:
                with shift.changed:
                    shift.session.forget(hold)
                    shift.calls.pop(hold, None)
                    shift.changed.notify_all()
        connection.close()

    def _outcome(self, hold: Hold) -> tuple[Verb, str | None]:
        call = self._shift.calls[hold]
        try:
            call.run()
        except Release as error:
            return Verb.RELEASE, str(error) or None
        except BaseException as error:
            if not call.task.cancelled.is_set():
                log.warning("%s failed", hold, exc_info=True)
            return Verb.FAIL, reason_of(error)
        return Verb.COMPLETE, None
