"""Who still holds what: leases as arithmetic on signs of life. Times are milliseconds by the database's clock.

A lease is not stored. It ends at max(handed_at, min(last_seen, run_until), heard_since) + visibility timeout, so that a
living holder keeps its work, however long it takes, and time in which the hall could not hear does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

GAP_MS_MAX: Final = 5 * 60_000
GAPS_KEPT: Final = 5


class Cause(StrEnum):
    """Why a unit was handed over, or handed back."""

    FIRST = "first"
    RELEASED = "released"
    LEASE_EXPIRED = "lease_expired"
    RUN_LIMIT = "run_limit"
    WORKER_OFFLINE = "worker_offline"
    WORKER_RESTARTED = "worker_restarted"
    SHUTDOWN = "shutdown"
    CONNECTION_LOST = "connection_lost"
    ANSWER_LOST = "answer_lost"
    RETRY = "retry"
    OPERATOR = "operator"


ABANDONING: Final[frozenset[Cause]] = frozenset({Cause.LEASE_EXPIRED, Cause.RUN_LIMIT, Cause.WORKER_OFFLINE})
"""Causes that count against a unit's `max_abandoned`: its holder fell silent or took too long."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that leases depend on."""

    visibility_timeout_ms: int = 60_000
    heartbeat_delay_ms: int = 30_000
    run_limit_ms: int = 4 * 3_600_000  # of tasks
    call_run_limit_ms: int = 3_600_000

    @property
    def sign_interval_ms(self) -> int:
        """Signs of life are written at most this often: min(timeout / 10, 5 s)."""
        return min(self.visibility_timeout_ms // 10, 5_000)

    @property
    def beat_interval_ms(self) -> int:
        """How far apart workers are asked to send heartbeats: min(heartbeat delay, timeout / 3)."""
        return min(self.heartbeat_delay_ms, self.visibility_timeout_ms // 3)

    @property
    def sweep_interval_ms(self) -> int:
        """Sweeps look at least this often: min(1 s, timeout / 4)."""
        return min(1_000, self.visibility_timeout_ms // 4)

    @property
    def slack_ms(self) -> int:
        """What a sweep adds to every silence, since signs of life reach the database late."""
        return self.sign_interval_ms

    @property
    def deaf_after_ms(self) -> int:
        """A pulse older than this means that the hall could not hear: 3 sweep intervals + 1 s."""
        return 3 * self.sweep_interval_ms + 1_000

    @property
    def silent_after_ms(self) -> int:
        """Nobody who was heard within this time can have lost a lease by silence."""
        return min(self.visibility_timeout_ms, 2 * self.heartbeat_delay_ms) + self.slack_ms

    @property
    def overrun_after_ms(self) -> int:
        """Nothing whose run limit passed within this time can have lost its lease by it."""
        return self.visibility_timeout_ms + self.slack_ms

    @property
    def answer_lost_after_ms(self) -> int:
        """What a worker holds but does not name is lost if handed over this long ago: min(10 s, timeout / 2)."""
        return min(10_000, self.visibility_timeout_ms // 2)


@dataclass(frozen=True, slots=True)
class Pulse:
    """The signs of life of one worker."""

    last_seen: int
    last_beat: int | None = None
    gaps: tuple[int, ...] = ()  # the last five between heartbeats


def offline_after_ms(pulse: Pulse, terms: Terms) -> int:
    """How long a worker may be silent before it counts as offline.

    2 x max(heartbeat delay, the longest of its last five heartbeat gaps, at most 5 min); the visibility timeout alone
    for a worker that never sent a heartbeat.
    """
    if pulse.last_beat is None:
        return terms.visibility_timeout_ms
    longest = min(max(pulse.gaps, default=0), GAP_MS_MAX)
    return 2 * max(terms.heartbeat_delay_ms, longest)


def may_be_silent(pulse: Pulse, now: int, terms: Terms) -> bool:
    """Whether the worker has been silent for so long that its holds are worth a look, whatever its heartbeat gaps."""
    return pulse.last_seen < now - terms.silent_after_ms


def may_overrun(run_until: int, now: int, terms: Terms) -> bool:
    """Whether the run limit passed so long ago that the lease may have ended by it."""
    return run_until < now - terms.overrun_after_ms


def was_deaf(pulse_at: int, now: int, terms: Terms) -> bool:
    """Whether the hall could not hear until now: its last pulse is too old, or the clock was stepped back since."""
    return pulse_at < now - terms.deaf_after_ms or pulse_at > now


def hears_since(heard_since: int, pulse_at: int, now: int, terms: Terms) -> int:
    """Since when the hall can hear, as a sweep sees it that may come before the first pulse after an outage.

    A hall that never had a pulse has missed nothing.
    """
    return now if pulse_at and pulse_at < now - terms.deaf_after_ms else heard_since


def is_offline(pulse: Pulse, heard_since: int, now: int, terms: Terms) -> bool:
    """Whether the worker has been silent for too long, slack included."""
    silent_since = max(pulse.last_seen, heard_since)
    return now > silent_since + offline_after_ms(pulse, terms) + terms.slack_ms


def ended_by(
    pulse: Pulse | None, handed_at: int, run_until: int | None, heard_since: int, now: int, terms: Terms
) -> Cause | None:
    """Why the hold is over now, or None if the lease still lives. `pulse` is None if the holder's row is gone."""
    due = terms.visibility_timeout_ms + terms.slack_ms
    if pulse is None:
        return Cause.WORKER_OFFLINE if now > max(handed_at, heard_since) + due else None
    seen = Pulse(max(pulse.last_seen, handed_at), pulse.last_beat, pulse.gaps)
    if run_until is not None and run_until < seen.last_seen and now > max(handed_at, run_until, heard_since) + due:
        return Cause.RUN_LIMIT
    if now > max(handed_at, seen.last_seen, heard_since) + due:
        return Cause.LEASE_EXPIRED
    if pulse.last_beat is not None and is_offline(seen, heard_since, now, terms):
        return Cause.WORKER_OFFLINE
    return None


def next_gaps(pulse: Pulse, beat_at: int) -> tuple[int, ...]:
    """The last five heartbeat gaps once another heartbeat came at `beat_at`."""
    if pulse.last_beat is None or beat_at <= pulse.last_beat:
        return pulse.gaps
    return (*pulse.gaps, beat_at - pulse.last_beat)[-GAPS_KEPT:]
