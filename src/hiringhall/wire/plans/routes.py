"""The routes of the plan dialect: the document's at the root, the published clients' under `/whilly` and on a port."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from hiringhall.operations.hall import Hall
from hiringhall.wire.plans.call import Call, Mount
from hiringhall.wire.plans.claims import ClaimCall
from hiringhall.wire.plans.codec import DocumentCodec, PublishedCodec
from hiringhall.wire.plans.health import HealthCall
from hiringhall.wire.plans.published import ControlStateCall, EventsCall, PlanCall, ReportEventCall
from hiringhall.wire.plans.settles import CompleteCall, FailCall, ReleaseCall
from hiringhall.wire.plans.workers import HeartbeatCall, RegisterCall
from hiringhall.wire.table_router import Table, TableRouter

PREFIX: Final = b"/whilly"

ROUTES: Final[dict[str, dict[bytes, type[Call]]]] = {
    "/health": {b"GET": HealthCall},
    "/workers/register": {b"POST": RegisterCall},
    "/workers/{worker_id}/heartbeat": {b"POST": HeartbeatCall},
    "/tasks/claim": {b"POST": ClaimCall},
    "/tasks/{task_id}/complete": {b"POST": CompleteCall},
    "/tasks/{task_id}/fail": {b"POST": FailCall},
    "/tasks/{task_id}/release": {b"POST": ReleaseCall},
}
"""What is served at the root, and under `/whilly` too."""
PUBLISHED_ROUTES: Final[dict[str, dict[bytes, type[Call]]]] = {
    "/api/v1/plans/{plan_id}": {b"GET": PlanCall},
    "/workers/control-state": {b"GET": ControlStateCall},
    "/tasks/{task_id}/events": {b"POST": ReportEventCall, b"GET": EventsCall},
}
"""What only the published clients ask for."""


WITH_TOKEN: Final = (ROUTES.keys() | PUBLISHED_ROUTES.keys()) - {"/health"}


def _table(mount: Mount, *tables: Mapping[str, Mapping[bytes, type[Call]]]) -> Table:
    return {
        path: {method: partial(call, mount) for method, call in calls.items()}
        for table in tables
        for path, calls in table.items()
    }


def published_router(hall: Hall) -> TableRouter:
    """The wire of the published clients, and nothing else: for a port of its own, and to be mounted."""
    codec = PublishedCodec()
    table = _table(Mount(hall, codec), ROUTES, PUBLISHED_ROUTES)
    return TableRouter(table, closed=True, envelope=codec.refusal, with_token=WITH_TOKEN)


def root_router(hall: Hall) -> TableRouter:
    """The root of the server: the document's wire, `/whilly`, and None for all that is not the plan workers'."""
    codec = DocumentCodec()
    router = TableRouter(_table(Mount(hall, codec), ROUTES), envelope=codec.refusal, with_token=WITH_TOKEN)
    router.mount_below(PREFIX, published_router(hall))
    return router
