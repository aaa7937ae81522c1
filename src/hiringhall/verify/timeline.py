"""Everything that happened in a case, in order, for conditions to wait on and for people to read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from hiringhall.verify.heard import Heard
from hiringhall.verify.numerals import shown


class Event(NamedTuple):
    """One line of the story."""

    at: float
    text: str


class Timeline:
    """What was heard, said and done. `changed` is set whenever something is added."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.heard: list[Heard] = []
        self.events: list[Event] = []
        self.output: list[str] = []
        self._waiting: set[asyncio.Event] = set()

    @property
    def now(self) -> float:
        """Seconds since the case began."""
        return time.monotonic() - self._began

    def note(self, text: str) -> None:
        """Add a line."""
        self.events.append(Event(self.now, text))
        self.changed()

    def hear(self, heard: Heard) -> None:
        """Add a request."""
        self.heard.append(heard)
        self.note(f"→ {heard.method} {heard.target}{_content(heard)}")

    def printed(self, text: str) -> None:
        """Add what the worker printed."""
        self.output.append(text)

    def changed(self) -> None:
        """Wake whoever waits for a condition."""
        for one in self._waiting:
            one.set()

    async def wait_until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Wait until something is true, at most until `deadline`; whether it is."""
        woken = asyncio.Event()
        self._waiting.add(woken)
        try:
            while not condition():
                left = deadline - self.now
                if left <= 0:
                    return False
                woken.clear()
                try:
                    await asyncio.wait_for(woken.wait(), left)
                except TimeoutError:
                    return condition()
            return True
        finally:
            self._waiting.discard(woken)


def _content(heard: Heard) -> str:
    if heard.form:
        fields = {name: "…" if "secret" in name or "token" in name else value for name, value in heard.form.items()}
        return f" {shown(fields)}"
    if heard.json is not None:
        return f" {shown(heard.json)}"
    return f" {heard.body[:100]!r}" if heard.body else ""
