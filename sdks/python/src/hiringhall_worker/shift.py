"""One run of a worker: what its threads share, and the orderly end.

`changed` guards the session, the calls and the error, and is notified whenever one of them changes. `stop` says that
nothing new is taken; `ended` says that nothing more is sent.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from .bell import Bell
from .crew import Claimer, Heart, Slots
from .errands import Errand, Settle
from .errors import Unauthorized
from .handlers import Call, Handler, LoopThread
from .session import Hold, Session
from .steps import Again, Crash, Skipped, Step
from .task import Task
from .transport import Address, Connection
from .verdicts import Verb

log = logging.getLogger("hiringhall_worker")

# The end of a run takes at most the sum of these, after the grace.
PARKED_CLAIM_SECONDS = 0.3
ABORTED_CLAIM_SECONDS = 0.1
LAST_WORDS_SECONDS = 1.2
RELEASE_CONNECTIONS = 8
LAST_RETRY_SECONDS = 0.5
SHUTDOWN_REASON = "shutdown"


@dataclass(frozen=True)
class Rules:
    """How a run goes: its width, its patience at the end, and when it ends by itself."""

    concurrency: int
    grace_seconds: float
    once: bool = False
    until_empty: bool = False


class Shift:
    """One run of a worker, from registering to the last answer."""

    def __init__(
        self, session: Session, address: Address, handler: Handler, rules: Rules, bell: Bell, asked: threading.Event
    ) -> None:
        self.session = session
        self.address = address
        self.rules = rules
        self.changed = threading.Condition()
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.calls: dict[Hold, Call] = {}
        self._handler = handler
        self._loops = LoopThread()
        self._bell = bell
        self._asked = asked
        self._error: BaseException | None = None
        self._slots = Slots(self)
        self._claimer = Claimer(self)
        self._heart = Heart(self)

    def work(self) -> None:
        """Run until a signal, a `stop`, a `terminate` of the hall, or a reason to crash, which is raised."""
        try:
            for part in (self._slots, self._claimer, self._heart):
                part.start()
            while not self._over():
                self._bell.wait()
        finally:
            self._wind_down()
        if self._error is not None:
            raise self._error

    def _over(self) -> bool:
        with self.changed:
            asked = self._error is not None or self.session.terminated
        return asked or self._asked.is_set() or self._bell.signalled is not None

    def carry_out(self, errand: Errand, connection: Connection, patience: Callable[[float], bool]) -> Step:
        """Send an errand's request until it is settled. `patience` waits, and says whether to try again."""
        while True:
            with self.changed:
                request = errand.request()
            reply = connection.exchange(request)
            with self.changed:
                step = errand.receive(reply, random.random())
                self._obey()
            if isinstance(step, Crash):
                self.crash(step.error)
            if not isinstance(step, Again):
                return step
            if self.stop.is_set():
                log.info("%s: %s", request.verb, step.why)
            else:
                log.warning("%s: %s; again in %.1f s", request.verb, step.why, step.after_seconds)
            if not patience(step.after_seconds):
                return step

    def _obey(self) -> None:
        for hold, call in self.calls.items():
            if hold.cancelled and not call.task.cancelled.is_set():
                log.info("%s is cancelled by the hall", hold)
                call.cancel()
        if self.session.terminated:
            self._bell.ring()
        self.changed.notify_all()

    def crash(self, error: BaseException) -> None:
        """End the run with an error; the first one counts."""
        with self.changed:
            if self._error is None and not self.ended.is_set():
                self._error = error
            self.changed.notify_all()
        self._bell.ring()

    def finish(self) -> None:
        """End the run by itself."""
        self._asked.set()
        self._bell.ring()

    def hopeful(self, seconds: float) -> bool:
        """Wait before another attempt to get something new; False once nothing new is taken."""
        return not self.stop.wait(seconds)

    def persistent(self, seconds: float) -> bool:
        """Wait before another attempt to say how a task ended: also while the run ends, and then more often."""
        if not self.stop.is_set():
            self.stop.wait(seconds)
            return not self.ended.is_set()
        return not self.ended.wait(min(seconds, LAST_RETRY_SECONDS))

    def begin(self, hold: Hold) -> None:
        """Give a task to a free slot; at the end of the run, give it back instead."""
        with self.changed:
            stopped = self.stop.is_set()
            if not stopped:
                self.calls[hold] = Call(
                    self._handler, Task(hold.plan_id, hold.task_id, hold.version, hold.members), self._loops
                )
        if stopped:
            self.give_back([hold])
        else:
            self._slots.put(hold)

    def settle(self, hold: Hold, verb: Verb, reason: str | None, connection: Connection) -> None:
        """Tell the hall how a hold ended, until it has answered."""
        with self.changed:
            mine = self.session.begin_to_end(hold)
        if not mine:
            log.info("%s was given back before its handler ended; the result is dropped", hold)
            return
        self.tell(Settle(self.session, hold, verb, reason), connection)

    def tell(self, errand: Settle, connection: Connection) -> None:
        hold, verb = errand.hold, errand.verb.value
        step = self.carry_out(errand, connection, self.persistent)
        if isinstance(step, Skipped):
            quietly = step.expected or errand.verb is Verb.RELEASE
            log.log(logging.INFO if quietly else logging.WARNING, "%s of %s skipped: %s", verb, hold, step.why)
        elif isinstance(step, Again):
            log.warning("%s of %s could not be said before the end: %s", verb, hold, step.why)
        elif not isinstance(step, Crash):
            log.info("%s: %s", verb, hold)

    def give_back(self, holds: list[Hold]) -> list[threading.Thread]:
        """Release holds, a few at a time, in threads of their own."""
        with self.changed:
            mine = [hold for hold in holds if self.session.begin_to_end(hold)]
            left = [Settle(self.session, hold, Verb.RELEASE, SHUTDOWN_REASON) for hold in mine]
            for hold in holds:
                if hold in self.calls:
                    self.calls[hold].cancel()

        def say() -> None:
            connection = Connection(self.address)
            while True:
                with self.changed:
                    errand = left.pop() if left else None
                if errand is None:
                    break
                self.tell(errand, connection)
            connection.close()

        count = min(len(left), RELEASE_CONNECTIONS)
        threads = [threading.Thread(target=say, name="hiringhall-release", daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def interrupt_claim(self) -> None:
        """End the parked claim, so that the next one is made with what is known now."""
        self._claimer.connection.interrupt()

    def _wind_down(self) -> None:
        with self.changed:
            self.stop.set()
            self.changed.notify_all()
        self._claimer.connection.interrupt()
        self._claimer.join(PARKED_CLAIM_SECONDS)
        self._claimer.connection.abort()
        self._claimer.join(ABORTED_CLAIM_SECONDS)
        with self.changed:
            self.changed.wait_for(lambda: not self.calls or self._error is not None, self._grace_seconds())
            deadline = time.monotonic() + LAST_WORDS_SECONDS
            left = [hold for hold in self.session.holds.values() if not hold.settling]
            powerless = isinstance(self._error, Unauthorized)
            # Before any handler hears of it: one that returns because it is told to stop has completed nothing.
            threads = [] if powerless else self.give_back(left)
            for call in self.calls.values():
                call.cancel()
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self.changed:
            # Handlers that heed `cancelled` end here, and results already under way still arrive.
            self.changed.wait_for(lambda: not self.calls, max(0.0, deadline - time.monotonic()))
            for hold in self.calls:
                log.info("%s: its handler is still running and is left behind", hold)
            self.ended.set()
            self.changed.notify_all()
        self._heart.connection.abort()
        self._slots.dismiss()
        self._loops.stop(0.1)

    def _grace_seconds(self) -> float:
        return self.rules.grace_seconds if self._error is None else 0.0
