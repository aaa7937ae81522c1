"""Who may act as which service worker, and who can be given calls."""

from __future__ import annotations

from hiringhall.domain.refusals import Refused
from hiringhall.storage.model.call_book import Lane, ServiceWorker
from hiringhall.storage.model.hall import Hall


def standing(hall: Hall, worker: str, session: str) -> ServiceWorker | Refused:
    """The registered worker for which the session may act."""
    known = hall.book.workers.get(worker)
    if known is None:
        return Refused("not_registered", "this worker is not registered: it has to register first")
    login = hall.gate.logins.get(session)
    whose = None if login is None else (login.service, login.subject)
    stands = login is not None and not login.ended and login.incarnation in (None, known.incarnation)
    if not stands or whose != (known.service, known.worker_id):
        return Refused("worker_superseded", "another process has registered as this worker since")
    return known


def is_reachable(hall: Hall, worker: str) -> bool:
    """Whether the worker is there, though perhaps it may not be given anything new."""
    known, person = hall.book.workers.get(worker), hall.workers.get(worker)
    return known is not None and person is not None and not (known.leaving or person.offline)


def is_live(hall: Hall, worker: str) -> bool:
    """Whether the worker may be given something new: it is not leaving, offline, quiet, or told to terminate."""
    person = hall.workers.get(worker)
    return person is not None and is_reachable(hall, worker) and not (person.quiet or person.terminate)


def live_workers(hall: Hall, lane: Lane) -> list[str]:
    """The live workers that fit a lane, by key."""
    return [key for key in sorted(hall.book.workers) if hall.book.fits(key, lane) and is_live(hall, key)]
