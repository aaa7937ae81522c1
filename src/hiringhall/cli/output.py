"""How commands print: aligned columns, JSON for scripts, and nothing that a terminal would take for a command."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

SUBSTITUTE = "\N{REPLACEMENT CHARACTER}"


def visible(text: str) -> str:
    """The text on one line, with a visible substitute for whatever would steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\n\t" else SUBSTITUTE for c in text)


def print_json(value: Any) -> None:
    """Print a value for scripts."""
    print(json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode())


def print_columns(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under titles, as wide as they are: nothing is cut, so that `grep` and `awk` find everything."""
    cells = [list(titles), *([visible(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
