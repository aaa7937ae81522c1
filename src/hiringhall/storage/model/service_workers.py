"""Service workers: registration, goodbye, and what follows when one is lost."""

from __future__ import annotations

from hiringhall.domain import work
from hiringhall.domain.call import worker_lane
from hiringhall.domain.lease import Cause, Pulse
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_service
from hiringhall.ports.calls import Goodbye, Registered, RegisterServiceWorker
from hiringhall.storage.model.call_book import Lane, ServiceWorker
from hiringhall.storage.model.hall import Hall, Worker
from hiringhall.storage.model.standing import standing
from hiringhall.storage.model.submitting import intern


def register(hall: Hall, ask: RegisterServiceWorker) -> Registered | Refused:
    """Begin a new incarnation of a worker, to which the session is bound; what the one before held returns."""
    service = hall.gate.services.get(ask.service)
    if service is None:
        return Refused("unknown_service", f"there is no service {ask.service!r}")
    before = hall.book.workers.get(ask.worker)
    login = hall.gate.logins.get(ask.session)
    incarnation = 0 if before is None else before.incarnation
    whose = None if login is None else (login.service, login.subject)
    stands = login is not None and not login.ended and login.incarnation in (None, incarnation)
    if login is None or not stands or whose != (ask.service, ask.worker_id):
        return Refused("worker_superseded", "another process has registered as this worker since")
    login.incarnation = incarnation + 1
    hall.book.workers[ask.worker] = ServiceWorker(
        ask.service, ask.worker_id, ask.run_mode, ask.capabilities, incarnation + 1,
        ask.ip, ask.port, ask.source, ask.forwarded, ask.version, ask.trace,
    )  # fmt: skip
    _admit(hall, ask)
    for unit in hall.held_by(ask.worker):
        hall.take_back(unit, Cause.WORKER_RESTARTED)
    hall.book.drop_offers(worker=ask.worker)
    for told in [told for told in hall.directives if told[0] == ask.worker]:
        del hall.directives[told]
    hall.book.methods |= {(ask.service, method) for method in ask.capabilities.methods}
    own = worker_lane(ask.worker)
    if own not in hall.book.lanes:
        intern(hall, Lane(own, 0, ask.service, hall.now, service.paused, owner=ask.worker))
    hall.ring_worker(ask.worker)
    hall.rings[topic_of_service(ask.service)] += 1
    return Registered(incarnation + 1)


def _admit(hall: Hall, ask: RegisterServiceWorker) -> None:
    known = hall.workers.setdefault(ask.worker, Worker("", None, hall.now, Pulse(hall.now)))
    known.terminate = known.offline = False
    known.pulse = Pulse(hall.now, known.pulse.last_beat, known.pulse.gaps)


def goodbye(hall: Hall, ask: Goodbye) -> int | Refused:
    """Give the worker nothing new; what it has not locked, and what it names as unstarted, returns."""
    known = standing(hall, ask.worker, ask.session)
    if isinstance(known, Refused):
        return known
    known.leaving = True
    released = [unit for unit in hall.held_by(ask.worker) if unit.name in ask.unstarted]
    for unit in released:
        hall.take_back(unit, Cause.SHUTDOWN)
    returned = len(released) + drop_offers(hall, ask.worker)
    lose_children(hall, ask.worker)
    hall.ring_worker(ask.worker)
    return returned


def drop_offers(hall: Hall, worker: str) -> int:
    """Forget what a worker was offered; ring for what is ready, so that others are asked."""
    dropped = 0
    for id_, at in hall.book.drop_offers(worker=worker):
        unit = hall.book.calls[id_].unit
        if unit.state is State.READY and at + hall.terms.visibility_timeout_ms > hall.now:
            hall.ring_lane(unit)
            dropped += 1
    return dropped


def lose_children(hall: Hall, worker: str) -> None:
    """End what waits in the own lane of a worker that will not come for it."""
    for call in hall.book.own_calls(worker):
        if not call.unit.finished and call.unit.state is not State.HELD:
            hall.note(work.lose_worker(call.unit))


def remove(hall: Hall, worker: str) -> None:
    """Forget what is known of a service worker; what waited for it alone is lost."""
    drop_offers(hall, worker)
    lose_children(hall, worker)
    known = hall.book.workers.pop(worker, None)
    if known is not None:
        hall.rings[topic_of_service(known.service)] += 1
