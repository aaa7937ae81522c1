"""What every test may ask for: databases, servers, and a loud word about what this machine lacks."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.hall_process import Database, HallProcess
from tests.missing import lines_for_summary, missing
from tests.postgres_binaries import find_binaries, install_binaries
from tests.postgres_server import DatabaseAdministrator, PostgresServer, clean_leftovers
from tests.pythons import find_python

HALLS = pytest.StashKey[list[HallProcess]]()
HOW_TO_GET_POSTGRES = "install PostgreSQL 15 or newer, or set HALL_TEST_DATABASE to the URL of a server"


class StartHall(Protocol):
    """Starts a server on a database. Settings are HALL_... variables: `start_hall(database, HALL_CLAIM_HOLD=2)`."""

    def __call__(
        self, database: Database, *, name: str = ..., start: bool = ..., **settings: str | float
    ) -> HallProcess: ...


@pytest.fixture(scope="session")
def postgres_binaries() -> Path:
    """The folder of PostgreSQL's programs."""
    return find_binaries() or install_binaries() or missing("PostgreSQL", HOW_TO_GET_POSTGRES)


@pytest.fixture(scope="session")
def fault_rounds() -> int:
    """How often a fault is repeated: a few times among all tests, more often with `make faults`."""
    return int(os.environ.get("HALL_TEST_ROUNDS", "3"))


@pytest.fixture(scope="session")
def python_312() -> Path:
    """An interpreter on which the published clients can be installed."""
    return find_python(oldest=(3, 12), newest=(3, 13)) or missing("Python 3.12", "install python3.12 with venv")


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> Iterator[DatabaseAdministrator]:
    """A running PostgreSQL on which databases can be made: that of HALL_TEST_DATABASE, else one of the run's own."""
    given = os.environ.get("HALL_TEST_DATABASE")
    server = None
    if not given:
        clean_leftovers()
        server = PostgresServer(request.getfixturevalue("postgres_binaries"))
    administrator = DatabaseAdministrator(given or server.url)  # type: ignore[union-attr]
    try:
        yield administrator
    finally:
        administrator.close()
        if server:
            server.remove()


@pytest.fixture
def postgres_url(postgres_server: DatabaseAdministrator) -> Iterator[str]:
    """The URL of an empty database of the test's own, on PostgreSQL."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def own_postgres(postgres_binaries: Path) -> Iterator[PostgresServer]:
    """A PostgreSQL server for this test alone, to be stopped, started and crashed."""
    clean_leftovers()
    server = PostgresServer(postgres_binaries)
    yield server
    server.remove()


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Database:
    """A folder for a hall on SQLite."""
    return Database("sqlite", tmp_path / "data")


@pytest.fixture
def postgres_database(tmp_path: Path, postgres_url: str) -> Database:
    """A folder and an empty PostgreSQL database for a hall."""
    return Database("postgres", tmp_path / "data", postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    """Runs the test on each database that a hall can stand on."""
    found = request.getfixturevalue(f"{request.param}_database")
    assert isinstance(found, Database)
    return found


@pytest.fixture
def start_hall(request: pytest.FixtureRequest) -> Iterator[StartHall]:
    """Starts any number of servers and ends them with the test; what they wrote is shown when the test fails."""
    halls = request.node.stash.setdefault(HALLS, [])

    def start_one(database: Database, *, name: str = "", start: bool = True, **settings: str | float) -> HallProcess:
        hall = HallProcess(database, settings=settings, name=name or f"hall-{len(halls) + 1}")
        halls.append(hall)
        return hall.start() if start else hall

    yield start_one
    problems = []
    for hall in halls:
        try:
            hall.close()
        except AssertionError as problem:
            problems.append(str(problem))
    assert not problems, "\n".join(problems)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the servers wrote to the report of a failed test."""
    report = yield
    if report.failed:
        report.sections.extend((f"server {hall.name}", hall.shown()) for hall in item.stash.get(HALLS, []))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line each what was skipped because this machine lacks something."""
    lines = lines_for_summary(terminalreporter.stats.get("skipped", []))
    if lines:
        terminalreporter.section("not everything was tested", sep="!", red=True, bold=True)
        for line in lines:
            terminalreporter.line(line, red=True, bold=True)
