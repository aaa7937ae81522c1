"""Lists in the documentation that are written by hand say what the code says."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from docs.reference_pages import ERRORS, commands
from prometheus_client.parser import text_string_to_metric_families

from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.domain.plan_file import PLAN_MEMBERS, TASK_MEMBERS
from hiringhall.domain.plan_members import POLICY_MEMBERS
from hiringhall.domain.refusals import CODES
from hiringhall.sweepers.sweeper import tidying
from hiringhall.wire.clients.bodies import MEMBERS, REQUIRES_MEMBERS
from hiringhall.wire.clients.feedback import PATH as FEEDBACK_PATH
from hiringhall.wire.clients.routes import ROUTES as CLIENT_ROUTES
from hiringhall.wire.described_workers import DESCRIBED
from hiringhall.wire.login.described import DESCRIBED as LOGIN_ROUTES
from hiringhall.wire.openapi import document
from hiringhall.wire.operators.routes import SERVED
from hiringhall.wire.plans.bodies import ClaimBody, HeartbeatBody, RegisterBody, SettleBody
from hiringhall.wire.plans.routes import PUBLISHED_ROUTES, ROUTES
from hiringhall.wire.services.routes import ROUTES as SERVICE_ROUTES
from tests.conftest import StartHall
from tests.docs.documents import ROOT, documents, table, text_of
from tests.hall_process import ADMIN_TOKEN, Database

NAME = re.compile(r"`([a-z_]+(?:\.[a-z_]+)*):(\w+(?:\.\w+)*)`")
QUOTED = re.compile(r"`([^`]+)`")


def quoted(cell: str) -> list[str]:
    """The words of a cell that stand in backquotes."""
    return QUOTED.findall(cell)


def test_every_name_in_the_architecture_exists() -> None:
    """Each function, class and module that ARCHITECTURE.md cites is there."""
    names = NAME.findall(text_of("ARCHITECTURE.md"))
    assert len(names) > 30
    missing = []
    for module, path in names:
        try:
            found: Any = importlib.import_module(f"hiringhall.{module}")
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            missing.append(f"{module}:{path}")
    assert not missing


def test_the_tree_in_the_architecture_is_the_tree() -> None:
    """The table of ARCHITECTURE.md names every package and module at the top of the server, and no other."""
    named = {name.rstrip("/") for row in table("ARCHITECTURE.md", "`src/hiringhall/`") for name in quoted(row[0])}
    there = {
        path.name
        for path in (ROOT / "src/hiringhall").iterdir()
        if path.suffix in ("", ".py") and path.name[0] not in "_."
    }
    assert named == there


def test_every_code_is_explained() -> None:
    """Each code of a refusal has its meaning and its remedy."""
    assert set(ERRORS) == set(CODES)


def test_codes_that_are_mentioned_exist() -> None:
    """A code that a page gives after its HTTP status is one of the list, with that status."""
    wrong = []
    for page in documents():
        for status, code in re.findall(r"\b([45]\d\d) `([a-z_]+)`", text_of(page)):
            if CODES.get(code) != int(status):
                wrong.append(f"{page}: {status} {code}")
    assert not wrong


def test_every_route_of_workers_is_described() -> None:
    """The page of the protocol lists the routes that are served, and no others."""
    listed = {(quoted(row[0])[0], quoted(row[1])[0]) for row in table("docs/protocol/plans.md", "method")}
    served = {
        (m.decode(), path) for routes in (ROUTES, PUBLISHED_ROUTES) for path, calls in routes.items() for m in calls
    }
    assert listed == served


def test_every_member_of_a_request_is_described() -> None:
    """The page of the protocol lists the members of each body, and no others."""
    listed = {row[0]: set(quoted(row[1])) for row in table("docs/protocol/plans.md", "request")}
    settle = set(SettleBody.__struct_fields__) - {"task_id"}
    assert listed == {
        "register": set(RegisterBody.__struct_fields__),
        "heartbeat": set(HeartbeatBody.__struct_fields__),
        "claim": set(ClaimBody.__struct_fields__),
        "complete": settle - {"reason"},
        "fail": settle,
        "release": settle,
    }


def test_every_served_route_is_described() -> None:
    """The OpenAPI document has each route that is served, and no other."""
    described = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    workers = {(method.decode(), path) for path, calls in ROUTES.items() for method in calls}
    workers |= {(route.method, route.path) for route in LOGIN_ROUTES}
    workers |= {(method.decode(), path) for path, calls in CLIENT_ROUTES.items() for method in calls}
    workers |= {(method.decode(), path) for path, calls in SERVICE_ROUTES.items() for method in calls}
    workers |= {("GET", FEEDBACK_PATH)}
    assert described == workers | {(served.method, served.path) for served in SERVED}


def test_every_route_of_clients_is_described() -> None:
    """The page of the clients' protocol lists the routes that are served, and no others."""
    listed = {(quoted(row[0])[0], quoted(row[1])[0]) for row in table("docs/protocol/clients.md", "method")}
    served = {(method.decode(), path) for path, calls in CLIENT_ROUTES.items() for method in calls}
    assert listed == {*served, ("GET", FEEDBACK_PATH), ("POST", "/client/auth_token")}


