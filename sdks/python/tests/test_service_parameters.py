"""Params of a call against the signature of its handler: what fits, and the words for what does not."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Dict, List, Literal, Mapping, NewType, Optional, Sequence, Tuple, TypedDict, Union  # noqa: UP035

import pytest

from hiringhall_worker import Call
from hiringhall_worker.services.methods import Methods
from hiringhall_worker.services.outcome import Outcome


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Line:
    article: str
    price: float
    count: int = 1


@dataclass
class Order:
    lines: List[Line]  # noqa: UP006 - works on every version
    note: Optional[str] = None  # noqa: UP045
    colours: Dict[str, Colour] = field(default_factory=dict)  # noqa: UP006

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError("an order needs a line")


class Point(TypedDict):
    x: int
    y: int


class Options(TypedDict, total=False):
    speed: int


UserId = NewType("UserId", int)


def add(a: int, b: int) -> object:
    return [a, b]


def scale(x: float, by: float = 2.0) -> object:
    return [x, by]


def note(text: str, urgent: bool = False) -> object:
    return [text, urgent]


def maybe(a: Optional[int], b: Union[int, str] = "x") -> object:  # noqa: UP007, UP045
    return [a, b]


def anything(a, b: Any, c: object = None) -> object:  # type: ignore[no-untyped-def]
    return [a, b, c]


def many(*values: int, **more: str) -> object:
    return [list(values), more]


def with_call(call: Call, a: int) -> object:
    return [call.request_id, a]


def named_call(a: int, call, *, b: int = 5) -> object:  # type: ignore[no-untyped-def]
    return [a, call.request_id, b]


def call_is_text(call: str) -> object:
    return call


def strict(a: int, b: int = 2, c: int = 3, /) -> object:
    return [a, b, c]


def order(order: Order) -> object:
    return order


def geometry(at: Point, options: Options = {}) -> object:  # noqa: B006 - it is not changed
    return [at, options]


def lists(a: List[int], b: Sequence[str] = (), c: Tuple[int, str] = (1, "x")) -> object:  # noqa: UP006
    return [a, list(b), c]


def maps(a: Dict[str, int], b: Mapping[str, Any] = {}) -> object:  # noqa: UP006
    return [a, b]


def choice(size: Literal["s", "m", 3], colour: Colour = Colour.RED) -> object:
    return [size, colour]


def exact(amount: Decimal, user: UserId = UserId(1)) -> object:
    return [amount, user]


def whole(value: Any) -> object:
    return value


RAW = (whole,)
BIG = 3544790567247868102 * 10**30
RIGHT = [
    (add, {"a": 1, "b": 2}, [1, 2]),
    (add, [1, 2], [1, 2]),
    (add, {"b": BIG, "a": -1}, [-1, BIG]),
    (scale, [1], [1, 2.0]),
    (scale, {"x": 1.5, "by": 3}, [1.5, 3]),
    (note, {"text": "x", "urgent": True}, ["x", True]),
    (maybe, {"a": None}, [None, "x"]),
    (maybe, [3, "y"], [3, "y"]),
    (anything, [1, {"z": []}], [1, {"z": []}, None]),
    (many, [1, 2, 3], [[1, 2, 3], {}]),
    (many, {"k": "v"}, [[], {"k": "v"}]),
    (many, None, [[], {}]),
    (with_call, [7], ["r-1", 7]),
    (with_call, {"a": 7}, ["r-1", 7]),
    (named_call, [7], [7, "r-1", 5]),
    (named_call, {"a": 7, "b": 6}, [7, "r-1", 6]),
    (call_is_text, {"call": "x"}, "x"),
    (strict, {"a": 1, "c": 9}, [1, 2, 9]),
    (strict, [1, 4], [1, 4, 3]),
    (order, {"order": {"lines": [{"article": "a", "price": 1}]}}, Order([Line("a", 1)])),
    (
        order,
        [{"lines": [{"article": "a", "price": 1.5, "count": 2}], "note": "n", "colours": {"k": "blue"}}],
        Order([Line("a", 1.5, 2)], "n", {"k": Colour.BLUE}),
    ),
    (geometry, {"at": {"x": 1, "y": 2}}, [{"x": 1, "y": 2}, {}]),
    (geometry, [{"x": 1, "y": 2}, {"speed": 3}], [{"x": 1, "y": 2}, {"speed": 3}]),
    (lists, [[1, 2], ["x"], [5, "y"]], [[1, 2], ["x"], (5, "y")]),
    (maps, [{"a": 1}, {"x": [None]}], [{"a": 1}, {"x": [None]}]),
    (choice, ["m", "blue"], ["m", Colour.BLUE]),
    (choice, [3], [3, Colour.RED]),
    (exact, [0.1, 5], [Decimal("0.1"), 5]),
    (exact, [Decimal("1e400")], [Decimal("1e400"), 1]),
    (whole, [1, 2], [1, 2]),
    (whole, "text", "text"),
    (whole, None, None),
]
WRONG = [
    (add, {"a": 1}, "parameter 'b' is missing; it takes a: int, b: int"),
    (add, {}, "parameters 'a' and 'b' are missing; it takes a: int, b: int"),
    (add, None, "parameters 'a' and 'b' are missing; it takes a: int, b: int"),
    (add, [1], "parameter 'b' is missing; it takes a: int, b: int"),
    (add, [1, 2, 3], "params has 3 values, and there is room for 2; it takes a: int, b: int"),
    (add, {"a": 1, "b": 2, "c": 3}, "there is no parameter 'c'; it takes a: int, b: int"),
    (note, {"txt": "x"}, "there is no parameter 'txt'; is 'text' meant?; it takes text: str, urgent: bool (optional)"),
    (add, {"a": "1", "b": 2}, "parameter 'a' must be int, not a string; it takes a: int, b: int"),
    (add, {"a": True, "b": 2}, "parameter 'a' must be int, not a boolean; it takes a: int, b: int"),
    (add, {"a": 1.0, "b": 2}, "parameter 'a' must be int, not a fraction; it takes a: int, b: int"),
    (add, {"a": None, "b": 2}, "parameter 'a' must be int, not null; it takes a: int, b: int"),
    (add, 5, "params must be an object or an array, not a number; it takes a: int, b: int"),
    (add, "x", "params must be an object or an array, not a string; it takes a: int, b: int"),
    (scale, {"x": True}, "parameter 'x' must be float, not a boolean; it takes x: float, by: float (optional)"),
    (note, ["x", 1], "parameter 'urgent' must be bool, not a number; it takes text: str, urgent: bool (optional)"),
    (maybe, {"a": "1"}, "parameter 'a' must be int or null, not a string"),
    (maybe, {"a": 1, "b": []}, "parameter 'b' must be int or str, not an array"),
    (many, [1, "2"], "value 2 of params must be int, not a string; it takes any more values, any other"),
    (with_call, {"call": 1, "a": 2}, "there is no parameter 'call'"),
    (order, {"order": {"lines": [{"article": "a"}]}}, "parameter 'order'.lines[0].price is missing"),
    (order, {"order": {"lines": [{"article": 1, "price": 1}]}}, "parameter 'order'.lines[0].article must be str"),
    (order, {"order": {"lines": [], "x": 1}}, "parameter 'order' has no member 'x'; it has lines, note, colours"),
    (order, {"order": {"lines": []}}, "parameter 'order': an order needs a line"),
    (order, {"order": [1]}, "parameter 'order' must be an object (Order), not an array"),
    (geometry, {"at": {"x": 1}}, "parameter 'at'.y is missing"),
    (geometry, {"at": {"x": 1, "y": 2, "z": 3}}, "parameter 'at' has no member 'z'; it has x, y"),
    (lists, [[1, "2"]], "parameter 'a'[1] must be int, not a string"),
    (lists, [{}], "parameter 'a' must be list of int, not an object"),
    (lists, [[], [], [1]], "parameter 'c' must be list of 2: int, str, not an array of 1"),
    (maps, [{"a": "1"}], "parameter 'a'.a must be int, not a string"),
    (choice, ["l"], "parameter 'size' must be 's' or 'm' or 3, not 'l'"),
    (choice, ["s", "green"], "parameter 'colour' must be 'red' or 'blue', not 'green'"),
    (exact, ["1"], "parameter 'amount' must be a number, not a string"),
]


def prepared(handler: Callable[..., Any], params: Any) -> Any:
    methods = Methods("math")
    methods.add("do", handler, raw=handler in RAW, in_process=False)
    return methods.prepare("do", params)


@pytest.mark.parametrize(("handler", "params", "expected"), RIGHT)
def test_params_that_fit(handler: Callable[..., Any], params: Any, expected: Any) -> None:
    """Objects give parameters by name, arrays by position; each value has the type that the handler names."""
    method, arguments = prepared(handler, params)
    call = Call("math", {"request_id": "r-1", "method": "do"}, lambda item: None)
    assert arguments.apply(handler, call, method.signature.python) == expected
    assert arguments.apply(handler, call) == expected


@pytest.mark.parametrize(("handler", "params", "text"), WRONG)
def test_params_that_do_not_fit(handler: Callable[..., Any], params: Any, text: str) -> None:
    """What is wrong is named with its place, and with what the method takes."""
    found = prepared(handler, params)
    assert isinstance(found, Outcome) and found.status == "error"
    assert found.error_text is not None and found.error_text.startswith(f"math/do: {text}")
    assert "it takes " in found.error_text


def test_an_unknown_method_names_those_that_there_are() -> None:
    """A client that misspells a method is told what is meant."""
    methods = Methods("math")
    methods.add("add", add, raw=False, in_process=False)
    methods.add("scale", scale, raw=False, in_process=False)
    found = methods.prepare("ad", {})
    assert found == Outcome("error", "math: there is no method 'ad'; is 'add' meant?; this worker has add, scale")


def no_json_type(a: bytes) -> None:
    """Takes what JSON has no value for."""


def bad_keys(a: Dict[int, str]) -> None:  # noqa: UP006
    """Takes an object with keys that no JSON object has."""


def two(a: int, b: int) -> None:
    """Takes two parameters."""


def unreadable(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Names a type that is not there."""


@pytest.mark.parametrize(
    ("handler", "raw", "text"),
    [
        (no_json_type, False, "math/do: its parameter 'a': <class 'bytes'> is no type that JSON has"),
        (bad_keys, False, "math/do: its parameter 'a': the keys of a JSON object are str"),
        (two, True, "math/do: with raw=True it takes one parameter"),
        (unreadable, False, "math/do: its annotations cannot be read: name 'Nowhere' is not defined"),
    ],
)
def test_a_handler_that_no_params_could_fill_is_refused_at_once(
    handler: Callable[..., Any], raw: bool, text: str
) -> None:
    """A mistake in a signature shows when the method is declared, not when it is called."""
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        Methods("math").add("do", handler, raw=raw, in_process=False)


def test_methods_of_objects_are_handlers_too() -> None:
    """A bound method and a callable object are called without their `self`."""

    class Service:
        def add(self, a: int) -> int:
            return a + 1

        def __call__(self, a: int) -> int:
            return a + 2

    for handler, expected in ((Service().add, 2), (Service(), 3)):
        _, arguments = prepared(handler, [1])
        call = Call("math", {"request_id": "r-1"}, lambda item: None)
        assert arguments.apply(handler, call) == expected
