"""Deliberate bugs of a worker are caught, each by the case that is about it."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from hiringhall.verify.loading import load_cases
from hiringhall.verify.player import Player
from hiringhall.verify.result import Result
from hiringhall.verify.running import play_all
from tests.verify.mutants import MUTANTS

AT_ONCE = 12
# A bug often shows in something that never comes; cases that pass are played with full patience elsewhere.
PATIENCE = 0.4
BROKEN_MUTANT = re.compile(r"\b(AttributeError|ImportError|NameError|TypeError)\b")


async def play_mutants() -> dict[str, Result]:
    """How each bug fares in the case that is about it."""
    cases = {case.title: case for case in load_cases()}
    program = str(Path(__file__).with_name("mutants.py"))

    async def play(name: str) -> tuple[str, Result]:
        player = Player(cases[MUTANTS[name][0]], [sys.executable, program, name], PATIENCE)
        return name, await player.play()

    return dict([one async for one in play_all(list(MUTANTS), play, AT_ONCE)])


def test_each_bug_is_caught() -> None:
    """Every deliberate bug makes the case fail that is named beside it."""
    results = asyncio.run(play_mutants())
    assert len(results) >= 20
    assert not [f"{name}: {result.case.title} passed" for name, result in results.items() if result.passed]
    printed = {name: "".join(result.timeline.output) for name, result in results.items()}
    assert not [f"{name}:\n{text}" for name, text in printed.items() if BROKEN_MUTANT.search(text)]
