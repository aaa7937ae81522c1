"""A heartbeat: a sign of life that says how far apart such signs will come."""

from __future__ import annotations

from hiringhall.operations.hall import Hall
from hiringhall.operations.presence import Known


def heartbeat(hall: Hall, known: Known | None, now: float) -> bool:
    """ "Refresh last_heartbeat." False: "the worker is not (or no longer) registered"."""
    if known is None:
        return False
    hall.presence.beat(known, now)
    if known.service is not None:
        hall.probes.heartbeat(known.key)
    return True
