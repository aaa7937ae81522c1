"""Retries of failed tasks against a real server, on both databases."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from tests.conftest import StartHall
from tests.hall_client import HallClient
from tests.hall_process import Database

ATTEMPTS = 6
BACKOFF_SECONDS = 0.2
LATE_SECONDS_MAX = 0.25
"""Much less than the second between two pulses."""


def test_a_retry_comes_when_it_is_due(database: Database, start_hall: StartHall) -> None:
    """The next attempt is handed out when it is due, not when the next pulse happens to look."""
    backoff = {"base_seconds": BACKOFF_SECONDS, "factor": 1, "max_seconds": BACKOFF_SECONDS}
    with HallClient(start_hall(database).url) as client:
        client.apply("p", {"id": "T1", "max_attempts": ATTEMPTS + 1, "retry_backoff": backoff})
        worker = client.register()
        for _ in range(ATTEMPTS):
            assert worker.settle("fail", worker.claim("p", wait=10), reason="not yet").status_code == 200
        assert worker.claim("p", wait=10) is not None
        history = client.history("p", "T1")
    pauses = [
        (datetime.fromisoformat(after["at"]) - datetime.fromisoformat(before["at"])).total_seconds()
        for before, after in pairwise(history)
        if before["move"] == "fail"
    ]
    assert len(pauses) == ATTEMPTS
    assert max(pauses) < BACKOFF_SECONDS + LATE_SECONDS_MAX
