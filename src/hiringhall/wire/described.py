"""What a description of a route holds, whoever serves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query or a header."""

    name: str
    schema: dict[str, Any]
    description: str
    place: Literal["query", "header"] = "query"


@dataclass(frozen=True, slots=True)
class Described:
    """One route: what it takes and what it answers. Parts of the path in braces are identifiers.

    `answers`: by status, a struct, the content type of a text, or None if nothing comes with it.
    `told`: the headers that come with every one of `answers`.
    `form`: the body may be a form with the same members, too.
    `refusals`: the statuses of the envelopes that it may answer with, beside those that every route has.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, Any]
    access: Literal["operator", "metrics", "worker", "bootstrap", "client", "service_worker"] | None = "operator"
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    refusals: tuple[int, ...] = ()
    tags: tuple[str, ...] = field(default=("operators",))
    told: tuple[Parameter, ...] = ()
    form: bool = False
    body_required: bool = True
