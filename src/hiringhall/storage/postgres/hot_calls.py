"""Submit, drain and respond as single statements: one round trip where the procedures need many.

They do what the procedures do, for the asks that are usual; what they do not cover is left to the procedures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from hiringhall.domain.announcement import rings_of_lanes
from hiringhall.domain.call import (
    INEXACT,
    MESSAGE_BYTES_MAX,
    MESSAGES_MAX,
    READY_COUNTED_MAX,
    Answer,
    Dispatch,
    call_lane,
    policy_for,
)
from hiringhall.domain.lease import Terms
from hiringhall.domain.lifecycle import State
from hiringhall.domain.topics import topic_of_request
from hiringhall.ports.calls import Drain, Drained, Message, Respond, Responded, Submit, Submitted
from hiringhall.ports.store import Committed
from hiringhall.storage.postgres.connection import Connection
from hiringhall.storage.postgres.runner import Runner
from hiringhall.storage.procedure import Fetch
from hiringhall.storage.procedures.units import text_of


def submittable(asks: Sequence[Submit]) -> int:
    """How many of the asks, from the first on, may be tried: those without a key that need no worker to be live."""
    return sum(1 for _ in takewhile(_is_usual, asks))


def _is_usual(ask: Submit) -> bool:
    return ask.key is None and not ask.fail_without_worker and ask.dispatch is not Dispatch.BROADCAST


async def submit_at_once(
    runner: Runner, connection: Connection, asks: Sequence[Submit], now: int | None, origin: str
) -> Committed:
    """Make calls, in autocommit, up to the first that is not usual. The outcome of those left over is None."""
    rows = await runner.carry_out(
        connection,
        Fetch(
            "submit",
            {
                "now": now,
                "origin": origin,
                "ordinal": list(range(len(asks))),
                "request_id": [ask.request_id for ask in asks],
                "client": [ask.client for ask in asks],
                "service": [ask.service for ask in asks],
                "method": [ask.method for ask in asks],
                "dispatch": [None if ask.dispatch is None else ask.dispatch.value for ask in asks],
                "exclusive": [_lane(ask, Dispatch.EXCLUSIVE) for ask in asks],
                "race": [_lane(ask, Dispatch.RACE) for ask in asks],
                "policy": [text_of(policy_for(ask.retries, ask.run_limit_ms)) for ask in asks],
                "priority": [-ask.priority for ask in asks],
                "deadline_ms": [ask.deadline_ms for ask in asks],
                "params": [ask.params for ask in asks],
                "traceparent": [ask.traceparent for ask in asks],
                "queue_limit": [ask.queue_limit for ask in asks],
            },
        ),
    )
    outcomes: list[Any] = [None] * len(asks)
    for ordinal, _ in rows:
        outcomes[ordinal] = Submitted(asks[ordinal].request_id)
    return Committed(outcomes, rings_of_lanes(json.loads(rows[0][1])) if rows else {})


def _lane(ask: Submit, dispatch: Dispatch) -> str:
    return call_lane(ask.service, ask.method, dispatch, ask.requires)


def may_respond_at_once(ask: Respond) -> bool:
    """Whether the answer may be tried: a success."""
    return ask.answer is Answer.SUCCESS


async def respond_at_once(
    runner: Runner, connection: Connection, asks: Sequence[Respond], now: int | None, origin: str
) -> Committed:
    """Accept answers, in autocommit. The outcome is None for an ask that matches no call in the usual way."""
    topics = [topic_of_request(ask.request_id) for ask in asks]
    rows = await runner.carry_out(
        connection,
        Fetch(
            "respond",
            {
                "now": now,
                "origin": origin,
                "ordinal": list(range(len(asks))),
                "worker": [ask.worker for ask in asks],
                "session": [ask.session for ask in asks],
                "service": [ask.service for ask in asks],
                "name": [ask.request_id for ask in asks],
                "topic": topics,
                "result": [ask.result for ask in asks],
                "key": [ask.key for ask in asks],
                "body": [ask.body for ask in asks],
            },
        ),
    )
    outcomes: list[Any] = [None] * len(asks)
    for ordinal, work, _ in rows:
        outcomes[ordinal] = Responded(work, State.DONE)
    return Committed(outcomes, {topics[row[0]]: 1 for row in rows})


async def drain_at_once(
    runner: Runner, connection: Connection, ask: Drain, now: int | None, terms: Terms
) -> Committed | None:
    """Hand one worker its share, in autocommit; None if it has to go the ordinary way."""
    rows = await runner.carry_out(
        connection,
        Fetch(
            "drain",
            {
                "now": now,
                "worker": ask.worker,
                "session": ask.session,
                "limit": min(ask.limit, MESSAGES_MAX),
                "limited": ask.limited,
                "run_limit_ms": terms.call_run_limit_ms,
                "counted_max": READY_COUNTED_MAX,
                "inexact": INEXACT,
                "bytes_max": MESSAGE_BYTES_MAX,
            },
        ),
    )
    stands, raced, more = rows[0][:3]
    if not stands or raced:
        return None
    messages = tuple(
        Message(work, request_id, method, False, params, version, traceparent)
        for _, _, _, work, request_id, method, params, version, traceparent in rows
        if work is not None
    )
    return Committed([Drained(messages, drained=not more)])
