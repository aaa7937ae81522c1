"""Percentiles, medians and their spelling in tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of `values` do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    rank = max(0, -(-len(ordered) * percent // 100) - 1)
    return ordered[int(rank)]


def milliseconds(seconds: float) -> float:
    """Seconds as milliseconds."""
    return seconds * 1e3


def p50_ms(seconds: Sequence[float]) -> float:
    """The median of durations in seconds, in milliseconds."""
    return milliseconds(percentile(seconds, 50))


def p99_ms(seconds: Sequence[float]) -> float:
    """The 99th percentile of durations in seconds, in milliseconds."""
    return milliseconds(percentile(seconds, 99))


def middle(values: Iterable[float]) -> float:
    """The median of repeated rounds."""
    return median(values)


def spread(values: Iterable[float]) -> str:
    """The lowest and the highest round."""
    listed = sorted(values)
    return f"{shown(listed[0])}…{shown(listed[-1])}"


def shown(value: object) -> str:
    """A cell: numbers with as many digits as they can bear, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"
