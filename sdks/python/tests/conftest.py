"""What the tests share: scripted halls, and workers that are stopped at the end of each test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running_worker import Running, Start
from scripted_hall import ScriptedHall
from scripted_services import ScriptedServices

from hiringhall_worker import PlanWorker, ServiceWorker

VARIABLES = (
    "HALL_SERVER",
    "HALL_BOOTSTRAP_TOKEN",
    "HALL_WORKER_TOKEN",
    "HALL_SERVICE_SECRET",
    "HALL_ADMIN_TOKEN",
    "HALL_CLIENT_ID",
    "HALL_CLIENT_SECRET",
    "HALL_DATA",
)


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.fixture
def hall() -> Iterator[ScriptedHall]:
    found = ScriptedHall()
    yield found
    found.close()


@pytest.fixture
def services() -> Iterator[ScriptedServices]:
    found = ScriptedServices()
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


@pytest.fixture
def serve(services: ScriptedServices) -> Iterator[Start]:
    """Start a service worker for the scripted hall: `serve({"add": add}, **settings)`."""
    begun: list[Running] = []

    def begin(methods: dict[str, Callable[..., Any]], **settings: Any) -> Running:
        given: dict[str, Any] = {"service": "math", "secret": "s3cret", "hold_seconds": 5.0, "grace_seconds": 0.0}
        given.update(settings)
        worker = ServiceWorker(given.pop("server", services.url), **given)
        for name, handler in methods.items():
            worker.method(name)(handler)
        begun.append(Running(worker))
        return begun[-1]

    yield begin
    for running in begun:
        running.stop()
