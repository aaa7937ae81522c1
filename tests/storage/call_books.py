"""What always holds of service calls, whatever was asked."""

from __future__ import annotations

from collections import Counter
from typing import Any

FINISHED = {"done", "failed", "cancelled", "expired"}


def check_call_books(picture: dict[str, Any]) -> None:
    """States, holders, outcomes, counts, offers and feedback agree with each other."""
    counts: dict[str, Counter[str]] = {}
    open_children: Counter[str] = Counter()
    for name, members in picture["requests"].items():
        state, retry_at = members["state"].value, members["retry_at"]
        finished = state in FINISHED and retry_at is None
        assert (state == "held") == (members["holder"] is not None), f"{name} is {state}, holder {members['holder']}"
        assert not finished or name in picture["results"], f"{name} has ended without an outcome"
        assert not (members["cancelling"] and state == "ready"), f"{name} is cancelled and waits to be handed on"
        counts.setdefault(members["lane"], Counter())["retrying" if retry_at is not None else state] += 1
        if members["parent"] is not None and not finished:
            open_children[members["parent"]] += 1
    for name, members in picture["requests"].items():
        assert members["waiting_on"] == open_children[name], (
            f"{name} waits for {members['waiting_on']} children, {open_children[name]} are open"
        )
        assert (members["state"].value == "waiting") == (members["waiting_on"] > 0) or members[
            "state"
        ].value in FINISHED
    assert picture["call_tallies"] == {lane: dict(count) for lane, count in counts.items()}
    for worker, name in picture["offers"]:
        assert worker in picture["service_workers"], f"{name} is offered to {worker}, who is not known"
        assert picture["requests"][name]["state"].value == "ready", f"{name} is offered and not ready"
    for name, number in picture["feedback"]:
        assert 1 <= number <= picture["requests"][name]["feedback_count"]
