"""How far a plan is, from its counts."""

from __future__ import annotations

import pytest

from hiringhall.operations.progress import progress_of
from hiringhall.ports.questions import PlanView


@pytest.mark.parametrize(
    ("counts", "paused", "state"),
    [
        ({}, False, "finished"),
        ({"done": 2, "skipped": 1}, False, "finished"),
        ({"done": 2, "skipped": 1}, True, "finished"),
        ({"done": 1, "failed": 1}, False, "finished"),
        ({"failed": 1, "waiting": 3}, False, "blocked"),
        ({"failed": 1, "waiting": 3}, True, "blocked"),
        ({"failed": 1, "waiting": 3, "ready": 1}, False, "active"),
        ({"failed": 1, "waiting": 3, "held": 1}, False, "active"),
        ({"retrying": 1, "waiting": 3}, False, "active"),
        ({"waiting": 3}, False, "active"),
        ({"ready": 3}, True, "paused"),
    ],
)
def test_a_plan_goes_on_is_finished_or_waits_for_a_person(counts: dict[str, int], paused: bool, state: str) -> None:
    """Finished: nothing is left. Blocked: only a person helps. Paused counts only while something is left to do."""
    progress = progress_of(PlanView("P", "P", paused, 0, counts))
    assert progress.state == state
    assert progress.counts["total"] == sum(counts.values())
