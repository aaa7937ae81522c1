"""The routes of clients."""

from __future__ import annotations

from functools import partial
from typing import Final

from hiringhall.operations.hall import Hall
from hiringhall.wire.clients.call import ClientCall
from hiringhall.wire.clients.methods import MethodsCall
from hiringhall.wire.clients.requests import ShowCall, SubmitCall, WithdrawCall
from hiringhall.wire.table_router import TableRouter

ROUTES: Final[dict[str, dict[bytes, type[ClientCall]]]] = {
    "/client/requests": {b"POST": SubmitCall},
    "/client/requests/{request_id}": {b"GET": ShowCall, b"DELETE": WithdrawCall},
    "/client/methods": {b"GET": MethodsCall},
}
"""Beside these there is the stream of feedback, which an ASGI application serves: its answer goes on and on."""


def clients_router(hall: Hall) -> TableRouter:
    """The clients' routes, and None for all others."""
    return TableRouter(
        {path: {method: partial(call, hall) for method, call in calls.items()} for path, calls in ROUTES.items()},
        with_token=ROUTES,
    )
