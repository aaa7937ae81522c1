"""What always holds of service calls, whatever was asked."""

from __future__ import annotations

from collections import Counter
from typing import Any

FINISHED = {"done", "failed", "cancelled", "expired"}


def check_offers(picture: dict[str, Any]) -> None:
    """Only what is ready is offered, and to known workers. An offer that is made while a call is locked outlives that:
    it is not looked at, and goes in time."""
    for worker, name in picture["offers"]:
        assert worker in picture["service_workers"], f"{name} is offered to {worker}, who is not known"
        assert picture["requests"][name]["state"].value == "ready", f"{name} is offered and not ready"


def check_call_books(picture: dict[str, Any]) -> None:
    """States, holders, outcomes, counts and feedback agree with each other."""
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
        state = members["state"].value
        assert state in FINISHED or (state == "waiting") == (members["waiting_on"] > 0), f"{name} is {state}"
    counted = {lane: dict(count) for lane, count in counts.items()}
    assert picture["call_tallies"] == counted, f"counted: {picture['call_tallies']}; there are: {counted}"
    for name, number in picture["feedback"]:
        assert 1 <= number <= picture["requests"][name]["feedback_count"]
