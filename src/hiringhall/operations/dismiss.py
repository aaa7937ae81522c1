"""An operator removes a worker: what it holds returns, its tokens end, and nobody wakes it any more."""

from __future__ import annotations

from typing import Any

from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import RemoveWorker


async def dismiss(hall: Hall, worker: str) -> Any:
    """Whether there was such a worker, by its key.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    removed = await hall.coalescer.one(RemoveWorker(worker))
    hall.probes.gone(worker)
    return removed
