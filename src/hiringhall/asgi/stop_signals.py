"""SIGTERM and SIGINT while the server runs: the first asks it to stop, the second to stop at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def stop_signals(asked: Callable[[], None]) -> Iterator[None]:
    """Call `asked` on the event loop for each of the two signals; what was set before is set again at the end.

    Signals reach the main thread alone: on a loop in another thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def from_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        loop.call_soon_threadsafe(asked)

    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, asked)
        except NotImplementedError:  # the loops of Windows
            signal.signal(number, from_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            if handler is not None:  # one that was not set from Python cannot be set again
                signal.signal(number, handler)
