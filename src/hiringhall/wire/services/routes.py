"""The routes of service workers."""

from __future__ import annotations

from functools import partial
from typing import Final

from hiringhall.operations.hall import Hall
from hiringhall.wire.services.answers import FeedbackCall, LockCall, ResponseCall
from hiringhall.wire.services.call import ServiceCall
from hiringhall.wire.services.drains import DrainCall
from hiringhall.wire.services.workers import GoodbyeCall, HeartbeatCall, RegistrationCall
from hiringhall.wire.table_router import TableRouter

MESSAGES: Final = "/worker/messages"
ROUTES: Final[dict[str, dict[bytes, type[ServiceCall]]]] = {
    "/worker/registration": {b"POST": RegistrationCall},
    MESSAGES: {b"GET": DrainCall},
    "/worker/lock_request/{request_id}": {b"PUT": LockCall},
    "/worker/response": {b"POST": ResponseCall},
    "/worker/feedback": {b"POST": FeedbackCall},
    "/worker/heartbeat/{worker_id}": {b"GET": HeartbeatCall},
    "/worker/notify_worker_shutdown/{worker_id}": {b"PUT": GoodbyeCall},
}


def services_router(hall: Hall) -> TableRouter:
    """The routes of service workers, and None for all others."""
    table = {path: {method: partial(call, hall) for method, call in calls.items()} for path, calls in ROUTES.items()}
    return TableRouter(table, without_head=(MESSAGES,), with_token=ROUTES)
