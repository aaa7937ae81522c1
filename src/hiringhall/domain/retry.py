"""When a failed unit is tried again: attempts and back-off as arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_ATTEMPTS_LIMIT: Final = 1_000
BACKOFF_SECONDS_LIMIT: Final = 30 * 86_400


@dataclass(frozen=True, slots=True)
class Backoff:
    """`base_seconds * factor ** (attempt - 1)`, at most `max_seconds`, jittered down by up to half."""

    base_seconds: float = 1.0
    factor: float = 2.0
    max_seconds: float = 60.0

    def delay_ms(self, attempts: int, jitter: float) -> int:
        """Milliseconds until the next attempt after `attempts` failed ones; `jitter` is a number from 0 to 1."""
        exponent = min(attempts - 1, 64)
        full = min(self.base_seconds * self.factor**exponent, self.max_seconds)
        return round(full * (1 - jitter / 2) * 1000)


@dataclass(frozen=True, slots=True)
class Policy:
    """What happens to a unit that fails or is abandoned. A task's own members override its plan's."""

    on_failure: str = "block"  # or "skip": all descendants are skipped in the same move
    max_attempts: int = 1
    backoff: Backoff = Backoff()
    max_abandoned: int = 5
    run_limit_ms: int | None = None  # None: the hall's; 0: none

    def tries_again(self, attempts: int) -> bool:
        """Whether a unit that failed `attempts` times is tried again."""
        return attempts < self.max_attempts


DEFAULT_POLICY: Final = Policy()
"""No retries, and a failed task blocks its dependents."""
