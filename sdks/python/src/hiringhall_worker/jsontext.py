"""JSON as payloads travel: numbers digit for digit in both directions, values of Python that have an evident form."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
import secrets
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

# Python refuses to convert longer decimal texts to int.
INT_DIGITS = 4300

ParseFloat = Callable[[str], Any]


class Unsendable(ValueError):
    """A value that JSON cannot carry; the text says what it is."""


def decode(text: bytes, parse_float: ParseFloat | None = None) -> Any:
    """Read JSON in UTF-8; ValueError if it is none.

    Integers are exact whatever their size (beyond 4300 digits they are Decimal). Fractions are float, Decimal where a
    float would be infinite, or what `parse_float` makes of their text.
    """
    try:
        return json.loads(text.decode("utf-8"), parse_int=_integer, parse_float=parse_float or _fraction)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= INT_DIGITS else Decimal(text)


def _fraction(text: str) -> float | Decimal:
    value = float(text)
    return value if math.isfinite(value) else Decimal(text)


def encode(value: Any) -> bytes:
    """A value as JSON in ASCII; `Unsendable` if it has no such form.

    Beside what `json` knows: Decimal becomes a number with exactly its digits, dataclasses become objects, mappings
    objects, members of an Enum their values.
    """
    numbers: list[str] = []
    # Stands for numbers that json cannot write by itself; no text of the caller can contain it.
    mark = f"number-{secrets.token_hex(16)}-"

    def other(found: Any) -> Any:
        if isinstance(found, Decimal):
            if not found.is_finite():
                raise Unsendable(f"{found} is no number in JSON")
            numbers.append(str(found))
            return f"{mark}{len(numbers) - 1}"
        if dataclasses.is_dataclass(found) and not isinstance(found, type):
            return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        if isinstance(found, enum.Enum):
            return found.value
        if isinstance(found, Mapping):
            return dict(found)
        raise Unsendable(f"a value of type {type(found).__name__} has no form in JSON")

    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=other)
    except Unsendable:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise Unsendable(str(error) or type(error).__name__) from None
    if numbers:
        text = re.sub(f'"{mark}([0-9]+)"', lambda found: numbers[int(found.group(1))], text)
    return text.encode("ascii")
