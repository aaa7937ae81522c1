"""The matcher: literal JSON and wildcards."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall.verify.matching import BadPattern, check_pattern, difference
from hiringhall.verify.numerals import Numeral, decode, encode

FITTING: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (1, "1"),
    (1, "1.0"),
    (-1.5, "-1.5"),
    (3544790567247868102, "3544790567247868102"),
    ("a", '"a"'),
    ([1, [2]], "[1, [2]]"),
    ({}, '{"a": 1}'),
    ({"a": {"b": 1}}, '{"a": {"b": 1, "c": 2}, "d": 3}'),
    ({"a": {"$any": True}}, '{"a": null}'),
    ({"a": {"$absent": True}}, '{"b": 1}'),
    ({"$only": {"a": 1}}, '{"a": 1}'),
    ({"$type": "integer"}, "7"),
    ({"$type": "number"}, "7.5"),
    ({"$type": "string"}, '""'),
    ({"$matches": "^w-"}, '"w-1"'),
    ({"$contains": "b"}, '"abc"'),
    ({"$contains": {"a": 1}}, '[0, {"a": 1, "b": 2}]'),
    ({"$one_of": [1, "x"]}, '"x"'),
    ({"$all": [{"$type": "string"}, {"$not": "y"}]}, '"x"'),
    ({"$not": {"a": 1}}, '{"a": 2}'),
    ({"$between": [1, 2]}, "1.5"),
    ({"$between": [1, 2]}, '"2"'),
    ({"$json": "[1e400, 0.1000000000000000055]"}, "[1e400, 0.1000000000000000055]"),
]
UNLIKE: list[tuple[Any, str, str]] = [
    (None, "0", "expected null"),
    (True, "1", "expected true"),
    (0, "false", "expected 0"),
    (1, '"1"', "expected 1"),
    (3544790567247868102, "3544790567247868103", "expected 3544790567247868102"),
    ({"$json": "0.1"}, "0.1000000000000000055", "expected 0.1"),
    ([1], "[1, 2]", "expected 1 elements"),
    ([1], "{}", "expected an array"),
    ({"a": 1}, "[]", "expected an object"),
    ({"a": {"b": 1}}, '{"a": {}}', "a.b: is missing"),
    ({"a": [{"b": 1}]}, '{"a": [{"b": 2}]}', "a[0].b: expected 1"),
    ({"a": {"$absent": True}}, '{"a": null}', "expected not to be there"),
    ({"$only": {"a": 1}}, '{"a": 1, "b": 2}', "no other members"),
    ({"$type": "integer"}, "7.5", "expected integer"),
    ({"$type": "integer"}, "true", "expected integer"),
    ({"$matches": "^w-"}, '"x"', "matches"),
    ({"$contains": 3}, "[1, 2]", "contain"),
    ({"$one_of": [1, 2]}, "3", "one of"),
    ({"$not": 1}, "1", "anything but"),
    ({"$between": [1, 2]}, "3", "1 to 2"),
    ({"$between": [1, 2]}, "null", "1 to 2"),
    ({"$saved": "key"}, '"x"', "never seen"),
]


@pytest.mark.parametrize(("pattern", "text"), FITTING)
def test_what_fits(pattern: Any, text: str) -> None:
    """A value that is as the pattern says has no difference to it."""
    check_pattern(pattern)
    assert difference(pattern, decode(text), {}) is None


@pytest.mark.parametrize(("pattern", "text", "told"), UNLIKE)
def test_what_does_not_fit(pattern: Any, text: str, told: str) -> None:
    """The difference names the place and what was expected there."""
    assert told in str(difference(pattern, decode(text), {}))


def test_a_saved_value_is_compared_with_a_later_one() -> None:
    """`$save` keeps a value, and `$saved` is that value again."""
    saved: dict[str, Any] = {}
    assert difference({"a": {"$save": "first"}}, decode('{"a": [1]}'), saved) is None
    assert difference({"$saved": "first"}, decode("[1]"), saved) is None
    assert "again" in str(difference({"$saved": "first"}, decode("[2]"), saved))


@pytest.mark.parametrize("pattern", [{"$anything": 1}, {"a": [{"$any": 1, "b": 2}]}])
def test_a_wildcard_that_there_is_not(pattern: Any) -> None:
    """A misspelt wildcard, or one with company, is an error and no member."""
    with pytest.raises(BadPattern, match="no wildcard"):
        check_pattern(pattern)


def test_numbers_keep_their_digits() -> None:
    """What is read is written as it stood, and `$json` puts a text in as it is."""
    text = '{"a":[1e400,0.1000000000000000055,18446744073709551616],"b":"\\u0000"}'
    assert encode(decode(text)) == text
    assert encode({"x": {"$json": "1e400"}}) == '{"x":1e400}'
    assert Numeral("1.0") == 1
    assert Numeral("1") != Numeral("2")


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", "", "'a'"])
def test_what_is_no_json(text: str) -> None:
    """A text that is no JSON is refused, as is what only some parsers take."""
    with pytest.raises(ValueError, match=r"."):
        decode(text)
