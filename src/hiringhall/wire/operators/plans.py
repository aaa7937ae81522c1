"""Operators' routes about whole plans: apply, list, remove, pause, resume, retry."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.plan import Problem, unknown_dependency
from hiringhall.domain.plan_file import PlanReading, read_plan_file
from hiringhall.operations.hall import Hall
from hiringhall.ports.asks import Applied, Apply, DeletePlan, PausePlan, RetryPlan
from hiringhall.ports.questions import FindPlan, KnownTasks, ListPlans, PlanView
from hiringhall.wire.operators.answers import Stop, agreed, json_answer
from hiringhall.wire.operators.parameters import (
    Query,
    decode_json,
    path_id,
    read_body,
    read_traceparent,
    refuse_multipart,
)
from hiringhall.wire.operators.structs import AppliedAnswer, PlanDeleted, PlanRetried, PlansAnswer, PlanSummaryAnswer
from hiringhall.wire.operators.vocabulary import plan_summary

PLAN_FILE_BYTES_MAX: Final = 64 * 1024 * 1024
READ_AT_ONCE_BYTES_MAX: Final = 16 * 1024
PROBLEMS_IN_DETAIL: Final = 3


async def apply_plan(hall: Hall, request: Request) -> Response:
    """Store a plan file, all or nothing; the same file again changes nothing."""
    plan_id = path_id(request, "plan_id")
    query = Query(request, ("prune",))
    prune = query.yes("prune")
    refuse_multipart(request)
    body = await read_body(request, PLAN_FILE_BYTES_MAX)
    if len(body) > READ_AT_ONCE_BYTES_MAX:  # a long file must not keep workers waiting
        reading = await asyncio.to_thread(_read, body, plan_id)
    else:
        reading = _read(body, plan_id)
    if reading.file is None:
        raise _complaint(reading, await _unknown(hall, plan_id, reading))
    traceparent = read_traceparent(request)
    applied: Applied = agreed(await hall.coalescer.one(Apply(reading.file, prune, traceparent)))
    answer = AppliedAnswer(
        plan_id=applied.plan_id,
        added=applied.added,
        changed=applied.changed,
        unchanged=applied.unchanged,
        pruned=applied.pruned,
        warnings=list(reading.warnings),
    )
    return json_answer(answer, 201 if applied.created else 200)


def _read(body: bytes, plan_id: str) -> PlanReading:
    return read_plan_file(decode_json(body), plan_id)


async def _unknown(hall: Hall, plan_id: str, reading: PlanReading) -> list[Problem]:
    """Which dependencies of a file with other problems exist nowhere, so that all is told at once."""
    names = tuple({name for _, name in reading.outside})
    known: set[str] = await hall.store.read(KnownTasks(plan_id, names)) if names else set()
    return [unknown_dependency(field, name) for field, name in reading.outside if name not in known]


def _complaint(reading: PlanReading, unknown: list[Problem]) -> Stop:
    found = [*reading.problems, *unknown]
    count = len(found)
    first = "; ".join(_sentence(problem) for problem in found[:PROBLEMS_IN_DETAIL])
    rest = f"; and {count - PROBLEMS_IN_DETAIL} more" if count > PROBLEMS_IN_DETAIL else ""
    detail = f"the plan file has {count} problem{'s' if count > 1 else ''}: {first}{rest}"
    problems = [{"field": problem.field, "reason": problem.reason} for problem in found]
    return Stop("validation_error", detail, problems=problems, warnings=list(reading.warnings))


def _sentence(problem: Problem) -> str:
    return f"{problem.field} {problem.reason}"


async def list_plans(hall: Hall, request: Request) -> Response:
    """All plans, in the order of their ids, without their tasks."""
    query = Query(request, ("limit", "after"))
    limit = query.limit()
    assert limit is not None
    plans: list[PlanView] = await hall.store.read(ListPlans(query.identifier("after") or "", limit + 1))
    shown = plans[:limit]
    following = shown[-1].id if len(plans) > limit else None
    return json_answer(PlansAnswer([plan_summary(plan) for plan in shown], following))


async def delete_plan(hall: Hall, request: Request) -> Response:
    """Remove a plan with all its tasks; one with held tasks only by force."""
    plan_id = path_id(request, "plan_id")
    force = Query(request, ("force",)).yes("force")
    if not agreed(await hall.coalescer.one(DeletePlan(plan_id, force))):
        raise no_plan(plan_id)
    return json_answer(PlanDeleted(plan_id))


async def pause_plan(hall: Hall, request: Request) -> Response:
    """Hand out no more tasks of a plan; what is held stays held."""
    return await _pause(hall, request, paused=True)


async def resume_plan(hall: Hall, request: Request) -> Response:
    """Hand out the tasks of a plan again."""
    return await _pause(hall, request, paused=False)


async def _pause(hall: Hall, request: Request, *, paused: bool) -> Response:
    plan_id = path_id(request, "plan_id")
    Query(request, ())
    if not agreed(await hall.coalescer.one(PausePlan(plan_id, paused))):
        raise no_plan(plan_id)
    return json_answer(PlanSummaryAnswer(plan_summary(await found_plan(hall, plan_id))))


async def retry_plan(hall: Hall, request: Request) -> Response:
    """Retry every failed task of a plan."""
    plan_id = path_id(request, "plan_id")
    Query(request, ())
    retried: Any = agreed(await hall.coalescer.one(RetryPlan(plan_id)))
    if retried is None:
        raise no_plan(plan_id)
    return json_answer(PlanRetried(plan_id, retried))


async def found_plan(hall: Hall, plan_id: str) -> PlanView:
    """The plan, or the refusal that says that there is none."""
    plan: PlanView | None = await hall.store.read(FindPlan(plan_id))
    if plan is None:
        raise no_plan(plan_id)
    return plan


def no_plan(plan_id: str) -> Stop:
    """There is no such plan."""
    return Stop("not_found", f"there is no plan {plan_id!r}; GET /admin/plans lists those that there are")
