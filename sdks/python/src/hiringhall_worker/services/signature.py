"""What a handler takes, read from its signature once, and the params of a call turned into its arguments."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .call import Call
from .kinds import ANYTHING, Kind, Misfit, json_word, kind_of

CONTEXT = "call"
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)
POSITIONAL = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


class Taken(NamedTuple):
    """One parameter of a handler."""

    name: str
    kind: Kind
    annotated: bool
    required: bool
    positional: bool

    def __str__(self) -> str:
        text = f"{self.name}: {self.kind.name}" if self.annotated else self.name
        return text if self.required else f"{text} (optional)"


class Arguments(NamedTuple):
    """The values for the parameters of a handler; `context` is the one that gets the call, if the handler has one."""

    values: dict[str, Any]
    context: str | None

    def apply(self, handler: Callable[..., Any], call: Call, signature: inspect.Signature | None = None) -> Any:
        """Call the handler with them."""
        values = self.values if self.context is None else {**self.values, self.context: call}
        bound = inspect.BoundArguments(signature or inspect.signature(handler), OrderedDict(values))
        bound.apply_defaults()
        return handler(*bound.args, **bound.kwargs)


class Signature:
    """The parameters that a handler takes from a call, besides the call itself.

    raw: the handler takes the whole of `params`, whatever JSON value it is, as its one parameter.
    A signature that no params can fill is a TypeError that names the parameter.
    """

    def __init__(self, handler: Callable[..., Any], raw: bool = False) -> None:
        self.python = inspect.signature(handler)
        hints = _hints(handler)
        self._raw = raw
        self._context = _context(self.python.parameters, hints)
        self._taken: list[Taken] = []
        self._more_positional: tuple[str, Kind] | None = None
        self._more_named: tuple[str, Kind] | None = None
        for name, parameter in self.python.parameters.items():
            if name == self._context:
                continue
            kind = _kind(name, hints)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                self._more_positional = (name, kind)
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                self._more_named = (name, kind)
            else:
                required = parameter.default is inspect.Parameter.empty
                self._taken.append(Taken(name, kind, name in hints, required, parameter.kind in POSITIONAL))
        if raw and (len(self._taken) != 1 or self._more_positional or self._more_named):
            raise TypeError("with raw=True it takes one parameter, which gets the whole of params")

    def __str__(self) -> str:
        words = [str(taken) for taken in self._taken]
        words += ["any more values"] * (self._more_positional is not None)
        words += ["any other"] * (self._more_named is not None)
        return ", ".join(words) or "no parameters"

    def arguments(self, params: Any) -> Arguments:
        """The arguments for these params; `Misfit` says in words for the client why there are none."""
        if self._raw:
            return Arguments({self._taken[0].name: self._taken[0].kind.fit(params, "params")}, self._context)
        try:
            if isinstance(params, list):
                return Arguments(self._from_list(params), self._context)
            if isinstance(params, dict) or params is None:
                return Arguments(self._from_object(params or {}), self._context)
            raise Misfit(f"params must be an object or an array, not {json_word(params)}")
        except Misfit as misfit:
            raise Misfit(f"{misfit}; it takes {self}") from misfit

    def _from_list(self, given: list[Any]) -> dict[str, Any]:
        places = [taken for taken in self._taken if taken.positional]
        rest = given[len(places) :]
        if rest and self._more_positional is None:
            raise Misfit(f"params has {len(given)} values, and there is room for {len(places)}")
        self._complain_of_missing({taken.name for taken in places[: len(given)]})
        values = {one.name: one.kind.fit(value, f"parameter '{one.name}'") for one, value in zip(places, given)}
        if rest and self._more_positional is not None:
            name, kind = self._more_positional
            numbered = enumerate(rest, len(places) + 1)
            values[name] = tuple(kind.fit(value, f"value {number} of params") for number, value in numbered)
        return values

    def _from_object(self, given: dict[str, Any]) -> dict[str, Any]:
        known = [taken.name for taken in self._taken]
        unknown = [name for name in given if name not in known]
        if unknown and (self._more_named is None or self._context in unknown):
            raise Misfit(f"there is no parameter {unknown[0]!r:.100}{_hint(unknown[0], known)}")
        self._complain_of_missing(set(given))
        values = {
            taken.name: taken.kind.fit(given[taken.name], f"parameter '{taken.name}'")
            for taken in self._taken
            if taken.name in given
        }
        if unknown and self._more_named is not None:
            more, kind = self._more_named
            values[more] = {name: kind.fit(given[name], f"parameter '{name}'") for name in unknown}
        return values

    def _complain_of_missing(self, given: set[str]) -> None:
        missing = [f"'{taken.name}'" for taken in self._taken if taken.required and taken.name not in given]
        if len(missing) == 1:
            raise Misfit(f"parameter {missing[0]} is missing")
        if missing:
            raise Misfit(f"parameters {', '.join(missing[:-1])} and {missing[-1]} are missing")


def _hint(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; is '{near[0]}' meant?" if near else ""


def _hints(handler: Callable[..., Any]) -> dict[str, Any]:
    described = handler if inspect.isroutine(handler) else type(handler).__call__
    try:
        found = typing.get_type_hints(described, include_extras=True)
    except Exception as error:
        raise TypeError(f"its annotations cannot be read: {error}") from error
    found.pop("return", None)
    return found


def _context(parameters: Mapping[str, inspect.Parameter], hints: dict[str, Any]) -> str | None:
    for name, parameter in parameters.items():
        if hints.get(name) is Call or (name == CONTEXT and name not in hints and parameter.kind in NAMED):
            return name
    return None


def _kind(name: str, hints: dict[str, Any]) -> Kind:
    if name not in hints:
        return ANYTHING
    try:
        return kind_of(hints[name])
    except TypeError as error:
        raise TypeError(f"its parameter '{name}': {error}") from error
    except Exception as error:
        raise TypeError(f"the annotation of its parameter '{name}' cannot be read: {error}") from error
