"""Cases of which it is known that they fail: one that passes is a failure, so that the list stays true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from hiringhall.verify.result import Result


class Verdicts(NamedTuple):
    """The results of a run, sorted."""

    passed: list[Result]
    failed: list[Result]
    known: list[Result]
    surprising: list[Result]
    skipped: list[Result]

    @property
    def good(self) -> bool:
        """Whether everything is as it is known to be."""
        return not self.failed and not self.surprising


def read_known(path: Path) -> list[str]:
    """The titles in a list: one a line, the rest of a line behind `#` is a remark."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def unknown_titles(known: Sequence[str], titles: Iterable[str]) -> list[str]:
    """What a list names that is no case."""
    return sorted(set(known) - set(titles))


def judge(results: Iterable[Result], known: Sequence[str]) -> Verdicts:
    """Sort results."""
    found = Verdicts([], [], [], [], [])
    for result in results:
        listed = result.case.title in known
        if result.skipped:
            found.skipped.append(result)
        elif result.passed:
            (found.surprising if listed else found.passed).append(result)
        else:
            (found.known if listed else found.failed).append(result)
    return found
