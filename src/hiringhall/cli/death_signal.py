"""Has a command end with the worker that started it, also if that is killed: the kernel sees to it on Linux."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def ending_with_this_process() -> Callable[[], None] | None:
    """What a child runs between fork and exec so that it is killed when the thread that forked it ends; None where
    the system has no such thing.

    That thread has to outlive the child, which one does that waits for it. Everything is looked up here, in the parent:
    between fork and exec other threads' locks stay as they were, so the child imports nothing and takes no lock.
    """
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.PyDLL(None).prctl  # keeps hold of the interpreter's lock
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    arguments = (PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    parent, parent_of, leave = os.getpid(), os.getppid, os._exit

    def in_child() -> None:
        prctl(*arguments)
        if parent_of() != parent:  # killed before the kernel was told
            leave(1)

    return in_child
