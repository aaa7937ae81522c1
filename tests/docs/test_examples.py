"""The examples of the documentation run as they stand, and print what they show."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.console import Console
from tests.docs.documents import agrees, blocks, documents, is_run
from tests.missing import missing

PAGES = [page for page in documents() if any(is_run(block) for block in blocks(page))]


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    """A shell of the test's own."""
    for program in ("bash", "curl", "make"):
        if shutil.which(program) is None:
            missing(program, f"install {program}, which the examples of the documentation use")
    found = Console(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_examples_run_as_they_stand(page: Path, console: Console) -> None:
    """Somebody who types the examples of a page one after the other sees what the page shows."""
    for block in blocks(page):
        if is_run(block):
            console.run(block)


def test_every_block_says_what_it_is() -> None:
    """A fenced block names its language, and the word after it is one that the tests know."""
    unknown = [
        f"{page}:{block.line} {block.language} {block.word}"
        for page in documents()
        for block in blocks(page)
        if not block.language or not (block.word == "" or is_run(block))
    ]
    assert not unknown


def test_the_first_pages_are_run() -> None:
    """The README and the guide for the first worker have examples that run."""
    assert {"README.md", "docs/guide/first-worker.md"} <= {str(page) for page in PAGES}


def test_what_is_shown_is_compared() -> None:
    """Lines that differ are noticed; what changes from run to run is not, and … stands for any lines."""
    assert agrees(["w-AAAAAAAAAAAA is there"], "w-BBBBBBBBBBBB is there\n")
    assert agrees(["first", "…", "last"], "first\nsecond\nlast\n")
    assert agrees(["first", "…", "last"], "first\nlast\n")
    assert not agrees(["first", "last"], "first\nsecond\nlast\n")
    assert not agrees(["…", "last"], "first\n")
