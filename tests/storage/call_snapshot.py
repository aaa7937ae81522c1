"""A picture of everything about service calls in a database, by names instead of ids, equal to the oracle's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from hiringhall.domain.call import Capabilities
from hiringhall.domain.work import Unit
from hiringhall.ports.calls import Feedback
from hiringhall.ports.questions import ReadHistory
from hiringhall.ports.store import Store
from hiringhall.storage.procedures.units import unit_from

Rows: TypeAlias = Callable[[str], Awaitable[list[tuple[Any, ...]]]]

CALLS = """
SELECT w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version,
    w.started, w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause,
    r.policy, w.cancelling, r.deadline_at, r.parent, r.child_of, r.client, r.service, r.method, r.dispatch,
    y.params, r.made_at, r.traceparent, r.feedback_count, r.avoid_until
FROM request AS r
JOIN work AS w ON w.id = r.work
LEFT JOIN payload AS y ON y.work = coalesce(r.parent, r.work)
LEFT JOIN lane AS l ON l.id = w.lane
"""
RESULTS = "SELECT work, answer, result, error_text, worker, key, body, at FROM result"
FEEDBACK = "SELECT work, number, st, sn, ft, pr, fc, at, worker FROM feedback"
OFFERS = "SELECT worker, work, offered_at FROM offer"
LANES = "SELECT key, service, paused FROM lane WHERE service IS NOT NULL"
FITS = "SELECT f.worker, l.key FROM fit AS f JOIN lane AS l ON l.id = f.lane"
SERVICE_WORKERS = """
SELECT worker, service, worker_id, run_mode, capabilities, incarnation, leaving, ip, port, source, forwarded, version,
    trace
FROM service_worker
"""
SUBMISSIONS = "SELECT key, body, request_id, at FROM submission"
TALLIES = """
SELECT l.key, t.state, sum(t.n) FROM tally AS t JOIN lane AS l ON l.id = t.lane
WHERE l.service IS NOT NULL GROUP BY l.key, t.state
"""


async def take_call_snapshot(store: Store, rows: Rows, *, histories: bool = True) -> dict[str, Any]:
    """Read everything about calls; their histories are asked of the port, one question for each."""
    calls = {row[0]: row for row in await rows(CALLS)}
    names = {id_: row[3] for id_, row in calls.items()}
    return {
        "requests": {names[id_]: _members(row, names) for id_, row in calls.items()},
        "results": {names[row[0]]: _outcome(row) for row in await rows(RESULTS)},
        "feedback": {(names[row[0]], row[1]): _item(row, names) for row in await rows(FEEDBACK)},
        "offers": {(row[0], names[row[1]]): row[2] for row in await rows(OFFERS)},
        "lanes": {row[0]: (row[1], bool(row[2])) for row in await rows(LANES)},
        "fits": {(row[0], row[1]) for row in await rows(FITS)},
        "service_workers": {row[0]: _worker(row) for row in await rows(SERVICE_WORKERS)},
        "methods": {(row[0], row[1]) for row in await rows("SELECT service, method FROM service_method")},
        "submissions": {bytes(row[0]): (bytes(row[1]), row[2], row[3]) for row in await rows(SUBMISSIONS)},
        "sessions": {
            row[0]: (row[1], row[2] is not None)
            for row in await rows("SELECT sid, incarnation, ended_at FROM session WHERE role = 'worker'")
        },
        "call_tallies": await _tallies(rows),
        "call_histories": {name: await store.read(ReadHistory(id_)) for id_, name in names.items() if histories},
        "expired_until": (await rows("SELECT expired_until FROM hall"))[0][0],
    }


async def _tallies(rows: Rows) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for key, state, n in await rows(TALLIES):
        if n:
            found.setdefault(key, {})[state] = int(n)
    return found


def _members(row: tuple[Any, ...], names: dict[int, str]) -> dict[str, Any]:
    unit = unit_from(row)
    left_out = {"id", "lane", "lane_key", "name", "seq", "parent", "cancelling", "deadline_at"}
    members = {name: getattr(unit, name) for name in Unit.__struct_fields__ if name not in left_out}
    return {
        **members,
        "cancelling": bool(row[20]),
        "deadline_at": row[21],
        "lane": unit.lane_key,
        "parent": names.get(row[22]),
        "child_of": row[23],
        "client": row[24],
        "service": row[25],
        "method": row[26],
        "dispatch": row[27],
        "params": _bytes(row[28]),
        "made_at": row[29],
        "traceparent": row[30],
        "feedback_count": row[31],
        "avoid_until": row[32],
    }


def _outcome(row: tuple[Any, ...]) -> tuple[Any, ...]:
    _, answer, result, error_text, worker, key, body, at = row
    error = None if error_text is None else json.loads(error_text)
    return (answer, _bytes(result), error, worker, _bytes(key), _bytes(body), at)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _item(row: tuple[Any, ...], names: dict[int, str]) -> tuple[Any, ...]:
    work, _, st, sn, ft, pr, fc, at, worker = row
    return Feedback(names[work], st, json.loads(sn), bytes(ft), bool(pr), bytes(fc)), at, worker


def _worker(row: tuple[Any, ...]) -> tuple[Any, ...]:
    capabilities = msgspec.json.decode(row[4], type=Capabilities)
    return (
        row[1], row[2], row[3], capabilities, row[5], bool(row[6]), row[7], row[8], row[9], bool(row[10]), row[11],
        bool(row[12]),
    )  # fmt: skip
