"""What only the published 4.7 clients ask for: the plan, whether workers are paused, and the events of a task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from hiringhall.domain.names import worker_id_of
from hiringhall.domain.refusals import Refused
from hiringhall.operations.presence import Known
from hiringhall.ports.asks import TaskView
from hiringhall.ports.questions import FindPlan, FindTasks, HistoryLine, ListTasks, PlanView, ReadHistory, TaskRow
from hiringhall.wire.hot_call import json_of, part
from hiringhall.wire.plans.call import Call, WorkerCall
from hiringhall.wire.plans.codec import plan_in_brief, plan_in_full

PAGE: Final = 1_000
NOT_PAUSED: Final = b'{"paused":false,"updated_at":"1970-01-01T00:00:00.000+00:00"}'
PUBLISHED_EVENTS: Final = {"submit": "task.created", "hold": "CLAIM"}


class EventBody(msgspec.Struct):
    """`POST /tasks/{task_id}/events`"""

    worker_id: str
    event_type: str


event_decoder = msgspec.json.Decoder(EventBody).decode
_running: set[asyncio.Task[None]] = set()


def _run(call: Call, work: Coroutine[Any, Any, None]) -> None:
    async def guarded() -> None:
        try:
            await work
        except Exception as failure:  # noqa: BLE001 - it is answered
            call.failed(failure)

    task = call.hall.loop.create_task(guarded())
    _running.add(task)
    task.add_done_callback(_running.discard)


class PlanCall(WorkerCall):
    """`GET /api/v1/plans/{plan_id}`: in full for workers, else only what it is called."""

    __slots__ = ()

    def start(self) -> None:
        bearer = self.hall.tokens.bearer(self.headers.get(b"authorization"))
        if bearer.is_worker or bearer.is_operator or bearer.complaint:
            self._show(in_full=not bearer.complaint)
        else:
            self.hall.presence.find_by_token(bearer.hash, self._found)

    def _found(self, known: Known | Exception | None) -> None:
        self._show(in_full=isinstance(known, Known))

    def _show(self, *, in_full: bool) -> None:
        plan = part(self.exchange.request.path.split(b"/")[-1], "plan_id")
        if isinstance(plan, Refused):
            self.refuse(plan)
        else:
            _run(self, self._read(plan, in_full=in_full))

    async def _read(self, plan_id: str, *, in_full: bool) -> None:
        plan: PlanView | None = await self.hall.store.read(FindPlan(plan_id))
        if plan is None:
            self.refuse(Refused("not_found", "there is no such plan"))
            return
        if not in_full:
            self.answer(plan_in_brief(plan))
            return
        tasks: list[str] = []
        after = (-1, 0)
        while True:
            page: list[TaskRow] = await self.hall.store.read(ListTasks(plan_id, after, PAGE))
            tasks += [self.codec.task(row.view) for row in page]
            if len(page) < PAGE:
                break
            after = (page[-1].seq, page[-1].view.work)
        self.answer(plan_in_full(plan, tasks))


class ControlStateCall(WorkerCall):
    """`GET /workers/control-state`: never paused.

    The hall itself hands nothing to a worker that an operator has quieted. A client that hears that it is paused gives
    back whatever it holds, also what its agent has just finished.
    """

    __slots__ = ()

    def admitted(self) -> None:
        self.answer(NOT_PAUSED)


class ReportEventCall(WorkerCall):
    """`POST /tasks/{task_id}/events`: diagnostic events are understood, but the hall keeps its own audit log only."""

    __slots__ = ()

    decoder = event_decoder

    def said(self, body: EventBody) -> None:
        self.identify(body.worker_id)

    def identified(self) -> None:
        self.answer(b'{"ok":false}')


class EventsCall(WorkerCall):
    """`GET /tasks/{task_id}/events`: the audit log of the task of that id; empty if there is none, or several.

    `event_prefix` in the query chooses those events whose type begins so.
    """

    __slots__ = ()

    def admitted(self) -> None:
        task_id = part(self.exchange.request.path.split(b"/")[-2], "task_id")
        if isinstance(task_id, Refused):
            self.refuse(task_id)
        else:
            _run(self, self._read(task_id))

    async def _read(self, task_id: str) -> None:
        rows: list[TaskRow] = await self.hall.store.read(FindTasks(task_id))
        lines = await self.hall.store.read(ReadHistory(rows[0].view.work)) if len(rows) == 1 else []
        events = [_event(rows[0].view, number, line) for number, line in enumerate(lines, 1)]
        asked = parse_qs(self.exchange.request.query.decode("utf-8", "replace"))
        prefix = asked.get("event_prefix", [""])[0]
        self.answer(json_of({"events": [event for event in events if event["event_type"].startswith(prefix)]}))


def _event(task: TaskView, number: int, line: HistoryLine) -> dict[str, Any]:
    worker = None if line.worker is None else worker_id_of(line.worker)
    return {
        "id": number,
        "task_id": task.task_id,
        "plan_id": task.plan,
        "event_type": PUBLISHED_EVENTS.get(line.move, line.move.upper()),
        "created_at": datetime.fromtimestamp(line.at / 1000, UTC).isoformat(timespec="milliseconds"),
        "payload": {"version": line.version, "worker_id": worker, "cause": line.cause, "reason": line.reason},
    }
