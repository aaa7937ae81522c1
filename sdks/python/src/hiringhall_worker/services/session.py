"""What a service worker knows while it runs: what it holds, and what the hall has asked of it.

Nothing here touches a socket, a clock or a thread. The owner of a session serialises all calls on it and on its
errands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import wire
from ..jsontext import ParseFloat

# How often a quiet worker asks whether it still is.
QUIET_BEAT_SECONDS = 5.0
USUAL_BEAT_SECONDS = 30.0
LONGEST_HEADER = 32 * 1024


@dataclass(frozen=True)
class Terms:
    """What does not change while a worker runs. `profile` is what registration tells besides the id and the methods."""

    service: str
    worker_id: str
    profile: Mapping[str, Any]
    hold_seconds: float = 30.0
    answer_seconds: float = 10.0
    heartbeat_seconds: float | None = None
    parse_float: ParseFloat | None = None


@dataclass(eq=False)
class Hold:
    """One call that this worker was given, until it is answered or given up."""

    request_id: str
    method: str
    params: Any = field(repr=False)
    lock_required: bool
    members: Mapping[str, Any] = field(repr=False)
    begun: bool = False
    answering: bool = False
    cancelled: bool = False
    given_back: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.request_id}"


class Session:
    """What this worker knows: what it holds, and what the hall has asked of it."""

    def __init__(self, terms: Terms, new_key: Callable[[], str]) -> None:
        self.terms = terms
        self.new_key = new_key
        self.holds: dict[str, Hold] = {}
        self.settings: dict[str, str] = {}
        self.registered = False
        self.quiet = False
        self.terminated = False
        self.told_beat_seconds: float | None = None

    def forget(self, hold: Hold) -> None:
        if self.holds.get(hold.request_id) is hold:
            del self.holds[hold.request_id]

    def holding(self) -> tuple[tuple[str, str], ...]:
        """The header `Hall-Holding`: the request ids of everything held. Left out if no server would take it."""
        text = ",".join(wire.part(request_id) for request_id in self.holds)
        return (("Hall-Holding", text),) if len(text) <= LONGEST_HEADER else ()

    @property
    def beat_seconds(self) -> float:
        """The time between two heartbeats: the worker's own setting, or what the hall said if that is less."""
        known = [seconds for seconds in (self.terms.heartbeat_seconds, self.told_beat_seconds) if seconds is not None]
        usual = min(known, default=USUAL_BEAT_SECONDS)
        return min(usual, QUIET_BEAT_SECONDS) if self.quiet else usual

    def hear(self, answer: wire.Answer) -> None:
        """Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy."""
        if not (200 <= answer.status < 300 or answer.status == 409):
            return
        asked = wire.directive(answer.header("hall-directive"))
        self.quiet = asked.quiet
        self.terminated = self.terminated or asked.terminate
        for request_id in asked.cancel_requests:
            if request_id in self.holds:
                self.holds[request_id].cancelled = True
