"""The cases: readable, complete, and described by a schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml

from hiringhall.verify.cases import Case, Described, Rule, Step
from hiringhall.verify.heard import ROUTES
from hiringhall.verify.loading import FEATURES, BadCase, home, load_cases, load_server_cases
from hiringhall.verify.matching import wildcards
from hiringhall.verify.server_cases import ServerCase, ServerStep

ROOT = Path(__file__).parents[2]
ALL: list[Described] = [*load_cases(), *load_server_cases()]
PUBLISHED = ("Worker protocol", "Worker HTTP protocol")
PAGES = {
    "The protocol of plan workers": "docs/protocol/plans.md",
    "The protocol of service workers": "docs/protocol/services.md",
    "Errors": "docs/errors.md",
    "Conformance": "conformance/README.md",
}
VARIABLES = re.compile(r"`(HALL_[A-Z_]+)`")
GOOD = """
name: good
sentence: "A sentence of the protocol."
source: "The protocol"
level: core
feature: claim
steps:
  - expect: {request: claim}
"""


def schema(name: str) -> Any:
    """A schema as it stands in the repository."""
    return json.loads((ROOT / "conformance" / name).read_text())


def test_there_are_enough() -> None:
    """Sixty cases and more for workers, of all levels, and some for servers."""
    cases = load_cases()
    assert len(cases) >= 60
    assert {(case.protocol, case.level) for case in cases} == {
        (protocol, level) for protocol in ROUTES for level in ("core", "fault", "optional")
    }
    assert {case.protocol for case in load_server_cases()} == set(ROUTES)


def test_names_are_unique() -> None:
    """No two cases of one side have the same title, so that a list can name them."""
    for cases in (load_cases(), load_server_cases()):
        titles = [case.title for case in cases]
        assert len(titles) == len(set(titles))


def test_every_feature_has_its_cases() -> None:
    """Each feature of the list is shown by some case, for each protocol."""
    shown = {(case.protocol, case.feature) for case in load_cases()}
    assert shown == {(protocol, feature) for protocol, features in FEATURES.items() for feature in features}


def test_every_route_is_waited_for() -> None:
    """Each request that a worker can send is expected by some case."""
    waited = {
        (case.protocol, step.expect.request)
        for case in load_cases()
        for step in case.steps
        if step.expect is not msgspec.UNSET
    }
    assert waited == {(protocol, route) for protocol, routes in ROUTES.items() for route in routes}


@pytest.mark.parametrize(
    ("folder", "file"), [("cases", "case.schema.json"), ("server_cases", "server_case.schema.json")]
)
def test_the_schema_describes_every_case(folder: str, file: str) -> None:
    """Each file fits the published JSON Schema, which other tools can use."""
    validator = jsonschema_rs.validator_for(schema(file))
    paths = sorted((home() / folder).glob("*/*.yaml"))
    assert paths
    bad = [
        f"{path.name}: {error.message}"
        for path in paths
        for error in validator.iter_errors(yaml.safe_load(path.read_text()))
    ]
    assert not bad


def test_every_source_is_known() -> None:
    """A sentence stands in one of the two published protocols, or on a page of this repository."""
    assert {case.source.partition(":")[0] for case in ALL} == {*PUBLISHED, *PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_quoted_from_our_pages(page: str) -> None:
    """A sentence whose source is a page of this repository stands there, word for word."""
    text = plain((ROOT / PAGES[page]).read_text())
    quoted = [case for case in ALL if case.source.partition(":")[0] == page]
    assert quoted
    assert not [case.title for case in quoted if plain(case.sentence) not in text]


def plain(text: str) -> str:
    """A text without line breaks and emphasis."""
    return " ".join(text.replace("*", "").split())


def test_the_readme_explains_the_format() -> None:
    """Each wildcard, each kind of step and each member of a case stands in the README."""
    text = (ROOT / "conformance/README.md").read_text()
    members = [name for kind in (Case, Step, Rule, ServerCase, ServerStep) for name in kind.__struct_fields__]
    words = [*wildcards(), *(name.rstrip("_") for name in members if name != "protocol")]
    assert not [word for word in words if f"`{word}`" not in text]


def test_the_readme_lists_every_variable() -> None:
    """Each environment variable that a case sets, or that the hall tells, stands in the README."""
    told = set(VARIABLES.findall((ROOT / "conformance/README.md").read_text()))
    assert {name for case in load_cases() for name in case.environment} <= told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("level: core", "level: hard"), r"level"),
        (("request: claim", "request: clam"), r"'clam' is none of"),
        (("request: claim", "request: claim, colour: 1"), r"colour"),
        (("request: claim", "request: claim, json: {$anything: 1}"), r"no wildcard"),
        (("feature: claim", "feature: flying"), r"'flying' is none of"),
        (("name: good", "name: better"), r"not that of the file"),
        (("- expect:", "- pause_ms: 1\n    expect:"), r"exactly one member"),
        (("steps:", "steps"), r"good.yaml"),
    ],
)
def test_a_bad_case_is_told_plainly(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    """An error names the file and the place."""
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "good.yaml").write_text(GOOD)
    assert [case.name for case in load_cases(("plans",), tmp_path)] == ["good"]
    (folder / "good.yaml").write_text(GOOD.replace(*change))
    with pytest.raises(BadCase, match=told):
        load_cases(("plans",), tmp_path)
