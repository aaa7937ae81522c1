"""Operators' routes about single units of work: look at one, and steer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.lifecycle import Move
from hiringhall.domain.names import complaint_about
from hiringhall.domain.plan import PRIORITIES
from hiringhall.operations.hall import Hall
from hiringhall.operations.story import tell
from hiringhall.ports.asks import Steer, TaskView
from hiringhall.ports.calls import RequestView
from hiringhall.ports.questions import FindPlan, FindTasks, HistoryLine, PlanView, ReadHistory, TaskRow
from hiringhall.wire.operators.answers import Stop, agreed, json_answer
from hiringhall.wire.operators.calls import OF_A_CALL, call_by_id, shown_call, steer_call
from hiringhall.wire.operators.parameters import Query, decode_json, invalid, path_id, read_body, refuse_multipart
from hiringhall.wire.operators.vocabulary import history_entry, task_of_view, unit_of_row

SWITCHES: Final[dict[Move, tuple[str, ...]]] = {Move.SKIP: ("force",), Move.RESET: ("cascade",)}
"""The parameters that a verb knows."""


def steer_task(move: Move) -> Callable[[Hall, Request], Awaitable[Response]]:
    """The route of one verb on the task of a plan."""

    async def endpoint(hall: Hall, request: Request) -> Response:
        plan_id, task_id = path_id(request, "plan_id"), path_id(request, "task_id")
        return await _steer(hall, request, move, plan_id, task_id)

    return endpoint


def steer_work(move: Move) -> Callable[[Hall, Request], Awaitable[Response]]:
    """The route of one verb on a unit of work."""

    async def endpoint(hall: Hall, request: Request) -> Response:
        unit = await _unit(hall, path_id(request, "work_id"))
        if isinstance(unit, RequestView):
            Query(request, ())
            return await steer_call(hall, unit, move)
        return await _steer(hall, request, move, unit.view.plan, unit.view.task_id)

    return endpoint


async def _steer(hall: Hall, request: Request, move: Move, plan_id: str, task_id: str) -> Response:
    query = Query(request, SWITCHES.get(move, ()))
    priority = await _priority(request) if move is Move.REPRIORITISE else None
    ask = Steer(plan_id, task_id, move, force=query.yes("force"), cascade=query.yes("cascade"), priority=priority)
    view: TaskView = agreed(await hall.coalescer.one(ask))
    return json_answer({"task": task_of_view(view)})


async def _priority(request: Request) -> int:
    refuse_multipart(request)
    members = decode_json(await read_body(request))
    name = members.get("priority") if isinstance(members, dict) else None
    if not isinstance(name, str) or name not in PRIORITIES:
        raise invalid("priority", f'must be one of {", ".join(PRIORITIES)}, in a body like {{"priority": "high"}}')
    return PRIORITIES[name]


async def show_work(hall: Hall, request: Request) -> Response:
    """State and history of the unit with this id."""
    query = Query(request, ("payload",))
    return await _shown(hall, await _unit(hall, path_id(request, "work_id")), payload=query.yes("payload"))


async def find_work(hall: Hall, request: Request) -> Response:
    """State and history of the unit named by `id` (`PLAN/TASK`, a task of only one plan, or a call) or by `plan`,
    `task`."""
    query = Query(request, ("id", "plan", "task", "payload"))
    identity, plan_id, task_id = query.text("id"), query.identifier("plan"), query.identifier("task")
    if identity is not None:
        if plan_id is not None or task_id is not None:
            raise invalid("id", "stands for plan and task, so give either id or those")
        return await _shown(hall, await _unit(hall, identity), payload=query.yes("payload"))
    if task_id is None:
        raise invalid("id" if plan_id is None else "task", "is missing")
    return await _shown(hall, await _only_one(hall, task_id, plan_id), payload=query.yes("payload"))


async def _shown(hall: Hall, row: TaskRow | RequestView, *, payload: bool) -> Response:
    if isinstance(row, RequestView):
        return await shown_call(hall, row, payload=payload)
    history: list[HistoryLine] = await hall.store.read(ReadHistory(row.view.work))
    plan: PlanView | None = await hall.store.read(FindPlan(row.view.plan))
    story = tell(row, history, paused=plan is not None and plan.paused)
    lines = [history_entry(line) for line in history]
    return json_answer({"work": unit_of_row(row), "history": lines, "story": story})


async def _unit(hall: Hall, identity: str) -> TaskRow | RequestView:
    """A request id; `PLAN/TASK`, each part percent-encoded by itself; or the id of a task that only one plan has."""
    call = await call_by_id(hall, identity)
    if call is not None:
        return call
    plan_part, slash, task_part = identity.partition("/")
    if slash:
        return await _only_one(hall, _part(task_part), _part(plan_part))
    return await _only_one(hall, _part(identity), None)


def _part(encoded: str) -> str:
    try:
        part = unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        raise invalid("id", "is not percent-encoded UTF-8") from None
    complaint = complaint_about(part)
    if complaint is not None:
        raise invalid("id", complaint)
    return part


async def _only_one(hall: Hall, task_id: str, plan_id: str | None) -> TaskRow:
    rows: list[TaskRow] = await hall.store.read(FindTasks(task_id, plan_id))
    if not rows and plan_id is None and task_id.startswith(OF_A_CALL):
        detail = f"there is no call {task_id!r}, nor a task of that id; finished calls are kept for a while only"
        raise Stop("not_found", detail)
    if not rows:
        where = "in any plan" if plan_id is None else f"in plan {plan_id!r}"
        raise Stop("not_found", f"there is no task {task_id!r} {where}", task_id=task_id)
    if len(rows) > 1:
        plans = sorted(row.view.plan for row in rows)
        raise Stop(
            "ambiguous_task_id",
            f"{len(plans)} plans have a task {task_id!r}: say PLAN/TASK (plans: {', '.join(plans[:20])})",
            task_id=task_id,
            plans=plans[:100],
        )
    return rows[0]
