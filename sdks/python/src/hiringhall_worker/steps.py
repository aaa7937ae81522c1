"""What a worker does after a reply: the outcomes of an errand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from .errors import HallError
from .session import Hold


@dataclass(frozen=True)
class Again:
    """Wait so many seconds, then send the errand's request again."""

    after_seconds: float
    why: str


@dataclass(frozen=True)
class Got:
    """A claim brought a task."""

    hold: Hold


@dataclass(frozen=True)
class Empty:
    """A claim brought nothing; claim again at once."""


@dataclass(frozen=True)
class Done:
    """The hall accepted it."""


@dataclass(frozen=True)
class Skipped:
    """The hall refused this one thing, for a reason that is no fault of the worker; log it and go on."""

    why: str
    expected: bool = False


@dataclass(frozen=True)
class Unregistered:
    """The hall does not know this worker id; register (if that is possible) and keep ticking."""

    can_register: bool


@dataclass(frozen=True)
class Crash:
    """End the process with this error."""

    error: HallError


Step = Union[Again, Got, Empty, Done, Skipped, Unregistered, Crash]
