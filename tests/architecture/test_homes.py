"""Clocks, dice, sleep, state names and databases are each at home in a few files, and nowhere else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.sources import SERVER, files, python_files, text, tree, words_of_code

STATES = ["waiting", "ready", "held", "done", "failed", "skipped", "cancelled", "expired"]
DATABASE_WORDS = re.compile(r"sqlite|postgres|asyncpg|apsw", re.IGNORECASE)
HOMES_OF_DATABASES = ("storage/", "wakeups/", "bootstrap.py", "config.py", "cli/serve.py")

# What is called, and the files (or folders, with a slash at the end) that may call it.
HOMES: dict[str, tuple[str, ...]] = {
    "sleep": (
        "sdks/python/tests/",  # handlers that keep a worker busy
        "tests/faults/call_load.py",  # clients, and
        "tests/faults/load.py",  # workers that wait before they try again
        "tests/echo_worker.py",  # a handler that takes a moment
        "tests/faults/proxy.py",  # answers that come late
        "src/hiringhall/sweepers/",
        "src/hiringhall/storage/postgres/",
        "src/hiringhall/wakeups/postgres.py",
        "src/hiringhall/cli/",
        "src/hiringhall/verify/",  # answers that come late, and slowly
        "conformance/workers/",  # handlers that keep a worker busy
        "sdks/python/src/hiringhall_worker/",
        "bench/",
        "examples/",
        "tests/waiting.py",
    ),
    "datetime.now": ("src/hiringhall/cli/", "bench/"),
    "datetime.utcnow": (),
    "date.today": (),
    "time.time": (
        "src/hiringhall/storage/",
        "src/hiringhall/asgi/answers.py",
        "src/hiringhall/asgi/front_state.py",
        "src/hiringhall/auth/tokens.py",
        "bench/",
    ),
    "time.time_ns": ("src/hiringhall/storage/", "bench/"),
    "random": (
        "examples/",
        "src/hiringhall/operations/hall.py",
        "src/hiringhall/sweepers/",
        "src/hiringhall/storage/postgres/",
        "src/hiringhall/wakeups/postgres.py",
        "src/hiringhall/cli/",
        "sdks/python/src/hiringhall_worker/",
        "bench/",
        "tests/",
        "sdks/python/tests/",
    ),
}


def yields_once(node: ast.Call) -> bool:
    """Whether this is `asyncio.sleep(0)`, which lets others run and takes no time."""
    return ast.unparse(node) == "asyncio.sleep(0)"


def called(path: Path) -> set[tuple[str, int]]:
    """The dotted names that a module calls, and the modules that it imports, with their lines."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and not yields_once(node):
            found.add((ast.unparse(node.func), node.lineno))
        elif isinstance(node, ast.Import):
            found.update((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
    return found


@pytest.mark.parametrize("name", sorted(HOMES))
def test_each_has_its_homes(name: str) -> None:
    """Only the listed files sleep, read the calendar, or throw dice: everything else is told."""
    strays = []
    for path in python_files():
        if path.as_posix().startswith(HOMES[name]):
            continue
        for spelled, line in called(path):
            if re.search(rf"(^|\.){re.escape(name)}($|\.)" if name != "random" else r"^random($|\.)", spelled):
                strays.append(f"{path}:{line} {spelled}")
    assert not strays, "\n".join(strays)


def test_statements_name_no_state() -> None:
    """SQL takes its states from the lifecycle table, as {ready}; only a migration spells them."""
    literal = re.compile("|".join(f"'{state}'" for state in STATES))
    bad = []
    for path in files():
        if path.suffix == ".sql" and path.is_relative_to(SERVER / "storage") and "migrations" not in path.parts:
            for number, line in enumerate(text(path).splitlines(), 1):
                if literal.search(line.partition("--")[0]):
                    bad.append(f"{path}:{number} {line.strip()}")
    assert not bad, "\n".join(bad)


def test_a_statement_of_one_database_says_why_it_differs() -> None:
    """A statement that both databases share and one of them says otherwise begins with `-- Differs:`."""
    statements = [path for path in files() if path.suffix == ".sql" and path.is_relative_to(SERVER / "storage")]
    shared = {path.name for path in statements if path.parent.name == "shared"}
    shadows = [path for path in statements if path.parent.name in {"sqlite", "postgres"} and path.name in shared]
    assert not [str(path) for path in shadows if not text(path).startswith("-- Differs:")]


def test_only_the_storage_knows_its_databases() -> None:
    """Outside the adapters and where they are chosen, no code names a database."""
    bad = []
    for path in python_files(f"{SERVER}/"):
        if path.relative_to(SERVER).as_posix().startswith(HOMES_OF_DATABASES):
            continue
        bad += [f"{path}:{word.line} {word.text}" for word in words_of_code(path) if DATABASE_WORDS.search(word.text)]
    assert not bad, "\n".join(bad)
