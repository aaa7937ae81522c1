"""What PlanWorker takes, refuses, and finds in the environment."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_hall import ScriptedHall

from hiringhall_worker import PlanWorker, Task


def nothing(task: Task) -> None:
    """A handler that succeeds at once."""


def test_a_worker_can_run_again(hall: ScriptedHall) -> None:
    """run() may be called again after it returned, but not twice at once."""
    worker = PlanWorker(hall.url, plan="demo", bootstrap_token="boot", hold_seconds=0.05)

    def handler(task: Task) -> None:
        with pytest.raises(RuntimeError, match="running already"):
            worker.run(nothing)

    for _ in range(2):
        hall.hand_out("T-001")
        worker.run(handler, until_empty=True)
    assert len(hall.of("complete")) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"plan": ""}, "plan:"),
        ({"concurrency": 0}, "concurrency:"),
        ({"concurrency": True}, "concurrency:"),
        ({"bootstrap_token": None}, "no token"),
        ({"bootstrap_token": "two words"}, "bootstrap_token:"),
        ({"token": ""}, "token:"),
        ({"worker_id": "w-1"}, "worker_id:"),
        ({"hold_seconds": 56}, "hold_seconds: seconds, more than 0 and at most 55"),
        ({"heartbeat_seconds": 0}, "heartbeat_seconds:"),
        ({"grace_seconds": -1}, "grace_seconds: seconds, at least 0"),
        ({"answer_seconds": float("nan")}, "answer_seconds:"),
        ({"server": "127.0.0.1:8400"}, "http://HOST:PORT"),
        ({"server": "http://me:pass@host"}, "no user name"),
        ({"server": "http://host:port"}, "[Pp]ort"),
    ],
)
def test_bad_settings_name_themselves(settings: dict[str, Any], message: str) -> None:
    """A wrong setting is a ValueError that says which one and what is wanted."""
    given = {"plan": "demo", "bootstrap_token": "boot", **settings}
    with pytest.raises(ValueError, match=message):
        PlanWorker(**given)


def test_settings_from_the_environment(hall: ScriptedHall, monkeypatch: pytest.MonkeyPatch) -> None:
    """HALL_SERVER and HALL_BOOTSTRAP_TOKEN stand in; of two tokens in rotation the first is used."""
    monkeypatch.setenv("HALL_SERVER", hall.url)
    monkeypatch.setenv("HALL_BOOTSTRAP_TOKEN", "new,old\n")
    hall.hand_out("T-001")
    PlanWorker(plan="demo").run(nothing, once=True)
    assert hall.of("register")[0].headers["authorization"] == "Bearer new"


def test_a_run_without_a_handler_says_so() -> None:
    """Forgetting the handler is a clear error."""
    with pytest.raises(ValueError, match="no handler"):
        PlanWorker(plan="demo", token="t").run()
