"""What a plan worker knows while it runs: who it is, what it holds, and what the hall has asked of it.

Nothing here touches a socket, a clock or a thread. The owner of a session serialises all calls on it and on its
errands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import wire

# How often a quiet worker asks whether it still is.
QUIET_BEAT_SECONDS = 5.0


@dataclass(frozen=True)
class Identity:
    """The worker id and the bearer token that belong together."""

    worker_id: str
    token: str = field(repr=False)


@dataclass(eq=False)
class Hold:
    """One hand-over: a task held by this worker under the identity that claimed it."""

    identity: Identity
    plan_id: str
    task_id: str
    version: int
    members: dict[str, Any] = field(repr=False)
    settling: bool = False
    cancelled: bool = False

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.identity.worker_id, self.plan_id, self.task_id, self.version)

    def __str__(self) -> str:
        return f"{self.plan_id}/{self.task_id}@{self.version}"


@dataclass(frozen=True)
class Terms:
    """What does not change while a worker runs. `token` is the shared bearer; without it the minted one is used."""

    plan_id: str
    hostname: str
    bootstrap_token: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    hold_seconds: float = 30.0
    answer_seconds: float = 10.0
    heartbeat_seconds: float = 30.0


class Session:
    """What this worker knows: who it is, what it holds, and what the hall has asked of it."""

    def __init__(self, terms: Terms, new_key: Callable[[], str], identity: Identity | None = None) -> None:
        self.terms = terms
        self.new_key = new_key
        self.identity = identity
        self.holds: dict[tuple[str, str, str, int], Hold] = {}
        self.quiet = False
        self.terminated = False
        self.told_beat_seconds: float | None = None
        # Whether the hall is known to know the identity: one that did not register is introduced by its first claim.
        self.introduced = False

    def begin_to_end(self, hold: Hold) -> bool:
        """Take the right to complete, fail or release a hold; False if somebody has it already."""
        if hold.settling:
            return False
        hold.settling = True
        return True

    def forget(self, hold: Hold) -> None:
        self.holds.pop(hold.key, None)

    def holding(self, identity: Identity) -> str:
        """The value of `Hall-Holding` for an identity."""
        mine = (hold for hold in self.holds.values() if hold.identity == identity)
        return wire.holding((hold.plan_id, hold.task_id, hold.version) for hold in mine)

    @property
    def name(self) -> str:
        """The worker id, for people."""
        return "nobody" if self.identity is None else self.identity.worker_id

    @property
    def beat_seconds(self) -> float:
        """The time between two heartbeats: the worker's own setting, or what the hall said if that is less."""
        usual = self.terms.heartbeat_seconds
        if self.told_beat_seconds is not None:
            usual = min(usual, self.told_beat_seconds)
        return min(usual, QUIET_BEAT_SECONDS) if self.quiet else usual

    def hear_interval(self, answer: wire.Answer) -> None:
        """Take in how far apart the hall wants heartbeats. An answer that does not say leaves it as it was said."""
        told = wire.interval(answer.header("hall-heartbeat"))
        if told is not None:
            self.told_beat_seconds = told

    def hear(self, identity: Identity, answer: wire.Answer) -> None:
        """Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy."""
        if identity != self.identity or not (200 <= answer.status < 300 or answer.status == 409):
            return
        asked = wire.directive(answer.header("hall-directive"))
        self.quiet = asked.quiet
        self.terminated = self.terminated or asked.terminate
        for hold in self.holds.values():
            if (hold.plan_id, hold.task_id) in asked.cancel and hold.identity == identity:
                hold.cancelled = True
