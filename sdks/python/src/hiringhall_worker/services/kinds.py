"""Whether a JSON value fits the annotation of a parameter, and what the handler then gets.

A *kind* is made once from an annotation, by `kind_of`. Numbers are strict: true is no int, and 1.0 is none either; a
whole number fits float.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Union

# `X | Y` has a type of its own on Python 3.10 and newer.
UNIONS = (Union, type(typing.get_origin(Union[int, str])), getattr(__import__("types"), "UnionType", Union))


class Misfit(ValueError):
    """A value that does not fit; the text names the place in it and what is wanted there."""


class Kind(NamedTuple):
    """What is wanted, in words, and the function that checks a value: `fit(value, place)`."""

    name: str
    fit: Callable[[Any, str], Any]


def json_word(value: Any) -> str:
    """What a client calls such a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return "a fraction" if isinstance(value, float) else "a number"


def kind_of(annotation: Any) -> Kind:
    """The kind of an annotation; TypeError names one that no JSON value fits."""
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    if hasattr(annotation, "__supertype__"):
        return kind_of(annotation.__supertype__)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return kind_of(arguments[0])
    if origin is Literal:
        return _choice(list(arguments), list(arguments))
    if origin in UNIONS:
        return _union([kind_of(one) for one in arguments])
    if origin in LISTS or annotation in LISTS:
        return _list(kind_of(arguments[0] if arguments else Any))
    if origin is tuple or annotation in (tuple, typing.Tuple):  # noqa: UP006 - it may be spelt so
        return _tuple(arguments)
    if origin in OBJECTS or annotation in OBJECTS:
        return _object(arguments)
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            return _choice([member.value for member in annotation], list(annotation))
        if dataclasses.is_dataclass(annotation):
            return _dataclass(annotation)
        if hasattr(annotation, "__required_keys__"):
            return _typed_dict(annotation)
    raise TypeError(f"{annotation!r} is no type that JSON has")


def _of_type(name: str, *types: type) -> Kind:
    def fit(value: Any, place: str) -> Any:
        if isinstance(value, types) and (bool in types or not isinstance(value, bool)):
            return value
        raise Misfit(f"{place} must be {name}, not {json_word(value)}")

    return Kind(name, fit)


def _whole(value: Any, place: str) -> Any:
    # A number beyond what Python converts to int comes as Decimal.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise Misfit(f"{place} must be int, not {json_word(value)}")


def _decimal(value: Any, place: str) -> Any:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise Misfit(f"{place} must be a number, not {json_word(value)}")


def _choice(values: list[Any], results: list[Any]) -> Kind:
    name = " or ".join(repr(value) for value in values)

    def fit(value: Any, place: str) -> Any:
        for known, result in zip(values, results):
            if type(known) is type(value) and known == value:
                return result
        raise Misfit(f"{place} must be {name}, not {value!r:.60}")

    return Kind(name, fit)


def _union(kinds: list[Kind]) -> Kind:
    name = " or ".join(dict.fromkeys(kind.name for kind in kinds))

    def fit(value: Any, place: str) -> Any:
        misfits = []
        for kind in kinds:
            try:
                return kind.fit(value, place)
            except Misfit as misfit:
                misfits.append(misfit)
        # One that is about something inside the value says more than that the value fits none.
        inner = [misfit for misfit in misfits if not str(misfit).startswith(f"{place} must be ")]
        if len(inner) == 1:
            raise inner[0]
        raise Misfit(f"{place} must be {name}, not {json_word(value)}")

    return Kind(name, fit)


def _list(item: Kind) -> Kind:
    name = "list" if item is ANYTHING else f"list of {item.name}"

    def fit(value: Any, place: str) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"{place} must be {name}, not {json_word(value)}")
        return [item.fit(one, f"{place}[{number}]") for number, one in enumerate(value)]

    return Kind(name, fit)


