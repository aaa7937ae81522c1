"""Operators' routes about single calls: look at one, and steer it.

What a call was asked and what it answered may be secret, so that it is shown only on request, with `?payload=true`.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from starlette.responses import Response

from hiringhall.domain.lifecycle import Move
from hiringhall.domain.names import worker_id_of
from hiringhall.domain.refusals import Refused
from hiringhall.operations.call_story import tell_call
from hiringhall.operations.hall import Hall
from hiringhall.operations.invoke import pending_status
from hiringhall.ports.asks import Steer
from hiringhall.ports.calls import FindRequests, RequestView
from hiringhall.ports.questions import HistoryLine, ReadHistory
from hiringhall.wire.operators.answers import Stop, json_answer, rfc3339
from hiringhall.wire.operators.call_structs import CallInDetail, SteeredAnswer, WorkAnswer
from hiringhall.wire.operators.vocabulary import history_entry

OF_A_CALL: Final = "r-"
MADE_HERE: Final = re.compile(OF_A_CALL + r"[A-Za-z0-9_-]{22}(\.[0-9]{1,9})?").fullmatch
"""The form of request ids, those of a broadcast's parts included: other ids are those of tasks."""


async def call_by_id(hall: Hall, identity: str) -> RequestView | None:
    """The call of this request id, None if there is none."""
    if not MADE_HERE(identity):
        return None
    views: list[RequestView] = await hall.store.read(FindRequests((identity,)))
    return views[0] if views else None


async def shown_call(hall: Hall, view: RequestView, *, payload: bool) -> Response:
    """State and history of a call."""
    history: list[HistoryLine] = await hall.store.read(ReadHistory(view.work))
    lines = [history_entry(line) for line in history]
    return json_answer(WorkAnswer(call_in_detail(view, payload=payload), lines, tell_call(view, history)))


async def steer_call(hall: Hall, view: RequestView, move: Move) -> Response:
    """One verb on a call."""
    outcome = await hall.coalescer.one(Steer("", view.request_id, move, work=view.work))
    if isinstance(outcome, Refused):
        raise Stop(outcome.code, outcome.detail, **outcome.extra)
    views: list[RequestView] = await hall.store.read(FindRequests((view.request_id,)))
    if not views:
        raise Stop("not_found", f"request {view.request_id!r} is kept no longer")
    return json_answer(SteeredAnswer(call=call_in_detail(views[0], payload=False)))


def call_in_detail(view: RequestView, *, payload: bool) -> CallInDetail:
    """A call as operators see it."""
    result: Any = msgspec.UNSET
    if payload:
        result = None if view.result is None else msgspec.Raw(view.result)
    return CallInDetail(
        work=view.work,
        request_id=view.request_id,
        client=view.client,
        service=view.service,
        method=view.method,
        dispatch=view.dispatch.value,
        status=view.answer.value if view.answer is not None else pending_status(view),  # type: ignore[arg-type]
        state=view.state,
        version=view.version,
        priority=view.priority,
        worker_id=_worker_id(view.holder),
        last_worker_id=_worker_id(view.last_holder),
        attempts=view.attempts,
        abandoned=view.abandoned,
        retry_at=_time(view.retry_at),
        feedback_count=view.feedback_count,
        created_at=rfc3339(view.made_at),
        started_at=_time(view.first_handed_at),
        finished_at=_time(view.finished_at),
        deadline_at=rfc3339(view.deadline_at),
        error_text=view.error_text,
        result_bytes=None if view.result is None else len(view.result),
        result=result,
    )


def _worker_id(key: str | None) -> str | None:
    return None if key is None else worker_id_of(key)


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
