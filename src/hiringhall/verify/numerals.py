"""JSON whose numbers keep their digits, both ways: what a worker sends is compared as it was written."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

VERBATIM = "$json"


class Numeral:
    """A number as it stood in a JSON text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def value(self) -> Decimal:
        """The number itself, exactly."""
        return Decimal(self.text)

    @property
    def whole(self) -> bool:
        """Whether it is written without fraction and exponent."""
        return self.text.lstrip("-").isdigit()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numeral):
            return self.value == other.value
        if isinstance(other, bool) or not isinstance(other, int | float):
            return False
        return self.value == Decimal(repr(other) if isinstance(other, float) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.text


def decode(text: bytes | str) -> Any:
    """A JSON text as Python values, its numbers as `Numeral`; ValueError if it is none, as for NaN."""
    try:
        return json.loads(text, parse_int=Numeral, parse_float=Numeral, parse_constant=_refuse)
    except (RecursionError, InvalidOperation) as problem:
        raise ValueError(f"not readable: {problem}") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def encode(value: Any) -> str:
    """A value as JSON; an object `{"$json": TEXT}` stands for TEXT itself."""
    if isinstance(value, Numeral):
        return value.text
    if isinstance(value, dict):
        if set(value) == {VERBATIM}:
            return str(value[VERBATIM])
        return "{" + ",".join(f"{json.dumps(str(name))}:{encode(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(encode, value)) + "]"
    return json.dumps(value, allow_nan=False)


def shown(value: Any, characters: int = 160) -> str:
    """A value as JSON for people, cut in its middle if it is long."""
    try:
        text = encode(value)
    except (TypeError, ValueError):
        text = repr(value)
    if len(text) <= characters:
        return text
    half = (characters - 3) // 2
    return f"{text[:half]}…{text[-half:]}"
