"""Calls as clients submit them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

import msgspec

from hiringhall.domain.call import (
    CHILDREN_MAX,
    LANES_MAX,
    Dispatch,
    call_lane,
    is_eligible,
    policy_for,
    worker_lane,
)
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of
from hiringhall.ports.calls import Submit, Submitted
from hiringhall.storage.procedure import Context, Fetch, FetchMany, Many, Procedure, Row, Step
from hiringhall.storage.procedures.lanes import (
    CallLane,
    Candidate,
    find_candidates,
    find_lanes,
    lock_services,
    make_lane,
)
from hiringhall.storage.procedures.new_tasks import allocate
from hiringhall.storage.procedures.units import text_of
from hiringhall.storage.procedures.writing import write_tally

NEAREST_NAMES: Final = 5


@dataclass(slots=True)
class Plan:
    """What is to become of one ask that nothing speaks against so far."""

    ask: Submit
    lane: CallLane
    run_limit_ms: int | None
    children: Sequence[str] = ()  # workers

    @property
    def needs_worker(self) -> bool:
        """Whether it is refused if nobody is live."""
        return self.ask.fail_without_worker or self.lane.dispatch is Dispatch.BROADCAST


@dataclass(slots=True)
class Rows:
    """Rows to be inserted."""

    works: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    payloads: list[dict[str, Any]] = field(default_factory=list)
    submissions: list[dict[str, Any]] = field(default_factory=list)
    tally: Counter[tuple[int, str]] = field(default_factory=Counter)


def submit(context: Context, asks: Sequence[Submit]) -> Procedure:
    """Make each call, unless it is the repetition of an earlier one or cannot be served."""
    outcomes: list[Any] = yield from _earlier(asks)
    plans: dict[int, Plan] = {}
    fresh = [place for place, outcome in enumerate(outcomes) if outcome is None]
    if fresh:
        found = yield from _lay_out([asks[place] for place in fresh])
        for place, each in zip(fresh, found, strict=True):
            if isinstance(each, Refused):
                outcomes[place] = each
            else:
                plans[place] = each
    if plans:
        refused = yield from _place(context, plans)
        outcomes = [refused.get(place, outcome) for place, outcome in enumerate(outcomes)]
        accepted = [plan for place, plan in plans.items() if place not in refused]
        if accepted:
            yield from _make(context, accepted)
    return [
        Submitted(ask.request_id) if outcome is None else outcome for ask, outcome in zip(asks, outcomes, strict=True)
    ]


def _earlier(asks: Sequence[Submit]) -> Generator[Step, list[Row], list[Any]]:
    """For asks with a key that was used before, what to say."""
    outcomes: list[Any] = []
    for ask in asks:
        rows = (yield Fetch("find_submission", {"key": ask.key})) if ask.key is not None else []
        if not rows:
            outcomes.append(None)
        elif bytes(rows[0][0]) == ask.body:
            outcomes.append(Submitted(rows[0][1], repeated=True))
        else:
            outcomes.append(Refused("idempotency_key_reused", "this Idempotency-Key came with another body before"))
    return outcomes


# --- what the service says


@lru_cache(maxsize=1_000)
def _differing(methods: str) -> dict[str, Any]:
    """By method, what differs there from the rest of the service."""
    found: dict[str, Any] = msgspec.json.decode(methods)
    return found


def dispatch_of(dispatch: str, methods: str, method: str) -> Dispatch:
    """How a service has calls of a method dispatched, from the columns of the service."""
    return Dispatch(_differing(methods).get(method, {}).get("dispatch") or dispatch)


def _lay_out(asks: Sequence[Submit]) -> Generator[Step, list[Row], list[Plan | Refused]]:
    """By the words of its service, which lane each call is for."""
    pairs = sorted({(ask.service, ask.method) for ask in asks})
    rows = yield FetchMany(
        "find_terms",
        [{"ordinal": place, "service": service, "method": method} for place, (service, method) in enumerate(pairs)],
    )
    terms = {pairs[row[0]]: row for row in rows}
    found: list[Plan | Refused] = []
    for ask in asks:
        row = terms.get((ask.service, ask.method))
        if row is None:
            found.append(_unknown_service(ask))
            continue
        _, dispatch, methods, _, known, any_known = row
        if any_known and not known:
            found.append((yield from _unknown_method(ask)))
            continue
        chosen = ask.dispatch or dispatch_of(dispatch, methods, ask.method)
        limit_ms, seconds = ask.run_limit_ms, _differing(methods).get(ask.method, {}).get("run_limit_seconds")
        if limit_ms is None and seconds is not None:
            limit_ms = round(seconds * 1_000)
        key = call_lane(ask.service, ask.method, chosen, ask.requires)
        found.append(Plan(ask, CallLane(key, ask.service, ask.method, chosen, ask.requires), limit_ms))
    return found


def _unknown_service(ask: Submit) -> Refused:
    return Refused("unknown_service", f"there is no service {ask.service!r}")


def _unknown_method(ask: Submit) -> Generator[Step, list[Row], Refused]:
    rows = yield Fetch("find_method_names", {"service": ask.service})
    nearest = get_close_matches(ask.method, [row[0] for row in rows], NEAREST_NAMES)
    detail = f"no worker of the service {ask.service!r} ever registered a method {ask.method!r}"
    if nearest:
        detail += f"; the nearest names are {', '.join(map(repr, nearest))}"
    return Refused("unknown_method", detail, extra={"nearest": nearest})


# --- what stands in its way


def _place(context: Context, plans: Mapping[int, Plan]) -> Generator[Step, list[Row], dict[int, Refused]]:
    """Give each call the lane that it is for, or refuse it."""
    numbers = yield from find_lanes(plan.lane.key for plan in plans.values())
    paused: dict[str, bool] = {}
    missing = {plan.ask.service for plan in plans.values() if plan.lane.key not in numbers}
    if missing:
        paused = yield from lock_services(missing)
        numbers.update(
            (yield from find_lanes(plan.lane.key for plan in plans.values() if plan.lane.key not in numbers))
        )
        missing = {plan.ask.service for plan in plans.values() if plan.lane.key not in numbers}
    candidates = (yield from find_candidates(missing)) if missing else {}
    lanes = (yield from _lanes(missing)) if missing else Counter()
    live = yield from _live(plans.values(), numbers)
    queued = yield from _queues(plans.values())
    refused: dict[int, Refused] = {}
    for place, plan in plans.items():
        lane, there = plan.lane, candidates.get(plan.ask.service, ())
        lane.id = numbers.get(lane.key)
        if lane.id is None and plan.ask.service not in paused:
            refused[place] = _unknown_service(plan.ask)  # deleted since its words were read
            continue
        workers: Sequence[str] = ()
        if plan.needs_worker:
            workers = live.get(lane.id, ()) if lane.id is not None else list(_able(lane, there))
        complaint = _complaint(plan, workers, queued[plan.ask.service])
        if complaint is None and lane.id is None and lanes[lane.service] >= LANES_MAX:
            complaint = _too_many_lanes(lane.service)
        if complaint is not None:
            refused[place] = complaint
            continue
        if lane.id is None:
            lanes[lane.service] += 1
            numbers[lane.key] = yield from make_lane(context, lane, there, paused=paused[plan.ask.service])
            live[numbers[lane.key]] = list(_able(lane, there))
        if lane.dispatch is Dispatch.BROADCAST:
            plan.children = workers
        else:
            queued[plan.ask.service] += 1
    return refused


def _live(plans: Iterable[Plan], numbers: Mapping[str, int]) -> Generator[Step, list[Row], dict[int, list[str]]]:
    """The live workers that fit the lanes of calls that need somebody."""
    lanes = sorted({numbers[plan.lane.key] for plan in plans if plan.needs_worker and plan.lane.key in numbers})
    rows = (yield Fetch("find_live_fits", {"lanes": lanes})) if lanes else []
    found: dict[int, list[str]] = {}
    for lane, worker in rows:
        found.setdefault(lane, []).append(worker)
    return found


def _able(lane: CallLane, candidates: Iterable[Candidate]) -> Iterator[str]:
    """The live workers that will fit a lane which is not made yet."""
    return (
        each.worker for each in candidates if each.live and is_eligible(each.capabilities, lane.method, lane.requires)
    )


def _queues(plans: Iterable[Plan]) -> Generator[Step, list[Row], Counter[str]]:
    """How many calls of each service are ready."""
    rows = yield Fetch("count_queues", {"services": sorted({plan.ask.service for plan in plans})})
    return Counter({service: int(count) for service, count in rows})


def _lanes(services: Iterable[str]) -> Generator[Step, list[Row], Counter[str]]:
    """How many lanes of calls each service has."""
    rows = yield Fetch("count_call_lanes", {"services": sorted(services)})
    return Counter({service: int(count) for service, count in rows})


def _too_many_lanes(service: str) -> Refused:
    return Refused(
        "queue_full",
        f"the service {service!r} has calls with {LANES_MAX} combinations of method, dispatch and requirements now; "
        "each counts as long as calls of it are kept, and an hour: what differs from call to call belongs into params",
    )


def _complaint(plan: Plan, workers: Sequence[str], queued: int) -> Refused | None:
    ask = plan.ask
    if plan.needs_worker and not workers:
        return Refused("no_worker", f"no worker is live that can do {ask.service}/{ask.method} as it is required")
    if plan.lane.dispatch is Dispatch.BROADCAST and len(workers) > CHILDREN_MAX:
        detail = f"dispatch: a broadcast reaches {CHILDREN_MAX} workers at most, and {len(workers)} are live"
        return Refused("validation_error", detail)
    if queued >= ask.queue_limit:
        return Refused("queue_full", f"{queued} calls of the service {ask.service!r} wait for workers already")
    return None


# --- the rows


def _make(context: Context, plans: Sequence[Plan]) -> Generator[Step, list[Row], None]:
    """Make the units of calls. One of a broadcast comes after its children, so that locks are taken in one order."""
    own = yield from find_lanes(worker_lane(worker) for plan in plans for worker in plan.children)
    numbers = iter((yield from allocate(sum(1 + len(plan.children) for plan in plans))))
    rows = Rows()
    for plan in plans:
        children = [(worker, next(numbers)) for worker in plan.children]
        parent, lane = next(numbers), plan.lane.id
        assert lane is not None
        for order, (worker, number) in enumerate(children, start=1):
            lane_key = worker_lane(worker)
            request_id = f"{plan.ask.request_id}.{order}"
            _add(context, rows, plan, request_id, number, own[lane_key], State.READY, parent=parent, child_of=worker)
            context.ring(topic_of(lane_key))
        state = State.WAITING if children else State.READY
        _add(context, rows, plan, plan.ask.request_id, parent, lane, state, waiting_on=len(children))
        if not children:
            context.ring(topic_of(plan.lane.key))
        rows.payloads.append({"work": parent, "params": plan.ask.params})
        if plan.ask.key is not None:
            rows.submissions.append(
                {
                    "key": plan.ask.key, "body": plan.ask.body or b"", "work": parent,
                    "request_id": plan.ask.request_id, "at": context.now,
                }
            )  # fmt: skip
    yield Many("insert_work", rows.works)
    yield Many("insert_request", rows.requests)
    yield Many("insert_payload", rows.payloads)
    yield from write_tally(rows.tally)
    if rows.submissions:
        yield Many("insert_submission", rows.submissions)


def _add(
    context: Context, rows: Rows, plan: Plan, request_id: str, number: int, lane: int, state: State, *,
    waiting_on: int = 0, parent: int | None = None, child_of: str | None = None,
) -> None:  # fmt: skip
    ask = plan.ask
    rows.tally[lane, state] += 1
    rows.works.append(
        {"id": number, "lane": lane, "state": state, "priority": -ask.priority, "seq": number, "waiting_on": waiting_on}
    )
    rows.requests.append(
        {
            "work": number, "request_id": request_id, "client": ask.client, "service": ask.service,
            "method": ask.method, "dispatch": plan.lane.dispatch.value, "lane": lane,
            "policy": text_of(policy_for(ask.retries, plan.run_limit_ms)),
            "deadline_at": context.now + ask.deadline_ms, "parent": parent, "child_of": child_of,
            "made_at": context.now, "traceparent": ask.traceparent,
        }
    )  # fmt: skip
