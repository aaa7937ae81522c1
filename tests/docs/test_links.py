"""The documents hang together: links lead somewhere, decisions are numbered, every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.documents import FENCE, ROOT, documents, text_of

LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)")
DECISION = re.compile(r"(\d{4})-[a-z0-9-]+\.md")


def links(page: Path) -> list[str]:
    """Where the links of a page lead, those in examples aside."""
    return LINK.findall(FENCE.sub("", text_of(page)))


def anchors(page: Path) -> set[str]:
    """The places in a page to which a link can lead."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def target(page: Path, link: str) -> Path:
    """The file to which a link of a page leads, relative to the root if it is in the repository."""
    path = link.partition("#")[0]
    found = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
    return found.relative_to(ROOT) if found.is_relative_to(ROOT) else found


@pytest.mark.parametrize("page", documents(), ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link within the repository leads to a file or folder, and to a heading if it names one."""
    dead = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        found = target(page, link)
        exists = (ROOT / found).exists()
        if exists and "#" in link and found.suffix == ".md":
            exists = link.partition("#")[2] in anchors(found)
        if not exists:
            dead.append(link)
    assert not dead


def test_every_page_can_be_reached() -> None:
    """Whoever begins with the README can get to every page by links."""
    reached: set[Path] = set()
    waiting = [Path("README.md")]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not (ROOT / page).is_file():
            continue
        reached.add(page)
        waiting += [target(page, link) for link in links(page) if not re.match(r"[a-z]+:", link)]
    assert not set(documents()) - reached


def test_decisions_are_numbered() -> None:
    """Decisions are 0001, 0002 and so on without a gap; each says its context, the choice, and its price."""
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbered = [page for page in pages if page.name != "README.md"]
    numbers = [int(found[1]) for page in numbered if (found := DECISION.fullmatch(page.name))]
    assert numbers == list(range(1, len(numbered) + 1))
    for page in numbered:
        headings = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
        assert headings == ["Context", "Choice", "Price"], page.name
        assert page.read_text().startswith(f"# {int(page.name[:4])}. "), page.name
