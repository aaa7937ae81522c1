"""Workers: admission, signs of life, directives, removal."""

from __future__ import annotations

from dataclasses import replace

from hiringhall.domain.lease import Cause, Pulse, next_gaps
from hiringhall.domain.names import service_of, worker_id_of
from hiringhall.ports.asks import DirectWorker, MarkSeen, Register, RemoveWorker
from hiringhall.ports.identity import EndSessions
from hiringhall.storage.model import identity, service_workers
from hiringhall.storage.model.hall import Hall, Worker


def register(hall: Hall, ask: Register) -> bool:
    """Admit a worker, unless its id is taken."""
    tokens = {worker.token_hash for worker in hall.workers.values()} - {None}
    if ask.worker in hall.workers or ask.token_hash in tokens:
        return ask.known_is_fine
    hall.workers[ask.worker] = Worker(ask.hostname, ask.token_hash, hall.now, Pulse(hall.now))
    hall.ring_worker(ask.worker)
    return True


def mark_seen(hall: Hall, ask: MarkSeen) -> None:
    """Write down signs of life of known workers."""
    for sign in ask.signs:
        worker = hall.workers.get(sign.worker)
        if worker is None:
            continue
        pulse = worker.pulse
        if sign.beat_ms_ago is not None:
            beat_at = hall.now - sign.beat_ms_ago
            pulse = replace(pulse, gaps=next_gaps(pulse, beat_at), last_beat=max(pulse.last_beat or beat_at, beat_at))
        worker.pulse = replace(pulse, last_seen=max(pulse.last_seen, hall.now - sign.seen_ms_ago))
        worker.offline = False


def direct(hall: Hall, ask: DirectWorker) -> bool:
    """Quiet, resume or terminate a worker."""
    worker = hall.workers.get(ask.worker)
    if worker is None:
        return False
    worker.quiet = worker.quiet if ask.quiet is None else ask.quiet
    worker.terminate = worker.terminate if ask.terminate is None else ask.terminate
    hall.ring_worker(ask.worker)
    return True


def remove(hall: Hall, ask: RemoveWorker) -> bool:
    """Forget a worker; what it holds returns, and its logins end."""
    hall.ring_worker(ask.worker)
    for unit in hall.held_by(ask.worker):
        hall.take_back(unit, Cause.OPERATOR)
    service = service_of(ask.worker)
    if service is not None:
        identity.end_sessions(hall, EndSessions(service, worker_id_of(ask.worker)))
    service_workers.remove(hall, ask.worker)
    for worker, target in list(hall.directives):
        if worker == ask.worker:
            del hall.directives[worker, target]
    return hall.workers.pop(ask.worker, None) is not None
