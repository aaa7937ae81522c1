"""What the body of a client's call may hold, member by member."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hiringhall.domain.call import Dispatch, Requires
from hiringhall.domain.refusals import Refused
from hiringhall.wire.clients.bodies import CallBody, call_body


def read(**members: Any) -> CallBody | Refused:
    return call_body(msgspec.json.encode({"method": "math/add", "params": None, **members}))


def fine(**members: Any) -> CallBody:
    body = read(**members)
    assert isinstance(body, CallBody), body
    return body


def complaint(**members: Any) -> str:
    body = read(**members)
    assert isinstance(body, Refused), body
    assert body.code == "validation_error"
    return body.detail


def test_the_least_that_a_call_needs() -> None:
    """A method and params; all else has a default: no wait, a day until the deadline, no retries."""
    assert fine() == CallBody("math", "add", b"null", hold_seconds=0, deadline_ms=86_400_000)


def test_all_members() -> None:
    """Every member is understood."""
    body = fine(
        wait=2.5, deadline_seconds=10, dispatch="race", priority=-100, retries=10, if_no_worker="fail",
        run_limit_seconds=0.5,
        requires={"platform": "linux", "executors": ["python", "node"], "interactive_desktop": True,
                  "browser_runtime": True, "tags": {"gpu": "yes"}},
    )  # fmt: skip
    assert body == CallBody(
        "math", "add", b"null", 2.5, 10_000, Dispatch.RACE, -100, 10,
        Requires("linux", ("node", "python"), True, True, (("gpu", "yes"),)), True, 500,
    )  # fmt: skip


@pytest.mark.parametrize(
    "params",
    [b"null", b"0", b'""', b"[]", b"3544790567247868102", b"1e400", b"0.1000000000000000055", b'"\\u0000"', b"[1, 2 ]"],
)
def test_params_are_kept_as_they_came(params: bytes) -> None:
    """ "Any JSON value is a valid `params`"; "numbers travel digit for digit"."""
    body = call_body(b'{"method": "math/add", "params": ' + params + b"}")
    assert isinstance(body, CallBody)
    assert body.params == params


def test_of_an_optional_member_that_is_null_the_default_counts() -> None:
    """A client that sends null for what it does not say is understood, as if it had left the member out."""
    optional = ("wait", "deadline_seconds", "dispatch", "priority", "retries", "requires", "if_no_worker")
    assert fine(**dict.fromkeys(optional)) == fine()


def test_null_is_not_missing() -> None:
    """ "`null` is not 'missing'": without params there is a complaint that says so."""
    body = call_body(b'{"method": "math/add"}')
    assert isinstance(body, Refused)
    assert (body.code, body.detail) == ("validation_error", "params: is missing; any JSON value will do, also null")


@pytest.mark.parametrize("method", [None, 5, "", "add", "/add", "math/", "ma\x07th/add", "x" * 257 + "/add", "./add"])
def test_a_method_is_a_service_and_a_name(method: object) -> None:
    """A method that is no `service/method` is refused."""
    assert complaint(method=method).startswith("method: ")


def test_a_name_may_hold_slashes() -> None:
    """What follows the first slash is the method."""
    body = fine(method="math/vectors/add")
    assert (body.service, body.method) == ("math", "vectors/add")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("deadline_seconds", 0.99), ("deadline_seconds", 2_592_001), ("deadline_seconds", "5"),
        ("deadline_seconds", True), ("dispatch", "everybody"), ("dispatch", 1), ("priority", 101), ("priority", -101),
        ("priority", 1.5), ("priority", "high"), ("retries", 11), ("retries", -1), ("retries", False),
        ("if_no_worker", "wait"), ("if_no_worker", True), ("requires", []), ("requires", "linux"),
        ("requires", {"gpu": True}), ("run_limit_seconds", -1),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_named(member: str, value: object) -> None:
    """422 names the field, and never says what it was."""
    told = complaint(**{member: value})
    assert told.startswith(f"{member}: ")
    assert str(value) not in told.removeprefix(f"{member}: ") or isinstance(value, bool | int)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("platform", 5), ("executors", "python"), ("executors", [5]), ("executors", [str(n) for n in range(65)]),
        ("interactive_desktop", "yes"), ("browser_runtime", 1), ("tags", ["gpu"]), ("tags", {"gpu": None}),
        ("tags", {"gpu": {"count": 1}}), ("tags", {"": "x"}),
    ],
)  # fmt: skip
def test_a_requirement_that_cannot_be_is_named(member: str, value: object) -> None:
    """Of `requires` the member within it is named."""
    assert complaint(requires={member: value}).startswith(f"requires.{member}: ")


def test_members_that_are_null_are_as_good_as_absent() -> None:
    """Languages that write out what is not set are understood."""
    assert fine(deadline_seconds=None, dispatch=None, priority=None, requires=None, if_no_worker=None) == fine()
    assert fine(requires={"platform": None, "executors": None, "tags": None}) == fine()


def test_unknown_members_are_left_out_but_for_misspelt_ones() -> None:
    """A newer client's members do no harm; a deadline that is misspelt does not pass for obeyed."""
    assert fine(colour="red") == fine()
    assert complaint(deadline_second=5) == "body: a member is not known; did you mean deadline_seconds?"


@pytest.mark.parametrize("wait", [-1, "5", True, [], "soon"])
def test_a_wait_that_cannot_be(wait: object) -> None:
    """ "negative or non-numeric is 400 `invalid_wait`" """
    body = read(wait=wait)
    assert isinstance(body, Refused)
    assert body.code == "invalid_wait"


def test_a_wait_is_clamped() -> None:
    """ "`wait` is clamped to 0..55" """
    assert fine(wait=1_000).hold_seconds == 55
    body = call_body(b'{"method": "math/add", "params": 1, "wait": 1e400}')
    assert isinstance(body, CallBody)
    assert body.hold_seconds == 55


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[", b"\xff", b'{"method": "\\ud800"}', b'{"params": NaN}', b"[" * 101 + b"]" * 101]
)
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    """ "NaN/Infinity, lone surrogates, nesting over 100: 400 `malformed_json`" """
    refused = call_body(body)
    assert isinstance(refused, Refused)
    assert refused.code == "malformed_json"


def test_what_is_no_object_is_refused() -> None:
    """A body has to be an object."""
    refused = call_body(b"[1]")
    assert isinstance(refused, Refused)
    assert refused.code == "validation_error"
