"""The limit of open files, which decides how many connections a process can hold."""

from __future__ import annotations

import resource

KEPT_FOR_OTHERS = 200


def connections_possible(wanted: int) -> int:
    """Raise the soft limit to the hard one; `wanted`, or as many connections as then fit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted if hard == resource.RLIM_INFINITY else max(0, min(wanted, hard - KEPT_FOR_OTHERS))
