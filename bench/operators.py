"""What the benchmark asks of a hall as its operator: apply plan files, read counters."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from bench.client import connect, head_of, whole
from bench.targets import Target
from bench.wires import Refused, refusal_of


async def apply_files(target: Target, plan: str, files: Iterable[bytes]) -> float:
    """Apply plan files one after another; the seconds from sending to the answers, without building them."""
    connection = await connect(target.root)
    head = head_of(target.root, "PUT", f"{target.root.prefix}/admin/plans/{plan}", target.operator_token)
    seconds = 0.0
    try:
        for body in files:
            request = whole(head, body)
            asked_at = time.perf_counter()
            answer = await connection.call(request)
            seconds += time.perf_counter() - asked_at
            if answer.status not in (200, 201):
                raise Refused(f"{target.name}: PUT /admin/plans/{plan}: {refusal_of('plans', answer)}")
    finally:
        await connection.close()
    return seconds


async def read_counter(target: Target, name: str) -> float | None:
    """The sum of a counter over its labels in `/metrics`; None where the server has no such counter or page."""
    connection = await connect(target.root)
    try:
        head = head_of(target.root, "GET", f"{target.root.prefix}/metrics", target.operator_token)
        answer = await connection.call(whole(head, b""))
    finally:
        await connection.close()
    if answer.status != 200:
        return None
    pattern = rf"^{re.escape(name)}(?:\{{[^}}]*\}})? ([0-9.eE+-]+)$"
    values = [float(found) for found in re.findall(pattern, answer.body.decode(), re.MULTILINE)]
    return sum(values) if values else None
