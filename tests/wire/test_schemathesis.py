"""Every route answers as `/openapi.json` describes it, whatever it is sent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, Response
from schemathesis.core.failures import AcceptedNegativeData, Failure, FailureGroup, ServerError
from schemathesis.openapi.checks import RejectedPositiveData

from hiringhall.wire.openapi import document
from tests.hall_client import fine
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN, Database, HallProcess
from tests.postgres_server import DatabaseAdministrator
from tests.wire.described_service_stage import TOKEN_TO_COME, TokenSession
from tests.wire.described_stage import Stage

METRICS_TOKEN: Final = "metrics-token-of-the-tests"
EXAMPLES: Final = int(os.environ.get("HALL_TEST_EXAMPLES", "4"))
"""How many random requests are made up per route, beside the systematic ones; a longer run sets the variable."""
OF_SCHEME: Final = {
    "operator": ADMIN_TOKEN,
    "metrics": METRICS_TOKEN,
    "worker": WORKER_TOKEN,
    "bootstrap": BOOTSTRAP_TOKEN,
    "client": ADMIN_TOKEN,
    "service_worker": TOKEN_TO_COME,
}
BETWEEN_VALUES: Final = (
    "differs from",
    "there is no task",
    "cannot depend on itself",
    "depend on each other",
    "is the id of tasks[",
)
"""What the problems of a plan file say when each value is fine by itself, but not beside the others."""


def _says(response: Response, *sentences: str) -> bool:
    return any(sentence in response.json()["detail"] for sentence in sentences)


def _is_version_in_other_words(case: Case[Any]) -> bool:
    version = case.body.get("version") if isinstance(case.body, dict) else None
    return isinstance(version, float | str)


EXPLAINED: Final[tuple[tuple[str, type[Failure], Callable[[Case[Any], Response], bool]], ...]] = (
    (
        "the values of a plan file are judged together: ids that have to agree, dependencies that have to exist",
        RejectedPositiveData,
        lambda _, response: all(
            any(words in problem["reason"] for words in BETWEEN_VALUES)
            for problem in response.json().get("problems") or [{"reason": ""}]
        ),
    ),
    (
        "the worker's id stands in the path and in the body, and a schema cannot say that they have to be equal",
        RejectedPositiveData,
        lambda _, response: response.json()["error_code"] == "worker_id_mismatch",
    ),
    (
        "a unit is named by `id`, or by `task` with or without `plan`: parameters that exclude or need each other",
        RejectedPositiveData,
        lambda _, response: _says(response, "stands for plan and task", "id: is missing", "task: is missing"),
    ),
    (
        "a new client needs patterns of what it may call, and a schema cannot say whether it is new",
        RejectedPositiveData,
        lambda _, response: _says(response, "allow: is missing"),
    ),
    (
        "only an item about a background process may be about no call, and a schema cannot say that",
        RejectedPositiveData,
        lambda _, response: _says(response, "rid: is missing", "rid: must not be empty"),
    ),
    (
        "`after` has to be the id of a task that the plan has",
        RejectedPositiveData,
        lambda _, response: _says(response, "after: must be the id of a task of this plan"),
    ),
    (
        "who calls may want to be told that nobody is there to do it: 503 is that answer",
        ServerError,
        lambda _, response: response.json()["error_code"] == "no_worker",
    ),
    (
        "a version may also be written 2.0 or '2', for languages that do so, which is better left out of a description",
        AcceptedNegativeData,
        lambda case, _: _is_version_in_other_words(case),
    ),
)
"""Findings that are none, each with the reason why: what a schema cannot express."""


def _described(*, systematic: bool) -> schemathesis.BaseSchema:
    """The description with the tokens for its security schemes. The same requests are made up in every run."""
    return schemathesis.openapi.from_dict(
        document(),
        config=schemathesis.Config.from_dict(
            {
                "seed": 1,
                "generation": {"max-examples": EXAMPLES, "deterministic": True},
                "phases": {"coverage": {"enabled": systematic}},
                "auth": {"openapi": {name: {"bearer": token} for name, token in OF_SCHEME.items()}},
            }
        ),
    )


SYSTEMATIC: Final = _described(systematic=True)
RANDOM: Final = _described(systematic=False)
PATIENT: Final = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
SEEN: Final[Counter[tuple[str, int]]] = Counter()


def _stage(database: Database) -> Iterator[Stage]:
    hall = HallProcess(database, settings={"HALL_CLAIM_HOLD": 0, "HALL_METRICS_TOKEN": METRICS_TOKEN}).start()
    stage = Stage(hall.url)
    try:
        yield stage
        assert hall.running, hall.shown()
        assert "Traceback" not in hall.stderr, hall.shown()
    finally:
        stage.close()
        hall.close()


@pytest.fixture(scope="module")
def sqlite_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One server on SQLite for all routes."""
    yield from _stage(Database("sqlite", tmp_path_factory.mktemp("described") / "data"))


@pytest.fixture(scope="module")
def postgres_stage(tmp_path_factory: pytest.TempPathFactory, postgres_server: DatabaseAdministrator) -> Iterator[Stage]:
    """One server on PostgreSQL for all routes."""
    url = postgres_server.create_database()
    yield from _stage(Database("postgres", tmp_path_factory.mktemp("described") / "data", url))
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def session() -> Iterator[TokenSession]:
    """Connections that are used again."""
    with TokenSession() as found:
        found.trust_env = False
        yield found


def _hold_to_the_description(case: Case[Any], stage: Stage, session: TokenSession) -> None:
    stage.set_for(case)
    if case.operation.path.startswith("/worker/"):
        session.token = stage.services.token
    response = case.call(base_url=stage.client.url, session=session)
    SEEN[case.operation.label, response.status_code] += 1
    try:
        case.validate_response(response, transport_kwargs={"base_url": stage.client.url, "session": session})
    except FailureGroup as group:
        findings = [finding for finding in group.exceptions if not _is_explained(finding, case, response)]
        if findings:
            raise FailureGroup(findings, group.message) from None


def _is_explained(finding: BaseException, case: Case[Any], response: Response) -> bool:
    return any(isinstance(finding, kind) and applies(case, response) for _, kind, applies in EXPLAINED)


def test_the_description_is_the_one_that_is_served(sqlite_stage: Stage) -> None:
    """What the requests are made up from is what the server shows."""
    assert fine(sqlite_stage.client.call("GET", "/openapi.json", token=None)) == document()


@SYSTEMATIC.parametrize()
@PATIENT
def test_every_answer_on_sqlite_is_as_described(case: Case[Any], sqlite_stage: Stage, session: TokenSession) -> None:
    """Status, schema, headers and content type of every answer are described; bad requests are refused, good ones not;
    nothing is a 5xx; what needs a token is closed without."""
    _hold_to_the_description(case, sqlite_stage, session)


@RANDOM.parametrize()
@PATIENT
def test_every_answer_on_postgres_is_as_described(
    case: Case[Any], postgres_stage: Stage, session: TokenSession
) -> None:
    """The same on PostgreSQL, where texts meet other limits."""
    _hold_to_the_description(case, postgres_stage, session)


def test_the_requests_met_what_they_are_about() -> None:
    """Each route did what it is for at least once, or told what state the thing is in: none was always refused."""
    ran = {label for label, _ in SEEN}
    assert ran - {label for label, status in SEEN if status < 300 or status == 409} == set()
