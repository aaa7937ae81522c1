"""Sizes, names and remarks: what keeps the code readable."""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import comments, docstrings, files, python_files, text, tree

LONGEST_MODULE_LINES = 400
LONGEST_FUNCTION_LINES = 60
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
HISTORY = re.compile(
    r"\b(previously|formerly|no longer (needed|used|supported|required)|this commit|placeholder|not implemented)\b"
    r"|\b(TODO|FIXME|XXX|HACK)\b",
    re.IGNORECASE,
)
TICKETS = re.compile(r"\b[BPSD]\d{1,2}\b|\b(issue|ticket|PR|decision|section)\s*#?\d+|(?<![\w&])#\d+\b")


def test_modules_are_short() -> None:
    """No module is longer than 400 lines."""
    sizes = {path: len(text(path).splitlines()) for path in python_files()}
    assert not [f"{path}: {size} lines" for path, size in sizes.items() if size > LONGEST_MODULE_LINES]


def test_functions_are_short() -> None:
    """No function is longer than 60 lines."""
    long = []
    for path in python_files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > LONGEST_FUNCTION_LINES:
                    long.append(f"{path}:{node.lineno} {node.name}: {size} lines")
    assert not long


def test_names_say_something() -> None:
    """No module or folder is called utils, helpers, common or misc."""
    assert not [str(path) for path in files() if VAGUE_NAMES & {part.split(".")[0].lower() for part in path.parts}]


def test_every_module_says_what_it_owns() -> None:
    """A module opens with a docstring that begins with one sentence; an empty one has nothing to say."""
    modules = [path for path in python_files("src/", "sdks/") if tree(path).body]
    assert not [str(path) for path in modules if not (ast.get_docstring(tree(path)) or "").strip()]


def test_remarks_speak_in_the_present_tense() -> None:
    """Comments and docstrings tell no history and cite no ticket or decision by number."""
    bad = []
    for path in files():
        if path.suffix not in {".py", ".sql"} or "architecture" in path.parts:
            continue
        for remark in [*comments(path), *(docstrings(path) if path.suffix == ".py" else [])]:
            found = HISTORY.search(remark.text) or TICKETS.search(remark.text)
            if found:
                bad.append(f"{path}:{remark.line} {found.group()!r}")
    assert not bad, "\n".join(bad)
