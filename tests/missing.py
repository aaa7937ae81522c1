"""What a machine may lack: a test that needs it is skipped in one loud line, and with CI=true fails."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

MARK = "MISSING "


def in_ci() -> bool:
    """Whether everything has to be there."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def missing(what: str, how_to_get_it: str) -> NoReturn:
    """Skip the test that asks, loudly; with CI=true fail it."""
    reason = f"{MARK}{what}: {how_to_get_it}"
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def lines_for_summary(reports: list[pytest.TestReport]) -> list[str]:
    """One line for each thing that was missing, with the number of tests that were skipped for want of it."""
    counts: dict[str, int] = {}
    for report in reports:
        if isinstance(report.longrepr, tuple) and MARK in report.longrepr[2]:
            reason = report.longrepr[2].partition(MARK)[2]
            counts[reason] = counts.get(reason, 0) + 1
    return [f"{MARK}{reason} ({count} tests skipped)" for reason, count in counts.items()]
