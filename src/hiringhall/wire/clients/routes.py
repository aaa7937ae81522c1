"""The routes of clients. Raw paths are split first, and each part is decoded once."""

from __future__ import annotations

from typing import Final

from hiringhall.operations.hall import Hall
from hiringhall.wire.clients.call import ClientCall
from hiringhall.wire.clients.methods import MethodsCall
from hiringhall.wire.clients.requests import ShowCall, SubmitCall, WithdrawCall
from hiringhall.wire.envelope import refusal
from hiringhall.wire.exchange import Exchange, Handler, Route

BODY_BYTES_MAX: Final = 1024 * 1024

REQUESTS: Final = "/client/requests"
REQUEST: Final = "/client/requests/{request_id}"
FEEDBACK: Final = "/client/requests/{request_id}/feedback"
METHODS: Final = "/client/methods"
ROUTES: Final[dict[str, dict[bytes, type[ClientCall]]]] = {
    REQUESTS: {b"POST": SubmitCall},
    REQUEST: {b"GET": ShowCall, b"DELETE": WithdrawCall},
    METHODS: {b"GET": MethodsCall},
}
STREAMED: Final = (b"GET", FEEDBACK)
"""Served by the ASGI application in `feedback`: its answer goes on and on."""


class ClientsRouter:
    """Finds the handler of a raw path. `match` is called once per request."""

    def __init__(self, hall: Hall) -> None:
        self._by_shape = {path: self._methods(hall, calls) for path, calls in ROUTES.items()}
        self._by_shape[FEEDBACK] = {b"*": Route(_wrong_method(b"GET"), BODY_BYTES_MAX)}

    def _methods(self, hall: Hall, calls: dict[bytes, type[ClientCall]]) -> dict[bytes, Route]:
        methods = {method: Route(_handler(hall, call), BODY_BYTES_MAX) for method, call in calls.items()}
        if b"GET" in methods:
            methods[b"HEAD"] = methods[b"GET"]
        methods[b"*"] = Route(_wrong_method(b", ".join(sorted(methods))), BODY_BYTES_MAX)
        return methods

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of a raw path; None if it is none of the clients', or the stream of feedback."""
        if not path.startswith(b"/client/"):
            return None
        shape = shape_of(path)
        if shape is None or (method, shape) == STREAMED:
            return None
        methods = self._by_shape[shape]
        return methods.get(method) or methods[b"*"]


def shape_of(path: bytes) -> str | None:
    """Which of the clients' paths it is."""
    parts = path.split(b"/")
    if len(parts) == 3:
        return {b"requests": REQUESTS, b"methods": METHODS}.get(parts[2])
    if parts[2] != b"requests" or not parts[3]:
        return None
    if len(parts) == 4:
        return REQUEST
    return FEEDBACK if len(parts) == 5 and parts[4] == b"feedback" else None


def clients_router(hall: Hall) -> ClientsRouter:
    """The clients' routes, and None for all others."""
    return ClientsRouter(hall)


def _handler(hall: Hall, call: type[ClientCall]) -> Handler:
    def handle(exchange: Exchange) -> None:
        call(hall, exchange).start()

    return handle


def _wrong_method(allowed: bytes) -> Handler:
    reply = refusal("method_not_allowed", f"this path knows {allowed.decode()}", headers=((b"allow", allowed),))
    return lambda exchange: exchange.answer(reply)
