"""What the tests share: a scripted hall, and workers that are stopped at the end of each test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running_worker import Running, Start
from scripted_hall import ScriptedHall

from hiringhall_worker import PlanWorker


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALL_SERVER", "HALL_BOOTSTRAP_TOKEN", "HALL_WORKER_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def hall() -> Iterator[ScriptedHall]:
    found = ScriptedHall()
    yield found
    found.close()


@pytest.fixture
def start(hall: ScriptedHall) -> Iterator[Start]:
    """Start a worker for the scripted hall: `start(handler, once=..., until_empty=..., **settings)`."""
    begun: list[Running] = []

    def begin(handler: Callable[..., Any], once: bool = False, until_empty: bool = False, **settings: Any) -> Running:
        given: dict[str, Any] = {"plan": "demo", "hold_seconds": 5.0, **settings}
        if "token" not in given:
            given.setdefault("bootstrap_token", "boot")
        worker = PlanWorker(given.pop("server", hall.url), **given)
        begun.append(Running(worker, handler=handler, once=once, until_empty=until_empty))
        return begun[-1]

    yield begin
    for running in begun:
        running.stop()
