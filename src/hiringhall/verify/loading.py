"""Finds the cases, in the wheel or in a checkout, and reads them with errors that name the file and the place."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from hiringhall.verify.cases import Case
from hiringhall.verify.heard import ANY, OTHER, ROUTES
from hiringhall.verify.matching import BadPattern, check_pattern
from hiringhall.verify.server_cases import ServerCase

PROTOCOLS: Final = ("services", "plans")
FEATURES: Final[dict[str, tuple[str, ...]]] = {
    "services": (
        "login",
        "registration",
        "drain",
        "lock",
        "methods",
        "responses",
        "wake-up",
        "feedback",
        "heartbeat",
        "repeating",
        "transport",
        "directives",
        "shutdown",
    ),
    "plans": (
        "registration",
        "claim",
        "settling",
        "conflicts",
        "heartbeat",
        "repeating",
        "transport",
        "directives",
        "shutdown",
    ),
}

AnyCase = TypeVar("AnyCase", bound=msgspec.Struct)


class BadCase(Exception):
    """A case cannot be read; the text names the file and what is wrong with it."""


def home() -> Path:
    """The folder of the cases: beside this module in a wheel, else `conformance/` of the checkout."""
    beside = Path(__file__).parent / "conformance"
    return beside if beside.is_dir() else Path(__file__).parents[3] / "conformance"


def read_yaml(path: Path, kind: type[AnyCase], **members: Any) -> AnyCase:
    """One file as a value of `kind`, with these members added; BadCase says what is wrong with it."""
    import yaml

    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        if not isinstance(found, dict):
            raise BadCase(f"{path}: an object is wanted")
        case = msgspec.convert({**found, **members}, kind)
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as problem:
        raise BadCase(f"{path}: {problem}") from None
    if getattr(case, "name", None) != path.stem:
        raise BadCase(f"{path}: its name is {getattr(case, 'name', None)!r}, not that of the file")
    return case


def load_cases(protocols: Sequence[str] = PROTOCOLS, folder: Path | None = None) -> list[Case]:
    """Every case for workers of these protocols, by name."""
    found = []
    for protocol in protocols:
        for path in sorted(((folder or home() / "cases") / protocol).glob("*.yaml")):
            case = read_yaml(path, Case, protocol=protocol)
            _check(case, path)
            found.append(case)
    return found


def load_server_cases(protocols: Sequence[str] = PROTOCOLS, folder: Path | None = None) -> list[ServerCase]:
    """Every case for servers of these protocols, by name."""
    found = []
    for protocol in protocols:
        for path in sorted(((folder or home() / "server_cases") / protocol).glob("*.yaml")):
            case = read_yaml(path, ServerCase, protocol=protocol)
            for step in case.steps:
                if step.answer is not msgspec.UNSET:
                    _check_patterns(path, (step.answer.status, step.answer.headers, step.answer.json, step.answer.body))
            found.append(case)
    return found


def chosen(names: Sequence[str], title: str) -> bool:
    """Whether a case is meant by one of these names or shell patterns, with or without its protocol."""
    bare = title.partition("/")[2]
    return not names or any(fnmatch.fnmatch(title, one) or fnmatch.fnmatch(bare, one) for one in names)


def _check(case: Case, path: Path) -> None:
    if case.feature not in FEATURES[case.protocol]:
        raise BadCase(f"{path}: feature {case.feature!r} is none of {', '.join(FEATURES[case.protocol])}")
    known = {*ROUTES[case.protocol], OTHER, ANY}
    waited = [s.expect for s in case.steps] + [s.never for s in case.steps]
    for pattern in [*waited, *(rule.to for rule in case.answers), *case.finally_]:
        if pattern is msgspec.UNSET:
            continue
        if pattern.request not in known:
            raise BadCase(f"{path}: request {pattern.request!r} is none of {', '.join(sorted(known))}")
        _check_patterns(path, (pattern.id, pattern.headers, pattern.query, pattern.form, pattern.json))


def _check_patterns(path: Path, patterns: Iterable[Any]) -> None:
    try:
        for pattern in patterns:
            check_pattern(pattern)
    except BadPattern as problem:
        raise BadCase(f"{path}: {problem}") from None
