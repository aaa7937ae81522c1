"""Pages that are made from the code say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs import generate
from docs.generate import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page_is_up_to_date(name: str) -> None:
    """What stands in docs/ is what `python docs/generate.py` writes."""
    stored = (Path(generate.__file__).parent / name).read_text(encoding="utf-8")
    assert stored == PAGES[name](), f"docs/{name} is out of date: run `python docs/generate.py`"