def test_every_member_of_a_call_is_described() -> None:
    """The page of the clients' protocol lists the members of a call and of what it requires, and no others."""
    listed = {quoted(row[0])[0] for row in table("docs/protocol/clients.md", "member")}
    assert listed == {*MEMBERS, *(f"requires.{member}" for member in REQUIRES_MEMBERS)}


def test_every_header_of_workers_is_described() -> None:
    """The page of the protocol names each header that a worker's request may carry."""
    headers = {each.name for route in DESCRIBED for each in (*route.parameters, *route.told) if each.place == "header"}
    assert not [name for name in headers if f"`{name}" not in text_of("docs/protocol/plans.md")]


def test_every_member_of_a_plan_file_is_described() -> None:
    """The page of plan files lists what a plan, a task and their policies may have."""
    listed = [set(quoted(row[0])) for row in table("docs/plan-files.md", "member")]
    named = set().union(*listed)
    assert named == set(PLAN_MEMBERS) | set(TASK_MEMBERS)
    assert named >= POLICY_MEMBERS


def test_every_metric_is_described(start_hall: StartHall, sqlite_database: Database) -> None:
    """The page for operators lists the metrics that a server has, with their labels, and no others."""
    hall = start_hall(sqlite_database)
    with httpx.Client(base_url=hall.url, headers={"authorization": f"Bearer {ADMIN_TOKEN}"}, trust_env=False) as client:
        client.put("/admin/plans/p", json={"tasks": [{"id": "t"}]}).raise_for_status()
        client.put("/admin/services/s", json={}).raise_for_status()
        client.post("/client/requests", json={"method": "s/m", "params": None}).raise_for_status()
        text = client.get("/metrics").text
    found: dict[str, tuple[set[str], str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels, _ = found.setdefault(sample.name, (set(), family.documentation))
            labels |= set(sample.labels)
    listed = {quoted(row[0])[0]: (set(quoted(row[1])), row[2]) for row in table("docs/operating.md", "metric")}
    assert listed == found


def test_every_sweep_is_described() -> None:
    """The page for operators lists the sweeps."""
    listed = {name for row in table("docs/operating.md", "sweep") for name in quoted(row[0])}
    assert listed == {sweeper.name for sweeper in tidying(keep_plans_ms=None)}


def test_every_state_and_cause_is_in_the_glossary() -> None:
    """The glossary names each state of a unit and each cause of a hand-over."""
    words = set(quoted(text_of("docs/glossary.md")))
    assert {*State, *Cause} <= words


def test_the_glossary_is_in_order() -> None:
    """The words of the glossary stand in the order of the alphabet, each once."""
    words = [row[0] for row in table("docs/glossary.md", "word")]
    assert words == sorted(set(words))


@pytest.mark.parametrize("page", [page for page in documents() if page.name != "cli.md"], ids=str)
def test_commands_that_are_mentioned_exist(page: Path) -> None:
    """A command `hall …` that a page mentions is one that the program has, with the options that are given."""
    known = dict(commands())
    wrong = []
    for text in re.findall(r"(?:`|\$ |^|- )(hall [a-z][^`\n|<>]*)", text_of(page), re.MULTILINE):
        words = text.split(" -- ")[0].split()
        name = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in known), None)
        if name is None:
            wrong.append(text)
            continue
        options = {word for option in known[name].params for word in option.opts}
        wrong += [f"{text}: {word}" for word in words if word.startswith("--") and word.split("=")[0] not in options]
    assert not wrong


@pytest.mark.parametrize("page", documents(), ids=str)
def test_settings_that_are_mentioned_exist(page: Path) -> None:
    """A variable HALL_… that a page mentions is a setting, or one that commands and workers read."""
    from hiringhall.config import SETTINGS

    known = {setting.variable for setting in SETTINGS} | {
        "HALL_SERVER", "HALL_TASK_ID", "HALL_PLAN_ID", "HALL_TASK_VERSION", "HALL_TEST_DATABASE",
    }  # fmt: skip
    verification_workers_read = set(re.findall(r"^\| `(HALL_[A-Z_]+)`", text_of("conformance/README.md"), re.MULTILINE))
    assert not set(re.findall(r"\bHALL_[A-Z_]+\b", text_of(page))) - known - verification_workers_read
