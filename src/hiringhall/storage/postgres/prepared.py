"""The statements in PostgreSQL's words, and several of them as one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hiringhall.storage.statements import COMMENT, PARAMETER, Statement, load_statements

_NUMBERED: Final = re.compile(r"\$([0-9]+)")
_TABLE: Final = re.compile(r"\b(?:INTO|UPDATE|FROM|JOIN|USING)\s+([a-z_]+)\b(?!\()")
_WRITES: Final = ("INSERT", "UPDATE", "DELETE")
_INSERTS_ROWS: Final = re.compile(r"INSERT INTO ([a-z_]+) \(([a-z_, ]+)\)\s+SELECT \* FROM unnest\([^;]*\)")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement in PostgreSQL's words. `whole`: all rows of parameters go into one run, transposed to arrays.

    `tables` are those that it names. `writes`: it is nothing but a change, so that it can be part of another statement.
    `fills`: the table, if all that it does is to insert its rows of parameters, each into the column of its name.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    whole: bool
    tables: frozenset[str] = frozenset()
    writes: bool = False
    fills: str | None = None


def any_of(name: str, element: str) -> str:
    """SQL for "is one of the list", which travels as an array."""
    return f"= ANY (CAST(:{name} AS {element}[]))"


def prepared(statement: Statement) -> Prepared:
    """Number the parameters of a statement."""
    numbers = {name: number for number, name in enumerate(statement.parameters, start=1)}
    code = COMMENT.sub("", statement.text).strip()
    text = PARAMETER.sub(lambda found: f"${numbers[found[1]]}", code)
    return Prepared(
        statement.name,
        f"/* {statement.name} */ {text}",
        statement.parameters,
        "unnest(" in text,
        frozenset(_TABLE.findall(text)),
        text.startswith(_WRITES),
        _filled_by(code, statement.parameters),
    )


def _filled_by(code: str, parameters: tuple[str, ...]) -> str | None:
    found = _INSERTS_ROWS.fullmatch(code)
    return found[1] if found and tuple(found[2].split(", ")) == parameters else None


def load() -> dict[str, Prepared]:
    """The statements in PostgreSQL's words."""
    return {name: prepared(statement) for name, statement in load_statements("postgres", any_of).items()}


def composed(statements: Sequence[Prepared]) -> str:
    """The text of one statement that does what these do; its parameters are theirs, one statement's after another's.

    All of them see what was there before any of them, and the order in which they are done is not defined. All but the
    last have to be changes.
    """
    parts = []
    before = 0
    for statement in statements:
        parts.append(_renumbered(statement.text, before))
        before += len(statement.parameters)
    named = [f"{statement.name} AS ({text})" for statement, text in zip(statements[:-1], parts[:-1], strict=True)]
    return f"WITH {', '.join(named)} {parts[-1]}"


def _renumbered(text: str, before: int) -> str:
    return _NUMBERED.sub(lambda found: f"${int(found[1]) + before}", text)
