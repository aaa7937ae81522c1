"""JSON both ways: what has a form keeps it exactly, what has none is named."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from hiringhall_worker.jsontext import Unsendable, decode, encode


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: Decimal


@pytest.mark.parametrize(
    "text",
    [
        b"3544790567247868102",
        b"1E+400",
        b"0.1000000000000000055",
        b"-0.50",
        b'[1,2.5,null,true,"\\u00fc\\ud83d\\ude42\\u0000"]',
        b'{"a":{"b":[1E-400]}}',
    ],
)
def test_numbers_keep_their_digits(text: bytes) -> None:
    """What is read with `parse_float=Decimal` is written as it was."""
    assert encode(decode(text, Decimal)) == text


def test_numbers_too_long_or_too_big_for_python_are_decimals() -> None:
    """Nothing becomes infinite, and nothing is refused for its length."""
    assert decode(b"1e400") == Decimal("1e400")
    assert encode(decode(b"9" * 5000)) == b"9" * 5000
    assert decode(b"0.5") == 0.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(1, Decimal("0.10")), b'{"x":1,"y":0.10}'),
        (Colour.RED, b'"red"'),
        (MappingProxyType({"a": (1, 2)}), b'{"a":[1,2]}'),
        ([Decimal(1), "number-1", Decimal(2)], b'[1,"number-1",2]'),
        ("\ud800", b'"\\ud800"'),
    ],
)
def test_values_with_an_evident_form(value: Any, text: bytes) -> None:
    """Dataclasses, enums, mappings and decimals are written as what they evidently are."""
    assert encode(value) == text


class Endless(Mapping[str, Any]):
    """A mapping that contains itself."""

    def __getitem__(self, key: str) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter(["again"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1, 2}, "type set"),
        (b"x", "type bytes"),
        (float("nan"), r"Out of range|not JSON compliant"),
        (Decimal("Infinity"), "Infinity is no number"),
        (Point, "type type"),
        ({(1, 2): 3}, "keys must be"),
        (Endless(), "recursion|Circular"),
    ],
)
def test_values_without_one(value: Any, why: str) -> None:
    """The text of the exception says what it is."""
    with pytest.raises(Unsendable, match=why):
        encode(value)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_a_value_error(text: bytes) -> None:
    """Also what is nested beyond all measure."""
    with pytest.raises(ValueError, match=r"Expect|decode|nested"):
        decode(text)
