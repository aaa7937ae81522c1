"""The files of the repository, as the architecture tests read them."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path("src/hiringhall")
DOTTED_AND_OURS = {".ci", ".github", ".gitignore"}
BUILT = {"build", "dist", "__pycache__", "node_modules"}


class Remark(NamedTuple):
    """A comment or a docstring."""

    line: int
    text: str


@cache
def files() -> tuple[Path, ...]:
    """Every file that is, or is about to be, part of the repository, relative to its root."""
    return tuple(sorted({name for name in _known_to_git() or _found_in_folders() if (ROOT / name).is_file()}))


def python_files(*folders: str) -> list[Path]:
    """The Python modules below these folders (all of them if none is named)."""
    return [path for path in files() if path.suffix == ".py" and (not folders or path.as_posix().startswith(folders))]


@cache
def text(path: Path) -> str:
    """The text of a file; bytes that are no UTF-8 are shown as such."""
    return (ROOT / path).read_text(encoding="utf-8", errors="backslashreplace")


@cache
def tree(path: Path) -> ast.Module:
    """The syntax of a module."""
    return ast.parse(text(path), str(path))


def docstrings(path: Path) -> list[Remark]:
    """Every docstring of a module, with its line."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, kinds) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.append(Remark(first.lineno, first.value.value))
    return found


def comments(path: Path) -> list[Remark]:
    """Every comment of a Python module or an SQL file, with its line."""
    if path.suffix == ".sql":
        lines = enumerate(text(path).splitlines(), 1)
        return [Remark(number, line.partition("--")[2]) for number, line in lines if "--" in line]
    return [Remark(token.start[0], token.string) for token in _tokens(path) if token.type == tokenize.COMMENT]


def words_of_code(path: Path) -> Iterator[Remark]:
    """Names and string literals of a module, without its comments and docstrings."""
    prose = {remark.line for remark in docstrings(path)}
    for token in _tokens(path):
        if token.type == tokenize.NAME or (token.type == tokenize.STRING and token.start[0] not in prose):
            yield Remark(token.start[0], token.string)


def _tokens(path: Path) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text(path)).readline))


def _known_to_git() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return [Path(name) for name in listed.stdout.splitlines()]


def _found_in_folders() -> list[Path]:
    """The files of a copy without git: all but what is hidden or built."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if name not in BUILT and not name.endswith(".egg-info") and _is_shown(name)
        ]
        found += [(Path(folder) / name).relative_to(ROOT) for name in names if _is_shown(name)]
    return found


def _is_shown(name: str) -> bool:
    return not name.startswith(".") or name in DOTTED_AND_OURS
