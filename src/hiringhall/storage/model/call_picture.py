"""A comparable picture of what the oracle remembers of service calls, by names instead of ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hiringhall.storage.model.call_book import Call, ServiceWorker
from hiringhall.storage.model.hall import Hall


def call_picture(hall: Hall) -> dict[str, Any]:
    """Calls with all members of their units, what came of them, offers, lanes, who fits which, service workers."""
    book = hall.book
    calls = {call.unit.name: call for call in book.calls.values()}
    counts: dict[str, Counter[str]] = {}
    for call in book.calls.values():
        counts.setdefault(call.unit.lane_key, Counter())[call.unit.counted_as] += 1
    return {
        "requests": {name: _members(hall, call) for name, call in calls.items()},
        "results": {name: _outcome(call) for name, call in calls.items() if call.outcome is not None},
        "feedback": {
            (name, row.number): (row.item, row.at, row.worker) for name, call in calls.items() for row in call.feedback
        },
        "offers": {(worker, book.calls[id_].unit.name): at for (worker, id_), at in book.offers.items()},
        "lanes": {key: (lane.service, lane.paused) for key, lane in book.lanes.items()},
        "fits": {(worker, lane.key) for worker in book.workers for lane in book.lanes_of(worker)},
        "service_workers": {key: _worker(worker) for key, worker in book.workers.items()},
        "methods": set(book.methods),
        "submissions": {key: (each.body, each.request_id, each.at) for key, each in book.submissions.items()},
        "sessions": {sid: (login.incarnation, login.ended) for sid, login in hall.gate.logins.items()},
        "call_tallies": {key: dict(count) for key, count in counts.items()},
        "call_histories": {name: list(call.history) for name, call in calls.items()},
        "expired_until": book.expired_until,
    }


def _members(hall: Hall, call: Call) -> dict[str, Any]:
    unit = call.unit
    left_out = {"id", "lane", "lane_key", "name", "seq", "parent"}
    members = {name: getattr(unit, name) for name in unit.__struct_fields__ if name not in left_out}
    parent = None if unit.parent is None else hall.book.calls.get(unit.parent)
    return {
        **members,
        "lane": unit.lane_key,
        "parent": None if parent is None else parent.unit.name,
        "child_of": call.child_of,
        "client": call.client,
        "service": call.service,
        "method": call.method,
        "dispatch": call.dispatch.value,
        "params": call.params if unit.parent is None or parent is not None else None,
        "made_at": call.made_at,
        "traceparent": call.traceparent,
        "feedback_count": call.feedback_count,
        "avoid_until": call.avoid_until,
    }


def _outcome(call: Call) -> tuple[Any, ...]:
    found = call.outcome
    assert found is not None
    return (found.answer.value, found.result, found.error_text, found.worker, found.key, found.body, found.at)


def _worker(worker: ServiceWorker) -> tuple[Any, ...]:
    return (
        worker.service, worker.worker_id, worker.run_mode, worker.capabilities, worker.incarnation, worker.leaving,
        worker.ip, worker.port, worker.source, worker.forwarded, worker.version, worker.trace,
    )  # fmt: skip
