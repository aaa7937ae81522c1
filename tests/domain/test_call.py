"""The rules of calls: who is eligible, which calls are alike, how they are shared out, what a broadcast gathers."""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hiringhall.domain.call import (
    NOTHING_REQUIRED,
    Answer,
    Capabilities,
    Dispatch,
    Requires,
    call_lane,
    gathered,
    is_eligible,
    parts_of_lane,
    policy_for,
    requires_from,
    requires_text,
    share,
    worker_lane,
)

NAMES = some.text(some.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
TAGS = some.dictionaries(NAMES, NAMES, max_size=3).map(lambda tags: tuple(tags.items()))
REQUIRES = some.builds(Requires, some.none() | NAMES, some.lists(NAMES, max_size=3).map(tuple), tags=TAGS)
LANES = some.lists(some.tuples(some.integers(0, 40), some.integers(0, 12)), min_size=1, max_size=6)


@given(REQUIRES)
def test_requirements_have_one_stored_form(requires: Requires) -> None:
    """Requirements come back from their stored form; equal ones have equal forms, in whatever order they are listed."""
    text = requires_text(requires)
    again = requires_from(text)
    assert requires_text(again) == text
    shuffled = Requires(requires.platform, requires.executors[::-1], tags=requires.tags[::-1])
    assert requires_text(shuffled) == text
    assert (set(again.executors), set(again.tags)) == (set(requires.executors), set(requires.tags))


def test_nothing_required() -> None:
    """Who requires nothing has the shortest form."""
    assert requires_text(NOTHING_REQUIRED) == ""
    assert requires_from("") == NOTHING_REQUIRED


@given(NAMES, NAMES, some.sampled_from(Dispatch), REQUIRES)
def test_lanes(service: str, method: str, dispatch: Dispatch, requires: Requires) -> None:
    """A lane tells what is in it, and is neither a worker's own nor of a plan."""
    key = call_lane(service, method, dispatch, requires)
    assert parts_of_lane(key) == (service, method, dispatch)
    assert key.startswith("call:")
    assert parts_of_lane(worker_lane(service)) is None


@given(REQUIRES, NAMES)
def test_a_worker_that_can_all_is_eligible(requires: Requires, method: str) -> None:
    """Eligible = registered the method, and platform, executors, desktop, browser and tags satisfy `requires`."""
    able = Capabilities((method, "other"), requires.platform, (*requires.executors, "more"), True, True, requires.tags)
    assert is_eligible(able, method, requires)
    assert not is_eligible(able, method + "?", requires)


@pytest.mark.parametrize(
    ("tags", "concurrency"),
    [
        ((), None),
        ((("concurrency", "4"),), 4),
        ((("os", "linux"), ("concurrency", "04")), 4),
        ((("concurrency", "0"),), None),
        ((("concurrency", "-1"),), None),
        ((("concurrency", ""),), None),
        ((("concurrency", "1e3"),), None),
        ((("concurrency", "٣"),), None),
        ((("concurrency", "9" * 30),), None),
        ((("Concurrency", "4"),), None),
    ],
)
def test_concurrency(tags: tuple[tuple[str, str], ...], concurrency: int | None) -> None:
    """The tag `concurrency` counts if it is a positive number of a sensible size."""
    assert Capabilities(tags=tags).concurrency == concurrency


@given(LANES, some.integers(1, 100))
def test_share(lanes: list[tuple[int, int]], limit: int) -> None:
    """At most max(1, ceil(ready / live)) over the lanes, whatever their order, and never more than the limit."""
    exact = sum((Fraction(ready, max(1, live)) for ready, live in lanes), Fraction(0))
    expected = min(limit, max(1, ceil(exact)))
    assert share(lanes, limit=limit) == expected
    assert share(lanes[::-1], limit=limit) == expected


@given(some.lists(some.tuples(NAMES, some.sampled_from(Answer), some.none() | NAMES, some.none() | NAMES), max_size=4))
def test_gathered(parts: list[tuple[str, Answer, str | None, str | None]]) -> None:
    """A broadcast's result is JSON in which each part's stands as it was written."""
    told = [
        (name, answer, None if text is None else json.dumps(text).encode(), error)
        for name, answer, text, error in parts
    ]
    answers = json.loads(gathered(told))["answers"]
    assert [(one["worker_id"], one["status"], one["result"], one["error_text"]) for one in answers] == parts
    assert b'"result":1e400,' in gathered([("w", Answer.SUCCESS, b"1e400", None)])


def test_policy() -> None:
    """So many retries mean one attempt more."""
    assert policy_for(2, 5_000).max_attempts == 3
    assert policy_for(2, 5_000).run_limit_ms == 5_000
    assert not policy_for(0, None).tries_again(1)
