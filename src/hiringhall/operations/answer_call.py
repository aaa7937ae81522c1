"""What a service worker does with a call that it drained: lock it, answer it, tell how it goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hiringhall.domain.names import call_name
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.ports.calls import Lock, Locked, Respond, Responded

Done = Callable[[Any], None]
"""Called once with the outcome of the ask, which may be a refusal or an exception."""


def lock(hall: Hall, known: Known, ask: Lock, done: Done) -> None:
    """ "A 2xx means this worker owns it; anything else means another worker has claimed it." """

    def decided(outcome: Any) -> None:
        if isinstance(outcome, Locked) and known.open is not None:
            known.open[outcome.work] = (call_name(ask.request_id), hall.time())
        done(outcome)

    hall.coalescer.ask(ask, decided)


def respond(hall: Hall, known: Known, ask: Respond, done: Done) -> None:
    """The worker's answer. It has room for another call then, so its waiting drains look again."""

    def decided(outcome: Any) -> None:
        if isinstance(outcome, Responded):
            if known.open:
                known.open.pop(outcome.work, None)
            if outcome.retrying:
                hall.task_failed()
            for call in known.parked:
                call.look_again()
        done(outcome)

    hall.coalescer.ask(ask, decided)
