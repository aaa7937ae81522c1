"""The limit of open files, which decides how many connections a process can hold."""

from __future__ import annotations

import sys
from typing import Final

KEPT_FOR_OTHERS: Final = 256
"""Descriptors for the database, the log, and connections that are being turned away."""
_ENOUGH: Final = 1_000_000

if sys.platform == "win32":

    def raise_open_files() -> int:
        return _ENOUGH

else:
    import resource

    def raise_open_files() -> int:
        """Raise the soft limit to the hard one; returns how many files may be open."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                soft = hard
            except (OSError, ValueError):  # some systems name a hard limit that they do not grant
                pass
        return _ENOUGH if soft == resource.RLIM_INFINITY else soft


def connections_allowed(wanted: int | None) -> int:
    """How many connections may be open at once: what is wanted, as far as the limit of open files allows it."""
    possible = max(1, raise_open_files() - KEPT_FOR_OTHERS)
    return possible if wanted is None else min(wanted, possible)
