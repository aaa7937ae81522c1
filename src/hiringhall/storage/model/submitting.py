"""Calls as clients submit and withdraw them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from hiringhall.domain import work
from hiringhall.domain.call import (
    CHILDREN_MAX,
    LANES_MAX,
    Dispatch,
    call_lane,
    policy_for,
    worker_lane,
)
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of_service
from hiringhall.domain.work import Unit
from hiringhall.ports.calls import Submit, Submitted, Withdraw
from hiringhall.ports.questions import HistoryLine
from hiringhall.storage.model.call_book import Call, Lane, Submission
from hiringhall.storage.model.hall import Hall
from hiringhall.storage.model.standing import live_workers


def submit(hall: Hall, ask: Submit) -> Submitted | Refused:
    """Make a call, unless it is the repetition of an earlier one."""
    earlier = None if ask.key is None else hall.book.submissions.get(ask.key)
    if earlier is not None:
        if earlier.body == ask.body:
            return Submitted(earlier.request_id, repeated=True)
        return Refused("idempotency_key_reused", "this Idempotency-Key came with another body before")
    service = hall.gate.services.get(ask.service)
    if service is None:
        return Refused("unknown_service", f"there is no service {ask.service!r}")
    known = sorted(method for name, method in hall.book.methods if name == ask.service)
    if known and ask.method not in known:
        detail = f"no worker of {ask.service!r} ever registered {ask.method!r}"
        return Refused("unknown_method", detail, extra={"nearest": get_close_matches(ask.method, known)})
    special: dict[str, Any] = msgspec.json.decode(service.methods).get(ask.method, {})
    dispatch = ask.dispatch or Dispatch(special.get("dispatch", service.dispatch))
    key = call_lane(ask.service, ask.method, dispatch, ask.requires)
    lane = hall.book.lanes.get(key)
    meant = lane or Lane(key, 0, ask.service, hall.now, service.paused, ask.method, dispatch, ask.requires)
    live = live_workers(hall, meant)
    refused = _complaint(hall, ask, dispatch, live)
    if refused is not None:
        return refused
    if lane is None:
        if sum(each.service == ask.service and each.owner is None for each in hall.book.lanes.values()) >= LANES_MAX:
            return Refused("queue_full", f"{ask.service!r} has calls with {LANES_MAX} different requirements")
        lane = intern(hall, meant)
    limit_ms = ask.run_limit_ms
    if limit_ms is None and special.get("run_limit_seconds") is not None:
        limit_ms = round(special["run_limit_seconds"] * 1_000)
    _make(hall, ask, lane, limit_ms, live if dispatch is Dispatch.BROADCAST else [])
    if ask.key is not None:
        hall.book.submissions[ask.key] = Submission(ask.body, ask.request_id, hall.now)
    return Submitted(ask.request_id)


def _complaint(hall: Hall, ask: Submit, dispatch: Dispatch, live: Sequence[str]) -> Refused | None:
    to_all = dispatch is Dispatch.BROADCAST
    if not live and (to_all or ask.fail_without_worker):
        return Refused("no_worker", f"no worker is live that can do {ask.service}/{ask.method} as it is required")
    if to_all and len(live) > CHILDREN_MAX:
        return Refused(
            "validation_error", f"dispatch: {len(live)} workers are live; a broadcast reaches {CHILDREN_MAX}"
        )
    ready = sum(
        call.service == ask.service and call.unit.state is State.READY and call.child_of is None
        for call in hall.book.calls.values()
    )
    if ready >= ask.queue_limit:
        return Refused("queue_full", f"{ready} calls of {ask.service!r} wait for workers already")
    return None


def intern(hall: Hall, lane: Lane) -> Lane:
    """Give a lane its number; whoever may be given its calls learns of it."""
    lane.number = hall.next_lane
    hall.next_lane += 1
    hall.book.lanes[lane.key] = lane
    hall.rings[topic_of_service(lane.service)] += 1
    return lane


def _make(hall: Hall, ask: Submit, lane: Lane, limit_ms: int | None, workers: Sequence[str]) -> None:
    """Make the unit of a call; one of a broadcast comes after its children."""
    parent = hall.next_work + len(workers) if workers else None
    for number, worker in enumerate(workers, start=1):
        own = hall.book.lanes[worker_lane(worker)]
        child = _add(hall, ask, own, f"{ask.request_id}.{number}", limit_ms)
        child.unit.parent, child.child_of, child.dispatch = parent, worker, lane.dispatch
        hall.ring_lane(child.unit)
    call = _add(hall, ask, lane, ask.request_id, limit_ms)
    if workers:
        call.unit.state, call.unit.waiting_on = State.WAITING, len(workers)
        call.history[0] = HistoryLine(hall.now, 1, "submit", State.WAITING.value)
    hall.ring_lane(call.unit)


def _add(hall: Hall, ask: Submit, lane: Lane, request_id: str, limit_ms: int | None) -> Call:
    id_ = hall.next_work
    hall.next_work += 1
    unit = Unit(id_, lane.number, lane.key, request_id, State.READY, -ask.priority, id_)
    unit.policy = policy_for(ask.retries, limit_ms)
    unit.deadline_at = hall.now + ask.deadline_ms
    call = Call(unit, ask.client, ask.service, ask.method, lane.dispatch, ask.params, hall.now, ask.traceparent)
    call.history.append(HistoryLine(hall.now, 1, "submit", State.READY.value))
    hall.book.calls[id_] = call
    hall.book.numbers[request_id] = id_
    return call


def withdraw(hall: Hall, ask: Withdraw) -> State | Refused:
    """End a call for its client; if a worker holds it, tell that one to stop."""
    call = hall.book.find(ask.request_id)
    if call is None or ask.client not in (None, call.client):
        return Refused("not_found", f"there is no call {ask.request_id!r}")
    unit = call.unit
    if unit.finished:
        return Refused("already_finished", f"the call {ask.request_id!r} has ended")
    children = [child.unit for child in hall.book.children(unit.id) if not child.unit.finished]
    ended = [each for each in (unit, *children) if _withdraw(hall, each)]
    for each in ended:
        hall.follow(each)
    return unit.state


def _withdraw(hall: Hall, unit: Unit) -> bool:
    """Whether the unit ended; if not, its holder is told to stop."""
    if unit.state is not State.HELD:
        hall.record(work.withdraw(unit))
        return True
    if not unit.cancelling:
        unit.cancelling = True
        hall.tell_to_stop(unit, unit.holder)
    return False
