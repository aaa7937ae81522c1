"""The scenarios by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench.report import Table
from bench.scenarios import (
    apply,
    backlog,
    call_latency,
    calls,
    ceiling,
    drains,
    neighbours,
    pairs,
    parked,
    replicas,
    wake,
)
from bench.workshop import Workshop

Scenario = Callable[[Workshop], Awaitable[Table]]

SCENARIOS: dict[str, Scenario] = {
    "ceiling": ceiling.measure,
    "pairs": pairs.measure,
    "wake": wake.measure,
    "apply": apply.measure,
    "parked": parked.measure,
    "replicas": replicas.measure,
    "backlog": backlog.measure,
    "calls": calls.measure,
    "call_latency": call_latency.measure,
    "drains": drains.measure,
    "neighbours": neighbours.measure,
}

AGAINST_OUTSIDE = ("pairs", "wake")
