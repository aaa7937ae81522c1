"""Words of the plan dialect: what a conflict says."""

from __future__ import annotations

from hiringhall.domain.lifecycle import State
from hiringhall.domain.work import Conflict
from hiringhall.wire.statuses import status_of


def detail_of(conflict: Conflict) -> str:
    """Why a task cannot be settled, for people."""
    if conflict.actual_version is None or conflict.actual_state is None:
        return f"task {conflict.task_id!r} was not found"
    status = status_of(conflict.actual_state, started=conflict.started)
    if conflict.actual_version != conflict.expected_version:
        return (
            f"task {conflict.task_id!r} is at version {conflict.actual_version} with status {status}, "
            f"not at version {conflict.expected_version}"
        )
    if conflict.actual_state is not State.HELD:
        return f"task {conflict.task_id!r} has status {status}, which does not allow this"
    return f"task {conflict.task_id!r} is held by another worker"
