"""The SQL texts: found by the name of their verb, states and lists expanded once when they are loaded.

A statement is a file `NAME.sql` in `shared/` (both databases speak it) or in the folder of one database, which wins.
`{ready}` stands for the literal of a state, `{sources:hold}` for the list of states from which a move is allowed,
`{satisfied}` and `{final}` for those sets, `{any:ids bigint}` for "is one of the list :ids", one of `WORDS` for a word
of the domain, `{statement:NAME}` for the text of another statement. States are literals, never parameters, since a
parameter does not match a partial index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from hiringhall.domain.announcement import BYTES_MAX, CHANNEL
from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import FINAL, SATISFIED, Move, State, sources
from hiringhall.domain.topics import EVERYTHING
from hiringhall.domain.work import RETRYING

_CONSTANT: Final = re.compile(r"\{([a-z:_ ]+)\}")
_STATEMENT: Final = re.compile(r"\{statement:([a-z_]+)\}")
COMMENT: Final = re.compile(r"--[^\n]*")
PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]+)")

WORDS: Final[dict[str, str]] = {
    "retrying": RETRYING,
    "rings_channel": CHANNEL,
    "everything": EVERYTHING,
    "complete": Move.COMPLETE.value,
    "release": Move.RELEASE.value,
    "success": Answer.SUCCESS.value,
    **{dispatch.value: dispatch.value for dispatch in Dispatch},
}
"""What SQL has to call as the domain does."""

AnyOf = Callable[[str, str], str]
"""Renders "is one of the list": from the parameter's name and its element type to SQL."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL text ready for a driver, and its parameters in order of first appearance."""

    name: str
    text: str
    parameters: tuple[str, ...]


def _literals(states: Iterable[State]) -> str:
    return "(" + ", ".join(f"'{state.value}'" for state in sorted(states)) + ")"


def expand(text: str, any_of: AnyOf) -> str:
    """Replace the constants of a statement by literals."""

    def constant(found: re.Match[str]) -> str:
        word, _, argument = found[1].partition(":")
        if word == "any":
            name, _, element = argument.partition(" ")
            return any_of(name, element)
        if word == "sources":
            return _literals(sources(Move(argument)))
        if word == "satisfied":
            return _literals(SATISFIED)
        if word == "final":
            return _literals(FINAL)
        if word == "announcement_bytes":
            return str(BYTES_MAX)
        return f"'{WORDS.get(word) or State(word).value}'"

    return _CONSTANT.sub(constant, text)


def parameters_of(text: str) -> tuple[str, ...]:
    """The names of a statement's parameters, each once, in order of first appearance. Comments do not count."""
    code = COMMENT.sub("", text)
    return tuple(dict.fromkeys(PARAMETER.findall(code)))


def load_statements(database: str, any_of: AnyOf) -> dict[str, Statement]:
    """All statements of one database, by name."""
    texts: dict[str, str] = {}
    for folder in ("shared", database):
        for file in files("hiringhall.storage").joinpath(folder).iterdir():
            if file.name.endswith(".sql"):
                texts[file.name.removesuffix(".sql")] = file.read_text(encoding="utf-8")
    found = {}
    for name, text in sorted(texts.items()):
        code = expand(_STATEMENT.sub(lambda other: texts[other[1]].strip(), text), any_of)
        found[name] = Statement(name, code, parameters_of(code))
    return found


def load_migrations(database: str) -> list[tuple[int, str]]:
    """The migrations of one database: (number, text), in ascending order."""
    folder = files("hiringhall.storage").joinpath(database).joinpath("migrations")
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [
        (int(name.partition("_")[0]), expand(folder.joinpath(name).read_text(encoding="utf-8"), _no_lists))
        for name in names
    ]


def _no_lists(name: str, _element: str) -> str:
    raise ValueError(f"a migration has no parameters, but names the list {name!r}")
