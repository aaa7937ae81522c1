"""Writes the pages that are made from the code: `python docs/generate.py`. A test tells when they are out of date."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run as a script, it finds its neighbour too

from docs.case_schemas import case_schema, server_case_schema
from docs.reference_pages import commands_page, errors_page, settings_page
from docs.sdk_pages import sdks_page
from docs.wire_pages import limits_page, routes_page

from hiringhall.domain.lifecycle import MOVES, SATISFIED, Move, State, diagram

STATES: Final[dict[State, str]] = {
    State.WAITING: "waits for tasks that it depends on",
    State.READY: "will be handed to the next worker that asks",
    State.HELD: "belongs to one worker, under a lease",
    State.DONE: "was completed",
    State.FAILED: "failed, for good or until its next attempt is due",
    State.SKIPPED: "is not needed",
    State.CANCELLED: "was withdrawn by its client",
    State.EXPIRED: "was not done before its deadline",
}
WIRE: Final[dict[State, str]] = {
    State.WAITING: "`PENDING`",
    State.READY: "`PENDING`",
    State.HELD: "`CLAIMED`, once started `IN_PROGRESS`",
    State.DONE: "`DONE`",
    State.FAILED: "`FAILED`",
    State.SKIPPED: "`SKIPPED`",
    State.CANCELLED: "`FAILED`",
    State.EXPIRED: "`FAILED`",
}
MEANINGS: Final[dict[Move, str]] = {
    Move.UNBLOCK: "the last open dependency is done or skipped",
    Move.BLOCK: "a dependency is open again",
    Move.HOLD: "a worker is handed the unit",
    Move.START: "an operator says that the holder is at it; the hand-over stays valid",
    Move.COMPLETE: "the holder did it",
    Move.FAIL: "the holder could not do it",
    Move.RELEASE: "the holder gives it back, or a sweep or an operator takes it back",
    Move.ABANDON: "its leases ran out too often",
    Move.RETRY: "the next attempt is due, or an operator wants one",
    Move.SKIP: "an operator, or a failure before it, makes it needless",
    Move.CANCEL: "an operator ends it; no retry follows",
    Move.RESET: "an operator wants it done again",
    Move.REPRIORITISE: "an operator gives it another place in the order",
    Move.REVISE: "a changed plan file gives it other contents",
    Move.WITHDRAW: "its client no longer wants it",
    Move.EXPIRE: "its deadline passed",
    Move.COMPLETE_LATE: "the last holder did it after all, while nobody else has it",
    Move.FAIL_LATE: "the last holder could not do it, while nobody else has it",
    Move.GATHER: "every worker has answered a broadcast, or is lost",
    Move.LOSE: "the worker for which alone it is will not come for it",
}


def lifecycle_page() -> str:
    """The lifecycle of a unit of work, as a diagram and as tables."""
    lines = [
        "# The lifecycle of a unit of work",
        "",
        "Made from `hiringhall/domain/lifecycle.py` by `python docs/generate.py`. The same table decides in the",
        "server, and stands as constants in its SQL.",
        "",
        "```mermaid",
        diagram().rstrip(),
        "```",
        "",
        "A move that leads back to `ready` leads to `waiting` while a dependency is open.",
        "",
        "| state | the unit | satisfies its dependents | on the wire of plans |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{state}` | {STATES[state]} | {_yes(state in SATISFIED)} | {WIRE[state]} |" for state in State]
    lines += ["", "| move | happens when | from | to |", "| --- | --- | --- | --- |"]
    for move in Move:
        edges = [(before, after) for (before, made), after in MOVES.items() if made is move]
        targets = dict.fromkeys(after for _, after in edges)
        to = "the same" if all(before is after for before, after in edges) else _list(targets)
        lines.append(f"| `{move}` | {MEANINGS[move]} | {_list(before for before, _ in edges)} | {to} |")
    return "\n".join(lines) + "\n"


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def _list(states: Iterable[State]) -> str:
    return ", ".join(f"`{state}`" for state in states)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "lifecycle.md": lifecycle_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "cli.md": commands_page,
    "limits.md": limits_page,
    "protocol/routes.md": routes_page,
    "sdks.md": sdks_page,
    "../conformance/case.schema.json": case_schema,
    "../conformance/server_case.schema.json": server_case_schema,
}


def main() -> int:
    """Write every page; with --check only say which ones are out of date."""
    stale = []
    for name, page in PAGES.items():
        path = Path(__file__).parent / name
        text = page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"out of date in docs/: {', '.join(stale)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
