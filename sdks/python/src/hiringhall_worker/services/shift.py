"""One run of a service worker: what its threads share, and the orderly end.

`changed` guards the session, the runs and the error, and is notified whenever one of them changes. `stop` says that
nothing new is taken; `ended` says that nothing more is sent.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..bell import Bell
from ..errors import Superseded, Unauthorized
from ..handlers import LoopThread
from ..login import WAITING, Keeper
from ..steps import Again, Crash, Done, Skipped
from ..transport import Address, Connection
from .crew import Drainer, Heart, Slots
from .errands import Errand, Goodbye
from .feed import Feed
from .methods import Methods, Running
from .probe import Probe
from .session import Hold, Session
from .steps import Renew, Step

log = logging.getLogger("hiringhall_worker")

PARKED_DRAIN_SECONDS = 0.3
ABORTED_DRAIN_SECONDS = 0.1
LAST_WORDS_SECONDS = 1.2
LAST_RETRY_SECONDS = 0.5
LAST_FEEDBACK_SECONDS = 0.5


@dataclass(frozen=True)
class Rules:
    """How a run goes: its width, and its patience at the end (None: until everything is answered)."""

    concurrency: int
    grace_seconds: float | None


class Shift:
    """One run of a service worker, from logging in to the last answer."""

    def __init__(
        self,
        session: Session,
        address: Address,
        keeper: Keeper,
        methods: Methods,
        rules: Rules,
        bell: Bell,
        asked: threading.Event,
        probe: Probe | None,
    ) -> None:
        self.session = session
        self.address = address
        self.methods = methods
        self.rules = rules
        self.changed = threading.Condition()
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.runs: dict[Hold, Running] = {}
        self.loops = LoopThread()
        self.probe = probe
        self._keeper = keeper
        self._bell = bell
        self._asked = asked
        self._error: BaseException | None = None
        self.feed = Feed(self)
        self.slots = Slots(self)
        self.drainer = Drainer(self)
        self._heart = Heart(self)

    def work(self) -> None:
        """Run until a signal, a `stop`, a `terminate` of the hall, or a reason to crash, which is raised."""
        try:
            for part in (self.drainer, self._heart, self.feed):
                part.start()
            if self.probe is not None:
                self.probe.start()
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
            step: Step = self._keeper.ready()
            if isinstance(step, Done):
                token = self._keeper.token
                with self.changed:
                    request = errand.request(token)
                reply = connection.exchange(request)
                with self.changed:
                    step = errand.receive(reply, random.random())
                    self._obey()
                if isinstance(step, Renew):
                    self._keeper.refuse(token, step.log_in)
                    continue
            if isinstance(step, Crash):
                self.crash(step.error)
            if not isinstance(step, Again):
                return step
            quietly = self.stop.is_set() or step.after_seconds == 0.0 or step.why == WAITING
            level = logging.INFO if quietly else logging.WARNING
            log.log(level, "%s: %s; again in %.1f s", errand.verb.value, step.why, step.after_seconds)
            if not patience(step.after_seconds):
                return step

    def _obey(self) -> None:
        for hold, running in self.runs.items():
            if hold.cancelled and not running.call.cancelled.is_set():
                log.info("%s is cancelled by the hall", hold)
                running.cancel()
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

    def hopeful(self, seconds: float) -> bool:
        """Wait before another attempt to get something new; False once nothing new is taken."""
        return not self.stop.wait(seconds)

    def patient(self, seconds: float) -> bool:
        """Wait before another attempt to say something; False once nothing more is sent."""
        return not self.ended.wait(seconds)

    def persistent(self, seconds: float) -> bool:
        """Wait before another attempt to answer a call: also while the run ends, and then more often."""
        if not self.stop.is_set():
            self.stop.wait(seconds)
            return not self.ended.is_set()
        return not self.ended.wait(min(seconds, LAST_RETRY_SECONDS))

    def _wind_down(self) -> None:
        with self.changed:
            self.stop.set()
            self.changed.notify_all()
        if self.probe is not None:
            self.probe.close()
        self.drainer.end(PARKED_DRAIN_SECONDS, ABORTED_DRAIN_SECONDS)
        powerless = isinstance(self._error, (Unauthorized, Superseded))
        if not powerless:
            self._say_goodbye(lambda hold: not hold.begun)
        with self.changed:
            self.changed.wait_for(lambda: not self.session.holds or self._error is not None, self._grace_seconds())
            # Before any method hears of it: what one says because it is told to stop is not its answer.
            left = self._give_back(lambda hold: True)
        if left and not powerless:
            self._say_goodbye(lambda hold: True)
        with self.changed:
            for running in self.runs.values():
                running.cancel()
        self._last_words()

    def _give_back(self, which: Callable[[Hold], bool]) -> list[Hold]:
        """Take calls from the methods that run them, unless their answers are under way."""
        found = [hold for hold in self.session.holds.values() if which(hold) and not hold.answering]
        for hold in found:
            hold.given_back = True
        return found

    def _say_goodbye(self, which: Callable[[Hold], bool]) -> None:
        """Tell the hall that nothing new is taken, and which calls it can give to others at once."""
        with self.changed:
            unstarted = self._give_back(which)
            if not self.session.registered:
                return
            errand = Goodbye(self.session, unstarted)

        def say() -> None:
            connection = Connection(self.address)
            step = self.carry_out(errand, connection, self.persistent)
            if isinstance(step, Skipped):
                log.info("goodbye: %s", step.why)
            with self.changed:
                for hold in unstarted:
                    self.session.forget(hold)
                self.changed.notify_all()
            connection.close()

        thread = threading.Thread(target=say, name="hiringhall-goodbye", daemon=True)
        thread.start()
        thread.join(LAST_WORDS_SECONDS)

    def _last_words(self) -> None:
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        with self.changed:
            # Methods that heed `cancelled` end here, and answers already under way still arrive.
            self.changed.wait_for(lambda: not self.session.holds and not self.runs, deadline - time.monotonic())
            for hold in self.runs:
                log.info("%s is still running and is left behind", hold)
        if self._error is None:
            self.feed.close(LAST_FEEDBACK_SECONDS)
        with self.changed:
            self.ended.set()
            self.changed.notify_all()
        self.feed.wake()
        self._heart.connection.abort()
        self._keeper.abort()
        self.slots.close()
        self.loops.stop(0.1)

    def _grace_seconds(self) -> float | None:
        return self.rules.grace_seconds if self._error is None else 0.0
