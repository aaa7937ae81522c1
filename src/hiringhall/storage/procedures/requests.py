"""Questions about calls, and about who is there to do them."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

from hiringhall.domain.call import Answer, Dispatch
from hiringhall.domain.lifecycle import FINAL, State
from hiringhall.ports.calls import (
    CountCalls,
    FindNews,
    FindRequests,
    LazyWorkers,
    LazyWorkerView,
    ListMethods,
    MethodView,
    News,
    RequestView,
    ServiceWorkerView,
)
from hiringhall.storage.procedure import Context, Fetch, Procedure, Row, Step
from hiringhall.storage.procedures.standing import capabilities_from
from hiringhall.storage.procedures.submit import dispatch_of


def find_requests(_: Context, query: FindRequests) -> Procedure:
    """Calls by id."""
    if not query.request_ids:
        return []
    rows = yield Fetch("find_requests", {"names": sorted(set(query.request_ids))})
    return [_view(row) for row in rows]


def find_news(_: Context, query: FindNews) -> Procedure:
    """Which of these calls there is anything to tell of."""
    rows = (yield Fetch("find_news", {"names": sorted(set(query.request_ids))})) if query.request_ids else []
    return [News(name, count, bool(ended)) for name, count, ended in rows]


def _view(row: Row) -> RequestView:
    state, retry_at = State(row[5]), row[20]
    finished = state in FINAL and retry_at is None
    at, answer, result, error_text = row[12:16] if finished else (None, None, None, None)
    return RequestView(
        work=row[0], request_id=row[1], client=row[2], service=row[3], method=row[4], state=state,
        cancelling=bool(row[6]), offered=bool(row[7]), version=row[8], made_at=row[9], deadline_at=row[10],
        first_handed_at=row[11], finished_at=at, answer=None if answer is None else Answer(answer),
        result=None if result is None else bytes(result),
        error_text=None if error_text is None else json.loads(error_text),
        holder=row[16], last_holder=row[17], attempts=row[18], abandoned=row[19], retry_at=retry_at,
        feedback_count=row[21], dispatch=Dispatch(row[22]), priority=-row[23], lane_paused=bool(row[24]),
    )  # fmt: skip


def list_methods(_: Context, query: ListMethods) -> Procedure:
    """What is on offer, by service and name."""
    service, method = query.after
    page = {"service": query.service, "after_service": service, "after_method": method, "limit": query.limit}
    rows = yield Fetch("list_methods", page)
    return [
        MethodView(service, method, dispatch_of(dispatch, methods, method), workers, int(live))
        for service, method, workers, live, dispatch, methods in rows
    ]


def count_calls(_: Context, _query: CountCalls) -> Procedure:
    """How many calls of each service are in which state."""
    counts: dict[str, dict[str, int]] = {}
    for service, state, count in (yield Fetch("count_calls", {})):
        if count:
            counts.setdefault(service, {})[state] = int(count)
    return counts


def lazy_workers(_: Context, query: LazyWorkers) -> Procedure:
    """Live lazy workers that fit any of some lanes."""
    rows = (yield Fetch("find_lazy_workers", {"keys": sorted(set(query.lanes))})) if query.lanes else []
    return [LazyWorkerView(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in rows]


def service_views(workers: Sequence[str]) -> Generator[Step, list[Row], dict[str, ServiceWorkerView]]:
    """What is known of service workers beyond what any worker has."""
    if not workers:
        return {}
    rows = yield Fetch("find_service_views", {"workers": sorted(workers)})
    fits = yield Fetch("find_lanes_of_workers", {"workers": sorted(workers)})
    lanes: dict[str, list[str]] = {}
    for worker, key in fits:
        lanes.setdefault(worker, []).append(key)
    return {
        row[0]: ServiceWorkerView(
            row[1], row[2], row[3], capabilities_from(row[4]), row[5], bool(row[6]), row[7], row[8], row[9],
            bool(row[10]), tuple(lanes.get(row[0], ())),
        )
        for row in rows
    }  # fmt: skip
