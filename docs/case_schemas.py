"""The JSON Schemas of conformance cases, made from the types by which they are read."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hiringhall.verify.cases import Case
from hiringhall.verify.server_cases import ServerCase

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def case_schema() -> str:
    """The form of a case for workers."""
    return _schema(Case, "A conformance case for workers")


def server_case_schema() -> str:
    """The form of a case for servers."""
    return _schema(ServerCase, "A conformance case for servers")


def _schema(kind: Any, title: str) -> str:
    found = {"$schema": DIALECT, "title": title, **msgspec.json.schema(kind)}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
