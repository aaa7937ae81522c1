"""Every route of operators and of everybody, in one list: method, path, who may, and what answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.lifecycle import Move
from hiringhall.operations.hall import Hall
from hiringhall.wire.operators import clients, keys, plans, services, tasks, workers
from hiringhall.wire.operators.access import Access
from hiringhall.wire.operators.description import openapi
from hiringhall.wire.operators.metrics import metrics
from hiringhall.wire.operators.pages import ready, status_page
from hiringhall.wire.operators.plan_page import show_plan

Endpoint: TypeAlias = Callable[[Hall, Request], Awaitable[Response]]

TASK_VERBS: Final = (Move.START, Move.SKIP, Move.RETRY, Move.CANCEL, Move.RESET, Move.RELEASE, Move.REPRIORITISE)
WORK_VERBS: Final = (Move.RETRY, Move.CANCEL, Move.RELEASE)


class Served(NamedTuple):
    """One route. Parts in braces are identifiers, percent-encoded."""

    method: str
    path: str
    endpoint: Endpoint
    access: Access = Access.OPERATOR


SERVED: Final[tuple[Served, ...]] = (
    Served("GET", "/", status_page, Access.OPEN),
    Served("GET", "/ready", ready, Access.OPEN),
    Served("GET", "/metrics", metrics, Access.METRICS),
    Served("GET", "/openapi.json", openapi, Access.OPEN),
    Served("GET", "/admin/plans", plans.list_plans),
    Served("PUT", "/admin/plans/{plan_id}", plans.apply_plan),
    Served("GET", "/admin/plans/{plan_id}", show_plan),
    Served("DELETE", "/admin/plans/{plan_id}", plans.delete_plan),
    Served("POST", "/admin/plans/{plan_id}/pause", plans.pause_plan),
    Served("POST", "/admin/plans/{plan_id}/resume", plans.resume_plan),
    Served("POST", "/admin/plans/{plan_id}/retry", plans.retry_plan),
    *(
        Served("POST", f"/admin/plans/{{plan_id}}/tasks/{{task_id}}/{move.value}", tasks.steer_task(move))
        for move in TASK_VERBS
    ),
    Served("GET", "/admin/work", tasks.find_work),
    Served("GET", "/admin/work/{work_id}", tasks.show_work),
    *(Served("POST", f"/admin/work/{{work_id}}/{move.value}", tasks.steer_work(move)) for move in WORK_VERBS),
    Served("GET", "/admin/workers", workers.list_workers),
    Served("DELETE", "/admin/workers/{worker_id}", workers.remove_worker),
    Served("POST", "/admin/workers/{worker_id}/quiet", workers.direct_worker(quiet=True, terminate=None)),
    Served("POST", "/admin/workers/{worker_id}/resume", workers.direct_worker(quiet=False, terminate=False)),
    Served("POST", "/admin/workers/{worker_id}/terminate", workers.direct_worker(quiet=None, terminate=True)),
    Served("GET", "/admin/services", services.list_services),
    Served("PUT", "/admin/services/{service_id}", services.put_service),
    Served("GET", "/admin/services/{service_id}", services.show_service),
    Served("DELETE", "/admin/services/{service_id}", services.delete_service),
    Served("POST", "/admin/services/{service_id}/pause", services.pause_service),
    Served("POST", "/admin/services/{service_id}/resume", services.resume_service),
    Served("GET", "/admin/clients", clients.list_clients),
    Served("PUT", "/admin/clients/{client_id}", clients.put_client),
    Served("GET", "/admin/clients/{client_id}", clients.show_client),
    Served("DELETE", "/admin/clients/{client_id}", clients.delete_client),
    Served("POST", "/admin/keys/rotate", keys.rotate),
)
