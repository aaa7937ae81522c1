"""What wakes the thread that runs a worker: signals, and other threads."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Bell:
    """Rings on SIGTERM and SIGINT, and when somebody calls `ring`.

    The first signal sets `signalled`; from then on both signals end the process by themselves, so that a second
    one works even if this interpreter no longer runs a line. A signal handler may interrupt any line of its thread,
    so it takes no lock: it writes one byte into a socket. The system may deliver a signal to any thread, which leaves
    the main thread blocked; so the socket is also the wake-up descriptor. Signals are caught in the main thread only.
    """

    def __init__(self) -> None:
        self.signalled: int | None = None
        self._previous: dict[int, Any] = {}
        self._previous_descriptor = -1
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)

    def __enter__(self) -> Bell:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._previous[number] = signal.signal(number, self._caught)
            self._previous_descriptor = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, previous in self._previous.items():
            # None stands for a handler that was not installed from Python and cannot be put back.
            signal.signal(number, signal.SIG_DFL if previous is None else previous)
        if self._previous:
            signal.set_wakeup_fd(self._previous_descriptor)
        self._read.close()
        self._write.close()

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.signalled = number
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        self.ring()

    def ring(self) -> None:
        """Wake the waiting thread. Safe in signal handlers and in any thread, also after the end."""
        with contextlib.suppress(OSError):
            self._write.send(b"!")

    def wait(self) -> None:
        """Block until somebody rings."""
        self._read.recv(4096)
