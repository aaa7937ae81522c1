"""Answers to questions about service calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from hiringhall.domain.call import Dispatch
from hiringhall.domain.lifecycle import State
from hiringhall.ports.calls import (
    CountCalls,
    FindNews,
    FindRequests,
    LazyWorkers,
    LazyWorkerView,
    ListMethods,
    MethodView,
    News,
    ReadFeedback,
    RequestView,
    ServiceWorkerView,
)
from hiringhall.storage.model.call_book import Call
from hiringhall.storage.model.draining import offered_now
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.standing import is_live, live_workers


def find_requests(hall: Hall, query: FindRequests) -> list[RequestView]:
    """Calls by id."""
    found = (hall.book.find(request_id) for request_id in sorted(set(query.request_ids)))
    return [_view(hall, call) for call in found if call is not None]


def find_news(hall: Hall, query: FindNews) -> list[News]:
    """Which of these calls there is anything to tell of."""
    found = []
    for request_id in sorted(set(query.request_ids)):
        call = hall.book.find(request_id)
        ended = call is None or call.unit.finished
        count = 0 if call is None else call.feedback_count
        if ended or count:
            found.append(News(request_id, count, ended))
    return found


def _view(hall: Hall, call: Call) -> RequestView:
    unit = call.unit
    outcome = call.outcome if unit.finished else None
    lane = hall.book.lanes.get(unit.lane_key)
    return RequestView(
        unit.id, unit.name, call.client, call.service, call.method, unit.state, unit.cancelling,
        offered_now(hall, unit), unit.version, call.made_at, unit.deadline_at or 0, call.first_handed_at,
        None if outcome is None else outcome.at, None if outcome is None else outcome.answer,
        None if outcome is None else outcome.result, None if outcome is None else outcome.error_text,
        unit.holder, unit.last_holder, unit.attempts, unit.abandoned, unit.retry_at, call.feedback_count,
        call.dispatch, -unit.priority, lane is not None and lane.paused,
    )  # fmt: skip


def read_feedback(hall: Hall, query: ReadFeedback) -> list[Any]:
    """Stored feedback of a call."""
    call = hall.book.calls.get(query.work)
    return [] if call is None else [row for row in call.feedback if row.number > query.after][: query.limit]


def service_worker(hall: Hall, key: str) -> ServiceWorkerView | None:
    """What a service worker registered, and the lanes that it fits."""
    worker = hall.book.workers.get(key)
    if worker is None:
        return None
    return ServiceWorkerView(
        worker.service, worker.worker_id, worker.run_mode, worker.capabilities, worker.incarnation, worker.leaving,
        worker.ip, worker.port, worker.version, worker.trace,
        tuple(sorted(lane.key for lane in hall.book.lanes_of(key))),
    )  # fmt: skip


def list_methods(hall: Hall, query: ListMethods) -> list[MethodView]:
    """What is on offer."""
    able: dict[tuple[str, str], list[str]] = {}
    for key, worker in hall.book.workers.items():
        for method in worker.capabilities.methods:
            able.setdefault((worker.service, method), []).append(key)
    names = sorted(name for name in able if name > query.after and query.service in (None, name[0]))
    return [
        MethodView(*name, dispatch_of(hall, *name), len(able[name]), sum(is_live(hall, key) for key in able[name]))
        for name in names[: query.limit]
    ]


def dispatch_of(hall: Hall, service: str, method: str) -> Dispatch:
    """How a service has calls of a method dispatched."""
    configured = hall.gate.services[service]
    special: dict[str, Any] = msgspec.json.decode(configured.methods).get(method, {})
    return Dispatch(special.get("dispatch", configured.dispatch))


def count_calls(hall: Hall, _query: CountCalls) -> dict[str, dict[str, int]]:
    """How many calls of each service are in which state."""
    counts: dict[str, dict[str, int]] = {}
    for call in hall.book.calls.values():
        if call.child_of is None:
            states = counts.setdefault(call.service, {})
            states[call.unit.counted_as] = states.get(call.unit.counted_as, 0) + 1
    return counts


def lazy_workers(hall: Hall, query: LazyWorkers) -> list[LazyWorkerView]:
    """Live lazy workers that fit any of some lanes, and where they can be woken."""
    lanes = [hall.book.lanes[key] for key in query.lanes if key in hall.book.lanes]
    found = []
    for key in sorted({worker for lane in lanes for worker in live_workers(hall, lane)}):
        worker = hall.book.workers[key]
        if worker.run_mode == "lazy" and worker.ip is not None and worker.port is not None:
            found.append(LazyWorkerView(key, worker.service, worker.ip, worker.port, worker.source, worker.forwarded))
    return found


def ready_lanes(hall: Hall, keys: tuple[str, ...]) -> list[str]:
    """Which lanes of calls have something to be taken."""
    ready = {call.unit.lane_key for call in hall.book.calls.values() if call.unit.state is State.READY}
    return [key for key in keys if key in ready and not hall.book.lanes[key].paused]


ANSWERS: Final[dict[type[Any], Callable[[Hall, Any], Any]]] = {
    FindRequests: find_requests,
    FindNews: find_news,
    ReadFeedback: read_feedback,
    ListMethods: list_methods,
    CountCalls: count_calls,
    LazyWorkers: lazy_workers,
}
