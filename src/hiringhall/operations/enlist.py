"""A service worker comes and goes: registration, and the goodbye."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hiringhall.domain.names import call_name
from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known
from hiringhall.ports.calls import Goodbye, Registered, RegisterServiceWorker

LAZY: Final = "lazy"
Done = Callable[[Any], None]
"""Called once with the outcome of the ask, which may be a refusal or an exception."""


def enlist(hall: Hall, ask: RegisterServiceWorker, done: Done) -> None:
    """A new incarnation of the worker. `done` gets the worker, a refusal or an exception."""

    def registered(outcome: Any) -> None:
        if isinstance(outcome, Registered):
            hall.presence.find(ask.worker, found)
        else:
            done(outcome)

    def found(known: Known | Exception | None) -> None:
        if isinstance(known, Known):
            known.open = None  # what it held before it started returns by itself
            hall.presence.seen(known, hall.time())
            _tell_probes(hall, ask, known)
        done(known if known is not None else RuntimeError("a worker that just registered cannot be found"))

    hall.coalescer.ask(ask, registered)


def _tell_probes(hall: Hall, ask: RegisterServiceWorker, known: Known) -> None:
    if ask.run_mode != LAZY:
        hall.probes.gone(ask.worker)
    elif known.service is not None:
        lanes = known.service.lanes
        hall.probes.registered(ask.worker, ask.service, ask.ip, ask.port, ask.source or "", ask.forwarded, lanes)


def leave(hall: Hall, known: Known, ask: Goodbye, done: Done) -> None:
    """ "no new work, parked drains end" """

    def left(outcome: Any) -> None:
        if isinstance(outcome, int):
            hall.probes.gone(known.key)
        if isinstance(outcome, int) and known.open:
            unstarted = {call_name(request_id) for request_id in ask.unstarted}
            for work in [work for work, (name, _) in known.open.items() if name in unstarted]:
                del known.open[work]
        done(outcome)

    hall.coalescer.ask(ask, left)
