"""The query of a request to a hot route. Parameters that a route does not know are passed over."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs

import msgspec

NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?").fullmatch


def parameters(query: bytes) -> dict[str, str]:
    """The parameters of a query; of equal names the last counts."""
    return {name: values[-1] for name, values in parse_qs(query.decode("latin-1"), keep_blank_values=True).items()}


def number_in(values: dict[str, str], name: str) -> object:
    """A number among parameters, UNSET if it is not there, None if it is no number."""
    text = values.get(name)
    if text is None:
        return msgspec.UNSET
    return float(text) if NUMBER(text) else None
