"""Names in the texts of a case for servers: `${NAME}` stands for a value that is known, or was saved before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

NAME: Final = re.compile(r"\$\{([a-z_]+[0-9]*)(/?)\}")


class Unknown(Exception):
    """A case needs something by this name, and it is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """A value with its names replaced, in any depth; a text that is one name becomes the value itself.

    `${NAME/}` is the value as a part of a path, percent-encoded.
    """
    if isinstance(value, str):
        whole = NAME.fullmatch(value)
        if whole is not None and not whole.group(2):
            return _of(known, whole.group(1))
        return NAME.sub(lambda found: _text(known, found), value)
    if isinstance(value, dict):
        return {filled(name, known): filled(member, known) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(element, known) for element in value]
    return value


def _of(known: Mapping[str, Any], name: str) -> Any:
    if name not in known:
        raise Unknown(name)
    return known[name]


def _text(known: Mapping[str, Any], found: re.Match[str]) -> str:
    text = str(_of(known, found.group(1)))
    return quote(text, safe="") if found.group(2) else text
