"""Identifiers, and how pairs of them travel in headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiringhall.domain.names import complaint_about, parse_holding, plan_worker, unit_path, worker_id_of

IDS = st.text(min_size=1, max_size=256).filter(lambda text: complaint_about(text) is None)


@pytest.mark.parametrize("identifier", ["T-001", "a/b", "%2F", " ", "ü☃", "...", "x" * 256, "'\";--", "@1,2"])
def test_identifiers(identifier: str) -> None:
    """Ids are any text of 1..256 characters without control characters, except `.` and `..`."""
    assert complaint_about(identifier) is None


@pytest.mark.parametrize("identifier", ["", ".", "..", "x" * 257, "a\x00b", "a\nb", "\x7f", "\x85", "\ud800", "\t"])
def test_no_identifiers(identifier: str) -> None:
    """What cannot name anything is complained about in words."""
    assert str(complaint_about(identifier)).startswith("must ")


@given(IDS, IDS, st.integers(0, 2**53 - 1))
def test_holding_there_and_back(plan: str, task: str, version: int) -> None:
    """`PLAN/TASK@version` comes back whatever is in the names, each part encoded by itself."""
    path = unit_path(plan, task)
    assert path.count("/") == 1
    assert path.isascii()
    assert not set(path) & set("@, ;")
    assert parse_holding(f" {path}@{version} ,non/sense, x@1, a/b@-1,a/b@") == {(plan, task, version)}


def test_held_calls() -> None:
    """A call is named by its request id alone."""
    assert parse_holding("r-1, p/T@2 ,r%20-2.1,") == {("", "r-1", 0), ("p", "T", 2), ("", "r -2.1", 0)}


def test_nothing_is_held() -> None:
    """The header may be empty."""
    assert parse_holding("") == frozenset()


def test_worker_keys() -> None:
    """A worker's key gives its own id back, whatever is in it."""
    assert worker_id_of(plan_worker("w-a:b")) == "w-a:b"
