"""The statuses of the plan workers' protocol, and the states of the hall that show as each."""

from __future__ import annotations

from typing import Final

from hiringhall.domain.lifecycle import State

STATUSES: Final[dict[str, tuple[State, ...]]] = {
    "PENDING": (State.WAITING, State.READY),
    "CLAIMED": (State.HELD,),
    "IN_PROGRESS": (State.HELD,),
    "DONE": (State.DONE,),
    "FAILED": (State.FAILED, State.CANCELLED, State.EXPIRED),
    "SKIPPED": (State.SKIPPED,),
}
_SHOWN: Final[dict[State, str]] = {state: status for status, states in reversed(STATUSES.items()) for state in states}


def status_of(state: State, *, started: bool) -> str:
    """The status of a task; of a held one, `started` tells the two apart."""
    return "IN_PROGRESS" if started and state is State.HELD else _SHOWN[state]
