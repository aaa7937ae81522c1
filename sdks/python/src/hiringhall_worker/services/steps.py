"""What a service worker does after a reply: the outcomes of an errand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from ..steps import Again, Crash, Done, Skipped
from .session import Hold


@dataclass(frozen=True)
class Drained:
    """A drain brought these calls, or none."""

    holds: tuple[Hold, ...]


@dataclass(frozen=True)
class Renew:
    """The token is refused: have a new one, by the secret if `log_in`, and send the errand's request again."""

    log_in: bool


@dataclass(frozen=True)
class Unregistered:
    """The hall does not know this worker: register."""


Step = Union[Again, Crash, Done, Skipped, Drained, Renew, Unregistered]
