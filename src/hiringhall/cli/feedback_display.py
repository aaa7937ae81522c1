"""Shows the feedback of a call on standard error: a progress bar on a terminal, lines elsewhere."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Any, Final, Protocol

from hiringhall.cli.output import visible

PERCENT_MEMBERS: Final = ("percent", "progress")
PERCENT_TYPES: Final = ("percent", "progress")
TEXT_MEMBERS: Final = ("message", "text", "status")


class Display(Protocol):
    """Shows feedback while a call goes on."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def item(self, data: bytes) -> None:
        """An item of feedback came."""

    def lost(self, lost: bool) -> None:
        """The server does not answer, or answers again."""


def display_for(method: str) -> Display:
    """What fits standard error."""
    return _Bar(method) if sys.stderr.isatty() else _Lines(method)


def percent_of(item: dict[str, Any]) -> float | None:
    """How much is done, from 0 to 100, if the item says so: its content is an object with a number `percent` or
    `progress`, or it is a bare number and the type of the feedback is one of these words."""
    content = item.get("fc")
    if isinstance(content, dict):
        found = next((content[name] for name in PERCENT_MEMBERS if _is_percent(content.get(name))), None)
    else:
        found = content if item.get("ft") in PERCENT_TYPES and _is_percent(content) else None
    return None if found is None else float(found)


def _is_percent(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


def text_of(item: dict[str, Any], percent: float | None) -> str:
    """What the item says beside how much is done."""
    content = item.get("fc")
    if isinstance(content, dict):
        texts = [content[name] for name in TEXT_MEMBERS if isinstance(content.get(name), str)]
        if texts or percent is not None:
            return visible(" ".join(texts))
    elif percent is not None:
        return ""
    said = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    kind = item.get("ft")
    return visible(f"{kind}: {said}" if isinstance(kind, str) else said)


class _Lines:
    """A line for each item."""

    def __init__(self, method: str) -> None:
        self._method = visible(method)
        self._lost = False

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def item(self, data: bytes) -> None:
        item = json.loads(data)
        percent = percent_of(item)
        done = "" if percent is None else f"{percent:.0f}%"
        self._say(" ".join(part for part in (done, text_of(item, percent)) if part))

    def lost(self, lost: bool) -> None:
        if lost and not self._lost:
            self._say("the server does not answer; waiting for it")
        self._lost = lost

    def _say(self, what: str) -> None:
        print(f"{self._method}: {what}", file=sys.stderr, flush=True)


class _Bar:
    """One line that changes, with what else is said above it."""

    def __init__(self, method: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._method = visible(method)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[done]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[said]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, name=self._method, done="", said="waiting")

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def item(self, data: bytes) -> None:
        item = json.loads(data)
        percent = percent_of(item)
        said = text_of(item, percent)
        if percent is None:
            self._progress.console.print(f"{self._method}: {said}", markup=False, highlight=False)
        else:
            self._progress.update(self._task, total=100, completed=percent, done=f"{percent:.0f}%", said=said)

    def lost(self, lost: bool) -> None:
        if lost:
            self._progress.update(self._task, said="the server does not answer; waiting for it")
