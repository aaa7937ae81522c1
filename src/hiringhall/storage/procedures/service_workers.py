"""Service workers: each start is a new incarnation; a goodbye, or being forgotten, returns what they were offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from hiringhall.domain import work
from hiringhall.domain.call import is_eligible, requires_from, worker_lane
from hiringhall.domain.lease import Cause
from hiringhall.domain.lifecycle import State
from hiringhall.domain.refusals import Refused
from hiringhall.domain.topics import topic_of, topic_of_service, topic_of_worker
from hiringhall.ports.calls import Goodbye, Registered, RegisterServiceWorker
from hiringhall.storage.procedure import Context, Fetch, Many, Procedure, Row, Step
from hiringhall.storage.procedures.give_back import take_back
from hiringhall.storage.procedures.lanes import lock_services, make_own_lane
from hiringhall.storage.procedures.standing import SUPERSEDED, find_standings
from hiringhall.storage.procedures.units import Changes, lock_units
from hiringhall.storage.procedures.writing import write


def register(context: Context, asks: Sequence[RegisterServiceWorker]) -> Procedure:
    """Begin a new incarnation of each worker."""
    outcomes = []
    for ask in asks:
        outcome = yield from _register(context, ask)
        outcomes.append(outcome)
    return outcomes


def _register(context: Context, ask: RegisterServiceWorker) -> Generator[Step, list[Row], Registered | Refused]:
    services = yield from lock_services([ask.service])
    if ask.service not in services:
        return Refused("unknown_service", f"there is no service {ask.service!r}")
    rows = yield Fetch("find_incarnation", {"worker": ask.worker})
    before: int = rows[0][0] if rows else 0
    bound = yield Fetch(
        "bind_session",
        {
            "session": ask.session, "incarnation": before + 1, "before": before,
            "service": ask.service, "worker_id": ask.worker_id,
        },
    )  # fmt: skip
    if not bound:
        return SUPERSEDED
    yield from _admit(context, ask, before + 1)
    holds = yield Fetch("find_holds", {"workers": [ask.worker]})
    yield from return_holds(context, ask.worker, (row[0] for row in holds), Cause.WORKER_RESTARTED)
    yield Fetch("delete_offers_to", {"worker": ask.worker})
    yield Many("delete_directives", [{"worker": ask.worker}])  # what the one before was to stop, this one never had
    yield from _renew_fits(context, ask, paused=services[ask.service])
    context.ring(topic_of_worker(ask.worker))
    context.ring(topic_of_service(ask.service))
    return Registered(before + 1)


def _admit(context: Context, ask: RegisterServiceWorker, incarnation: int) -> Generator[Step, list[Row], None]:
    yield Many(
        "upsert_service_worker",
        [
            {
                "worker": ask.worker, "service": ask.service, "worker_id": ask.worker_id, "run_mode": ask.run_mode,
                "capabilities": msgspec.json.encode(ask.capabilities).decode(), "incarnation": incarnation,
                "ip": ask.ip, "port": ask.port, "source": ask.source, "forwarded": int(ask.forwarded),
                "version": ask.version, "trace": int(ask.trace),
            }
        ],
    )  # fmt: skip
    made = yield Fetch("insert_worker", {"key": ask.worker, "hostname": '""', "token_hash": None, "now": context.now})
    if not made:
        yield Fetch("direct_worker", {"key": ask.worker, "quiet": None, "terminate": 0})
    yield Many("revive_pulse", [{"worker": ask.worker, "last_seen": context.now}])


def _renew_fits(context: Context, ask: RegisterServiceWorker, *, paused: bool) -> Generator[Step, list[Row], None]:
    """Which lanes the worker may be given calls of: those of its service that it is eligible for, and its own."""
    yield Many("delete_fits", [{"worker": ask.worker}])
    rows = yield Fetch("find_lanes_of_service", {"service": ask.service})
    lanes = [id_ for id_, method, requires in rows if is_eligible(ask.capabilities, method, requires_from(requires))]
    lanes.append((yield from make_own_lane(context, ask.worker, ask.service, paused=paused)))
    yield Many("insert_fit", [{"worker": ask.worker, "lane": lane} for lane in sorted(lanes)])
    methods = sorted(set(ask.capabilities.methods))
    if methods:
        yield Many("insert_method", [{"service": ask.service, "method": method} for method in methods])


def return_holds(context: Context, worker: str, ids: Iterable[int], cause: Cause) -> Generator[Step, list[Row], int]:
    """Take back units that a worker holds; return how many."""
    units = yield from lock_units(ids)
    changes = Changes()
    for unit in units.values():
        if unit.holder == worker and unit.state is State.HELD:
            take_back(changes, unit, cause)
    yield from write(context, changes)
    return len(changes.events)


def goodbye(context: Context, asks: Sequence[Goodbye]) -> Procedure:
    """Give the workers nothing new; what they have not locked, and what they name as unstarted, returns."""
    standings = yield from find_standings((ask.worker, ask.session) for ask in asks)
    outcomes: list[Any] = []
    for ask in asks:
        standing = standings[ask.worker, ask.session]
        if isinstance(standing, Refused):
            outcomes.append(standing)
            continue
        yield Many("set_leaving", [{"worker": ask.worker}])
        holds = yield Fetch("find_holds", {"workers": [ask.worker]})
        units = yield from lock_units(row[0] for row in holds)
        changes = Changes()
        for unit in units.values():
            if unit.holder == ask.worker and unit.state is State.HELD and unit.name in ask.unstarted and not unit.plan:
                take_back(changes, unit, Cause.SHUTDOWN)
        yield from write(context, changes)
        returned = len(changes.events) + (yield from return_offers(context, ask.worker))
        yield from lose_children(context, [ask.worker])
        context.ring(topic_of_worker(ask.worker))
        outcomes.append(returned)
    return outcomes


def return_offers(context: Context, worker: str) -> Generator[Step, list[Row], int]:
    """Forget what a worker was offered; ring for what is ready, so that others are asked. Return how many those are."""
    since = context.now - context.terms.visibility_timeout_ms
    rows = yield Fetch("delete_offers_to", {"worker": worker})
    lately = [work_id for work_id, offered_at in rows if offered_at > since]
    ready = (yield Fetch("find_ready_keys", {"ids": sorted(lately)})) if lately else []
    for key, count in Counter(row[0] for row in ready).items():
        context.ring(topic_of(key), count)
    return len(ready)


def lose_children(context: Context, workers: Sequence[str]) -> Generator[Step, list[Row], int]:
    """End what waits in the own lanes of workers that will not come for it; return how many units."""
    rows = yield Fetch("find_own_children", {"keys": sorted(worker_lane(worker) for worker in workers)})
    units = yield from lock_units(row[0] for row in rows)
    changes = Changes()
    for unit in units.values():
        if not unit.finished and unit.state is not State.HELD:
            before = unit.counted_as
            changes.note(before, unit, work.lose_worker(unit))
    yield from write(context, changes)
    return len(changes.events)


def forget_service_worker(context: Context, worker: str) -> Generator[Step, list[Row], None]:
    """Forget what is known of a service worker beyond what any worker has; what waited for it alone is lost."""
    yield from return_offers(context, worker)
    yield from lose_children(context, [worker])
    yield Many("delete_fits", [{"worker": worker}])
    rows = yield Fetch("delete_service_worker", {"worker": worker})
    for service, _ in rows:
        context.ring(topic_of_service(service))
