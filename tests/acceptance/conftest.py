"""A workplace for each published version of the client, on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.acceptance.wheels import WHEELS, Wheel, environment_of
from tests.acceptance.workplace import Workplace
from tests.conftest import StartHall
from tests.hall_process import Database


class OpenWorkplace(Protocol):
    """Starts a hall with these settings and gives the wheel's workers a folder."""

    def __call__(self, **settings: float) -> Workplace: ...


@pytest.fixture(params=WHEELS, ids=lambda wheel: wheel.version)
def wheel(request: pytest.FixtureRequest) -> Wheel:
    """Runs the test with each published version."""
    found: Wheel = request.param
    return found


@pytest.fixture(scope="session")
def environments(python_312: Path) -> Callable[[Wheel], Path]:
    """The environment of a wheel, looked at once a session."""
    ready: dict[Wheel, Path] = {}

    def environment(wheel: Wheel) -> Path:
        if wheel not in ready:
            ready[wheel] = environment_of(wheel, python_312)
        return ready[wheel]

    return environment


@pytest.fixture
def open_workplace(
    wheel: Wheel,
    environments: Callable[[Wheel], Path],
    database: Database,
    start_hall: StartHall,
    tmp_path: Path,
) -> Iterator[OpenWorkplace]:
    """Opens workplaces, and ends their workers with the test."""
    environment = environments(wheel)
    opened: list[Workplace] = []

    def open_one(**settings: float) -> Workplace:
        hall = start_hall(database, start=False, HALL_WHILLY_PORT=0)
        hall.settings.update({name: str(value) for name, value in settings.items()})
        hall.start()
        hall.settings["HALL_WHILLY_PORT"] = hall.whilly_url.rpartition(":")[2]  # kept over a restart
        folder = tmp_path / f"workers-{len(opened) + 1}"
        folder.mkdir()
        opened.append(Workplace(hall, wheel, environment, folder))
        return opened[-1]

    yield open_one
    for workplace in opened:
        workplace.close()


@pytest.fixture
def workplace(open_workplace: OpenWorkplace) -> Workplace:
    """A hall with the ordinary settings, but a claim that finds nothing is held for three seconds only."""
    return open_workplace(HALL_CLAIM_HOLD=3)
