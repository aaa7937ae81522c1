"""Threads whose death by a bug is not silent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Crashable(Protocol):
    """Something that can be ended with an error, from any thread."""

    def crash(self, error: BaseException) -> None: ...


def guarded(owner: Crashable, target: Callable[[], None], name: str) -> threading.Thread:
    """A daemon thread whose death by a bug ends the owner's run, loudly."""

    def run() -> None:
        try:
            target()
        except BaseException as error:
            owner.crash(error)

    return threading.Thread(target=run, name=f"hiringhall-{name}", daemon=True)
