"""Descriptions of the routes of operators and of everybody."""

from __future__ import annotations

from typing import Any, Final

from hiringhall.domain.names import IDENTIFIER_CHARACTERS_MAX
from hiringhall.wire.described import Described, Parameter
from hiringhall.wire.operators import structs
from hiringhall.wire.operators.call_structs import SteeredAnswer, WorkAnswer

SWITCH: Final[dict[str, Any]] = {"type": "string", "enum": ["true", "false", "1", "0"]}
ID: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": IDENTIFIER_CHARACTERS_MAX,
    "pattern": structs.IDENTIFIER_PATTERN,
}


def _limit(longest: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": longest}
    return Parameter("limit", schema, "How many entries at most")


AFTER: Final = Parameter("after", ID, "The last entry of the page before, as `next` named it")
PRUNE: Final = Parameter("prune", SWITCH, "Remove pending tasks that the file does not have")
FORCE: Final = Parameter("force", SWITCH, "Also what a worker holds: it is told to stop, and its answer is refused")
CASCADE: Final = Parameter("cascade", SWITCH, "Also reset the tasks that depend on it")
STATUS: Final = Parameter(
    "status",
    {"type": "string", "pattern": "^(PENDING|CLAIMED|IN_PROGRESS|DONE|FAILED|SKIPPED)$"},
    "Only tasks of this status; several are comma-separated",
)
SERVICE: Final = Parameter("service", ID, "The service of a service worker; without it a plan worker is meant")
PAYLOAD: Final = Parameter("payload", SWITCH, "Of a call also its result, which may hold secrets")
SUMMARY: Final = Parameter("summary", SWITCH, "Without the tasks")
WORK_IDS: Final = (
    Parameter(
        "id",
        ID,
        "A request id; `PLAN/TASK`, each part percent-encoded by itself; or the id of a task of only one plan",
    ),
    Parameter("plan", ID, "The plan of the task"),
    Parameter("task", ID, "The task"),
)
PLAN: Final = "/admin/plans/{plan_id}"
TASK: Final = PLAN + "/tasks/{task_id}"
WORK: Final = "/admin/work/{work_id}"
WORKER: Final = "/admin/workers/{worker_id}"


def _verb(
    path: str, verb: str, summary: str, *parameters: Parameter, body: Any = None, answer: Any = structs.TaskAnswer
) -> Described:
    refusals = (404, 409, 422) if body is None else (400, 404, 409, 413, 415, 422)
    return Described(
        "POST",
        f"{path}/{verb}",
        summary,
        {200: answer},
        parameters=parameters,
        body=body,
        refusals=refusals,
    )


def _direct(verb: str, summary: str) -> Described:
    return Described(
        "POST",
        f"{WORKER}/{verb}",
        summary,
        {200: structs.WorkerAnswer},
        parameters=(SERVICE,),
        refusals=(404, 422),
    )


DESCRIBED: Final[tuple[Described, ...]] = (
    Described(
        "GET", "/", "A plain page: version, counts, how to log in", {200: "text/html"}, None, tags=("everybody",)
    ),
    Described(
        "GET",
        "/ready",
        "Whether new connections are welcome here",
        {200: structs.StatusAnswer},
        None,
        tags=("everybody",),
    ),
    Described("GET", "/metrics", "Metrics for Prometheus", {200: "text/plain"}, "metrics", tags=("everybody",)),
    Described("GET", "/openapi.json", "This description", {200: dict[str, Any]}, None, tags=("everybody",)),
    Described(
        "GET",
        "/admin/plans",
        "List plans",
        {200: structs.PlansAnswer},
        parameters=(_limit(1_000), AFTER),
        refusals=(422,),
    ),
    Described(
        "PUT",
        PLAN,
        "Apply a plan file, all or nothing",
        {200: structs.AppliedAnswer, 201: structs.AppliedAnswer},
        parameters=(PRUNE,),
        body=structs.PlanOfFile,
        refusals=(400, 409, 413, 415, 422),
    ),
    Described(
        "GET",
        PLAN,
        "Show a plan with its tasks",
        {200: structs.PlanAnswer},
        parameters=(_limit(50_000), AFTER, STATUS, SUMMARY),
        refusals=(404, 422),
    ),
    Described(
        "DELETE",
        PLAN,
        "Delete a plan with all its tasks",
        {200: structs.PlanDeleted},
        parameters=(FORCE,),
        refusals=(404, 409, 422),
    ),
    Described(
        "POST", PLAN + "/pause", "Hand out no more of its tasks", {200: structs.PlanSummaryAnswer}, refusals=(404, 422)
    ),
    Described(
        "POST", PLAN + "/resume", "Hand out its tasks again", {200: structs.PlanSummaryAnswer}, refusals=(404, 422)
    ),
    Described("POST", PLAN + "/retry", "Retry its failed tasks", {200: structs.PlanRetried}, refusals=(404, 422)),
    _verb(TASK, "start", "Mark a claimed task as in progress"),
    _verb(TASK, "skip", "Skip a task, which satisfies those that depend on it", FORCE),
    _verb(TASK, "retry", "Try a failed task again, attempts from zero"),
    _verb(TASK, "cancel", "Cancel a task, which then counts as failed"),
    _verb(TASK, "reset", "Have a finished task done again", CASCADE),
    _verb(TASK, "release", "Take a task back from its worker"),
    _verb(TASK, "reprioritise", "Give a pending task another priority", body=structs.PriorityBody),
    Described(
        "GET",
        "/admin/work",
        "Find a unit of work",
        {200: WorkAnswer},
        parameters=(*WORK_IDS, PAYLOAD),
        refusals=(404, 409, 422),
    ),
    Described(
        "GET",
        WORK,
        "State and history of a unit of work: a request id, or what names a task",
        {200: WorkAnswer},
        parameters=(PAYLOAD,),
        refusals=(404, 409, 422),
    ),
    _verb(WORK, "retry", "Try a failed unit again", answer=SteeredAnswer),
    _verb(WORK, "cancel", "Cancel a unit", answer=SteeredAnswer),
    _verb(WORK, "release", "Take a unit back from its worker", answer=SteeredAnswer),
    Described(
        "GET",
        "/admin/workers",
        "List workers",
        {200: structs.WorkersAnswer},
        parameters=(_limit(1_000), AFTER, SERVICE),
        refusals=(422,),
    ),
    Described(
        "DELETE",
        WORKER,
        "Forget a worker; what it holds returns",
        {200: structs.WorkerRemoved},
        parameters=(SERVICE,),
        refusals=(404, 422),
    ),
    _direct("quiet", "Give a worker nothing new"),
    _direct("resume", "Give a worker work again"),
    _direct("terminate", "Have a worker end"),
)
