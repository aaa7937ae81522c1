"""Follows a plan until it is finished or blocked: a live display on a terminal, else a line for each change."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from hiringhall.cli.connection import Connection, Refusal, Unreachable, plan_path
from hiringhall.cli.output import print_json, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

POLL_SECONDS: Final = 0.25
LOST_SECONDS_MAX: Final = 60.0
"""How long the server may be away, as for a restart, before the watch gives up."""
HELD_SHOWN: Final = 8
FAILED_SHOWN: Final = 10
ENDED: Final = frozenset({"finished", "blocked"})


def watch(connection: Connection, plan: str, *, as_json: bool) -> int:
    """Show progress until nothing goes on by itself. Returns the exit status: 0 if all is done or skipped."""
    from rich.console import Console

    follower = _Follower(connection, plan)
    console = Console(stderr=as_json)
    if console.is_terminal:
        _live(follower, console)
    else:
        _lines(follower, sys.stderr if as_json else sys.stdout)
    summary = follower.summary
    if as_json:
        print_json(summary)
    else:
        for line in _ending(connection, summary):
            print(line)
    counts = summary["counts"]
    return 0 if counts["done"] + counts["skipped"] == counts["total"] else 1


class _Follower:
    """Looks at the plan again and again; a server that is away for a while is waited for."""

    def __init__(self, connection: Connection, plan: str) -> None:
        self._connection = connection
        self._path = plan_path(plan)
        self._lost_at: float | None = None
        self.held: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = self._connection.call("GET", self._path, params={"summary": "1"})["plan"]

    @property
    def ended(self) -> bool:
        return self.summary["state"] in ENDED

    @property
    def lost(self) -> bool:
        return self._lost_at is not None

    def look(self, *, with_held: bool) -> None:
        """Look again."""
        try:
            self.summary = self._connection.call("GET", self._path, params={"summary": "1"})["plan"]
            if with_held:
                wanted = {"status": "CLAIMED,IN_PROGRESS", "limit": str(HELD_SHOWN)}
                self.held = self._connection.call("GET", self._path, params=wanted)["plan"]["tasks"]
            self._lost_at = None
        except (Unreachable, Refusal) as trouble:
            if isinstance(trouble, Refusal) and trouble.http_status != 503:
                raise
            now = time.monotonic()
            self._lost_at = now if self._lost_at is None else self._lost_at
            if now - self._lost_at > LOST_SECONDS_MAX:
                raise


def _live(follower: _Follower, console: Console) -> None:
    from rich.live import Live

    with Live(_picture(follower), console=console, refresh_per_second=8, transient=True) as live:
        while not follower.ended:
            time.sleep(POLL_SECONDS)
            follower.look(with_held=True)
            live.update(_picture(follower))


def _picture(follower: _Follower) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    summary = follower.summary
    counts = summary["counts"]
    over = counts["done"] + counts["skipped"]
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        Text(visible(summary["id"]), style="bold"),
        ProgressBar(total=max(1, counts["total"]), completed=over if counts["total"] else 1, width=40),
        Text(f"{over}/{counts['total']}"),
        Text(_counts(counts), style="dim"),
    )
    lines: list[RenderableType] = [bar]
    lines += [
        Text(f"  {visible(task['id'])} at {visible(task['worker_id'] or '?')}", style="cyan") for task in follower.held
    ]
    if follower.lost:
        lines.append(Text("  the server does not answer; waiting for it", style="yellow"))
    elif summary["paused"]:
        lines.append(Text("  the plan is paused: `hall plan resume` lets it go on", style="yellow"))
    return Group(*lines)


def _lines(follower: _Follower, out: Any) -> None:
    said = None
    while True:
        summary = follower.summary
        counts = summary["counts"]
        over = counts["done"] + counts["skipped"]
        line = f"{visible(summary['id'])}: {over}/{counts['total']} ({_counts(counts)})"
        if line != said:
            print(line, file=out, flush=True)
            said = line
        if follower.ended:
            return
        time.sleep(POLL_SECONDS)
        follower.look(with_held=False)


def _counts(counts: dict[str, int]) -> str:
    names = ("held", "ready", "waiting", "retrying", "failed", "skipped")
    return ", ".join(f"{counts[name]} {name}" for name in names if counts[name]) or "nothing left"


def _ending(connection: Connection, summary: dict[str, Any]) -> list[str]:
    counts = summary["counts"]
    plan = visible(summary["id"])
    if summary["state"] == "finished" and not counts["failed"]:
        skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
        return [f"{plan}: finished; {counts['done']} done{skipped}"]
    wanted = {"status": "FAILED", "limit": str(FAILED_SHOWN)}
    path = plan_path(summary["id"])
    failed = [visible(task["id"]) for task in connection.call("GET", path, params=wanted)["plan"]["tasks"]]
    waiting = f" with {counts['waiting']} waiting for what failed" if counts["waiting"] else ""
    more = ", …" if counts["failed"] > len(failed) else ""
    first = failed[0] if failed else "TASK"
    failures = f"{counts['failed']} failed: {', '.join(failed)}{more}"
    return [
        f"{plan}: {summary['state']}{waiting}; {counts['done']} done, {failures}",
        f"  `hall explain {plan}/{first}` tells why; `hall plan retry {plan}` tries again",
    ]
