"""Lanes of services: who fits them, who is live, and lanes that are made when the first call or worker needs them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

import msgspec

from hiringhall.domain.call import (
    READY_COUNTED_MAX,
    Capabilities,
    Dispatch,
    Requires,
    is_eligible,
    requires_text,
    worker_lane,
)
from hiringhall.domain.topics import topic_of, topic_of_service
from hiringhall.storage.procedure import Context, Fetch, Many, Row, Step
from hiringhall.storage.procedures.standing import capabilities_from


class CallLane(msgspec.Struct):
    """A lane of calls. `id` is None while it is not made yet."""

    key: str
    service: str
    method: str
    dispatch: Dispatch
    requires: Requires
    id: int | None = None


class Candidate(msgspec.Struct, frozen=True):
    """A worker of a service. `live`: it may be given something new."""

    worker: str
    capabilities: Capabilities
    live: bool


def find_lanes(keys: Iterable[str]) -> Generator[Step, list[Row], dict[str, int]]:
    """The numbers of the lanes that there are, by key. On PostgreSQL they stay until the transaction ends."""
    wanted = sorted(set(keys))
    rows = (yield Fetch("find_call_lanes", {"keys": wanted})) if wanted else []
    return {row[0]: row[1] for row in rows}


def lock_services(services: Iterable[str]) -> Generator[Step, list[Row], dict[str, bool]]:
    """Of the services that there are, whether each is paused. On PostgreSQL one transaction at a time changes the lanes
    or the workers of a service, so that whoever comes to a lane or to a service is seen by the other."""
    rows = yield Fetch("lock_services", {"services": sorted(set(services))})
    return {row[0]: bool(row[1]) for row in rows}


def find_candidates(services: Iterable[str]) -> Generator[Step, list[Row], dict[str, list[Candidate]]]:
    """The workers of some services, by key."""
    rows = yield Fetch("find_service_workers", {"services": sorted(set(services))})
    found: dict[str, list[Candidate]] = {}
    for service, worker, capabilities, live in rows:
        found.setdefault(service, []).append(Candidate(worker, capabilities_from(capabilities), bool(live)))
    return found


def make_lane(
    context: Context, lane: CallLane, candidates: Sequence[Candidate], *, paused: bool
) -> Generator[Step, list[Row], int]:
    """Make a lane of calls; whoever may be given its calls fits it from now on."""
    rows = yield Fetch(
        "insert_call_lane",
        {
            "key": lane.key, "paused": int(paused), "service": lane.service, "method": lane.method,
            "dispatch": lane.dispatch.value, "requires": requires_text(lane.requires), "now": context.now,
        },
    )  # fmt: skip
    number: int = rows[0][0]
    lane.id = number
    fitting = [each for each in candidates if is_eligible(each.capabilities, lane.method, lane.requires)]
    if fitting:
        yield Many("insert_fit", [{"worker": each.worker, "lane": number} for each in fitting])
    context.ring(topic_of_service(lane.service))
    return number


def make_own_lane(context: Context, worker: str, service: str, *, paused: bool) -> Generator[Step, list[Row], int]:
    """The number of a worker's own lane, which is made if there is none."""
    key = worker_lane(worker)
    found = yield from find_lanes([key])
    if key in found:
        return found[key]
    rows = yield Fetch(
        "insert_call_lane",
        {
            "key": key, "paused": int(paused), "service": service, "method": None, "dispatch": None, "requires": None,
            "now": context.now,
        },
    )  # fmt: skip
    context.ring(topic_of_service(service))
    number: int = rows[0][0]
    return number


def pause_lanes(context: Context, service: str, *, paused: bool) -> Generator[Step, list[Row], None]:
    """Stop or go on handing out what is in the lanes of a service."""
    rows = yield Fetch("pause_lanes", {"service": service, "paused": int(paused), "limit": READY_COUNTED_MAX})
    for key, ready in rows:
        if ready and not paused:
            context.ring(topic_of(key), ready)
