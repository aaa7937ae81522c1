"""The documents as the tests read them: their links, and the examples that can be run.

The word after the language of a fenced block says what a test does with it:

- `console run`: each `$ ` line is a command (`> ` lines continue it), and what follows is what it prints
- `console stays`: the one command goes on in the background; the test waits for what it prints at first
- `sh run`: a script that ends with status 0
- `python file=NAME`: the text of a file that later commands use

A line `…` in what is printed stands for any lines, a `…` at the end of a line for its rest. Ids, times, tokens and
places differ from run to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"\br-[\w-]{22}(?![\w-])"), "r-ID"),
    (re.compile(r"\bw-[\w-]{12}(?![\w-])"), "w-ID"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "TOKEN"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)"), "TIME"),
    (re.compile(r"in \d+\.\d s"), "in N s"),
    (re.compile(r"(?<=http://127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"hiringhall-demo-\w+"), "hiringhall-demo-X"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Block(NamedTuple):
    """A fenced block: its language, the word after it, its text, and the line on which it stands."""

    language: str
    word: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a console, and what it prints."""

    command: str
    printed: list[str]


def documents() -> list[Path]:
    """Every page of the documentation, relative to the root."""
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page.relative_to(ROOT) for page in pages]


def text_of(page: Path | str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: Path | str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    text = text_of(page)
    for found in FENCE.finditer(text):
        language, _, word = found["info"].strip().partition(" ")
        yield Block(language, word, found["text"], text.count("\n", 0, found.start()) + 1)


def is_run(block: Block) -> bool:
    """Whether a test does something with the block."""
    return block.word in ("run", "stays") or block.word.startswith("file=")


def commands(block: Block) -> list[Command]:
    """The commands of a console."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.startswith("> ") and found and not found[-1].printed:
            found[-1] = Command(found[-1].command + "\n" + line[2:], [])
        else:
            found[-1].printed.append(line)
    return found


def settled(text: str) -> list[str]:
    """The lines of a text, without what differs from run to run."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text.strip("\n").splitlines()


def agrees(shown: list[str], printed: str) -> bool:
    """Whether what a command printed is what the page shows; `…` stands for any lines, or for the rest of one."""
    lines = settled("\n".join(shown))
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else _pattern_of(line) + "\n" for line in lines)
    return re.fullmatch(pattern, "".join(line + "\n" for line in settled(printed))) is not None


def _pattern_of(line: str) -> str:
    return re.escape(line[:-1]) + ".*" if line.endswith("…") else re.escape(line)


def table(page: Path | str, heading: str) -> list[list[str]]:
    """The rows of the table whose first column has that heading."""
    rows: list[list[str]] = []
    inside = False
    for line in text_of(page).splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")] if line.startswith("|") else []
        if cells and cells[0] == heading:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= {"-", " ", "|"}:
            rows.append(cells)
    return rows