def _tuple(arguments: tuple[Any, ...]) -> Kind:
    if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
        whole = _list(kind_of(arguments[0] if arguments else Any))
        return Kind(whole.name, lambda value, place: tuple(whole.fit(value, place)))
    items = [kind_of(one) for one in arguments]
    name = f"list of {len(items)}: {', '.join(item.name for item in items)}"

    def fit(value: Any, place: str) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            found = f"an array of {len(value)}" if isinstance(value, list) else json_word(value)
            raise Misfit(f"{place} must be {name}, not {found}")
        return tuple(item.fit(one, f"{place}[{number}]") for number, (item, one) in enumerate(zip(items, value)))

    return Kind(name, fit)


def _object(arguments: tuple[Any, ...]) -> Kind:
    if arguments and kind_of(arguments[0]).name not in ("str", "anything"):
        raise TypeError("the keys of a JSON object are str")
    item = kind_of(arguments[1] if len(arguments) == 2 else Any)
    name = "object" if item is ANYTHING else f"object of {item.name}"

    def fit(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"{place} must be {name}, not {json_word(value)}")
        return {key: item.fit(one, f"{place}.{key}") for key, one in value.items()}

    return Kind(name, fit)


def _members(
    value: Any, place: str, name: str, kinds: Mapping[str, Kind], required: collections.abc.Set[str]
) -> dict[str, Any]:
    """The members of an object that has exactly these, each as its handler wants it."""
    if not isinstance(value, dict):
        raise Misfit(f"{place} must be an object ({name}), not {json_word(value)}")
    missing = [f"{place}.{key}" for key in kinds if key in required and key not in value]
    if missing:
        raise Misfit(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    unknown = [key for key in value if key not in kinds]
    if unknown:
        raise Misfit(f"{place} has no member {unknown[0]!r:.60}; it has {', '.join(kinds) or 'none'}")
    return {key: kinds[key].fit(one, f"{place}.{key}") for key, one in value.items()}


def _dataclass(annotation: Any) -> Kind:
    hints = typing.get_type_hints(annotation)
    fields = [field for field in dataclasses.fields(annotation) if field.init]
    kinds = {field.name: kind_of(hints[field.name]) for field in fields}
    without = dataclasses.MISSING
    required = {field.name for field in fields if field.default is without and field.default_factory is without}
    name = annotation.__name__

    def fit(value: Any, place: str) -> Any:
        members = _members(value, place, name, kinds, required)
        try:
            return annotation(**members)
        except (ValueError, TypeError) as error:
            raise Misfit(f"{place}: {error}") from error

    return Kind(name, fit)


def _typed_dict(annotation: Any) -> Kind:
    kinds = {key: kind_of(hint) for key, hint in typing.get_type_hints(annotation).items()}
    required, name = annotation.__required_keys__, annotation.__name__
    return Kind(name, lambda value, place: _members(value, place, name, kinds, required))


ANYTHING = Kind("anything", lambda value, place: value)
LISTS: tuple[Any, ...] = (
    list,
    typing.List,  # noqa: UP006 - it may be spelt so
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)
OBJECTS: tuple[Any, ...] = (
    dict,
    typing.Dict,  # noqa: UP006 - it may be spelt so
    collections.abc.Mapping,
    collections.abc.MutableMapping,
)


class _Simple:
    """Kinds of annotations without arguments; an unhashable annotation is none of them."""

    def __init__(self, known: list[tuple[Any, Kind]]) -> None:
        self._known = known

    def __contains__(self, annotation: Any) -> bool:
        return any(annotation is one for one, _ in self._known)

    def __getitem__(self, annotation: Any) -> Kind:
        return next(kind for one, kind in self._known if annotation is one)


SIMPLE = _Simple(
    [
        (Any, ANYTHING),
        (object, ANYTHING),
        (None, _of_type("null", type(None))),
        (type(None), _of_type("null", type(None))),
        (bool, _of_type("bool", bool)),
        (int, Kind("int", _whole)),
        (float, _of_type("float", float, int, Decimal)),
        (str, _of_type("str", str)),
        (Decimal, Kind("number", _decimal)),
    ]
)
