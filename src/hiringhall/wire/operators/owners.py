"""What the routes about services and about clients have in common: names, bodies, where a request comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request

from hiringhall.domain.plan import Problem
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.owners import Choice, Stored
from hiringhall.wire.operators.answers import Stop
from hiringhall.wire.operators.parameters import Query, decode_json, invalid, path_id, read_body, refuse_multipart

Wish = TypeVar("Wish")


def name_in_path(request: Request, parameter: str, complaint_about: Callable[[str], str | None]) -> str:
    """The name in the path, by rules that are stricter than those of an identifier."""
    name = path_id(request, parameter)
    complaint = complaint_about(name)
    if complaint is not None:
        raise invalid(parameter, complaint)
    return name


async def wish_in_body(request: Request, read: Callable[[object], Wish | list[Problem]]) -> Wish:
    """What the body says; an empty one says nothing."""
    refuse_multipart(request)
    body = await read_body(request)
    wish = read(decode_json(body) if body.strip() else {})
    if not isinstance(wish, list):
        return wish
    told = "; ".join(f"{problem.field}: {problem.reason}" for problem in wish[:3])
    more = f"; and {len(wish) - 3} more" if len(wish) > 3 else ""
    problems = [{"field": problem.field, "reason": problem.reason} for problem in wish]
    raise Stop("validation_error", told + more, problems=problems)


def choice_in_query(request: Request) -> Choice:
    """What is to become of secrets."""
    query = Query(request, ("retire", "make_secret"))
    return Choice(retire=query.yes("retire"), make_secret=query.yes("make_secret"))


def source_of(hall: Hall, request: Request) -> str:
    """Where the request comes from."""
    peer = request.client.host if request.client is not None else ""
    return hall.sources.of(peer, request.scope["headers"])


def stored(outcome: Stored | Refused) -> Stored:
    """What was stored, unless it was refused: that ends the request."""
    if isinstance(outcome, Stored):
        return outcome
    extra: dict[str, Any] = dict(outcome.extra)
    wait = extra.pop("retry_after", None)
    raise Stop(outcome.code, outcome.detail, headers={"retry-after": str(wait)} if wait else None, **extra)
