"""An operator removes a worker: what it holds returns, and its tokens end."""

from __future__ import annotations

from typing import Any

from hiringhall.domain.names import service_of, worker_id_of
from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import RemoveWorker
from hiringhall.ports.identity import EndSessions


async def dismiss(hall: Hall, worker: str) -> Any:
    """Whether there was such a worker, by its key.

    The logins of a service worker end first: whoever calls in between is refused, and not registered anew.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    service = service_of(worker)
    if service is not None:
        await hall.coalescer.one(EndSessions(service, worker_id_of(worker)))
    removed = await hall.coalescer.one(RemoveWorker(worker))
    if service is not None and hall.probes is not None:
        hall.probes.gone(worker)
    return removed
