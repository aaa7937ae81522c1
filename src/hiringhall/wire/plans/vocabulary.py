"""Words of the plan dialect: states as the wire calls them, and what a conflict says."""

from __future__ import annotations

from typing import Final

from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import Conflict

STATUS: Final[dict[State, str]] = {
    State.WAITING: "PENDING",
    State.READY: "PENDING",
    State.HELD: "CLAIMED",
    State.DONE: "DONE",
    State.FAILED: "FAILED",
    State.SKIPPED: "SKIPPED",
    State.CANCELLED: "FAILED",
    State.EXPIRED: "FAILED",
}
IN_PROGRESS: Final = "IN_PROGRESS"


def status_of(state: State, started: bool) -> str:
    """The status of a task on the wire."""
    return IN_PROGRESS if started and state is State.HELD else STATUS[state]


def detail_of(conflict: Conflict) -> str:
    """Why a task cannot be settled, for people."""
    if conflict.actual_version is None or conflict.actual_state is None:
        return f"task {conflict.task_id!r} was not found"
    status = status_of(conflict.actual_state, conflict.started)
    if conflict.actual_version != conflict.expected_version:
        return (
            f"task {conflict.task_id!r} is at version {conflict.actual_version} with status {status}, "
            f"not at version {conflict.expected_version}"
        )
    if conflict.actual_state is not State.HELD:
        return f"task {conflict.task_id!r} has status {status}, which does not allow this"
    return f"task {conflict.task_id!r} is held by another worker"
