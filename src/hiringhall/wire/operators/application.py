"""The ASGI application of operators and of everybody: routes on the raw path, one envelope for every refusal.

Paths are matched as they came, percent-encoded, so that an identifier may hold a slash; each part is decoded once.
"""

from __future__ import annotations

import logging
import re
import secrets
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.operators.access import admit
from hiringhall.wire.operators.answers import Stop, refused_answer
from hiringhall.wire.operators.routes import SERVED, Served

log = logging.getLogger("hiringhall.operators")
REQUEST_ID: Final = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch


def operators_application(hall: Hall) -> ASGIApp:
    """Everything that is not a worker's route, for `hall`."""
    by_path: dict[str, dict[str, Served]] = {}
    for served in SERVED:
        by_path.setdefault(served.path, {})[served.method] = served
    routes = [Route(path, _Resource(hall, methods)) for path, methods in by_path.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _plain_refusal})
    app.router.redirect_slashes = False
    return _RawPaths(app)


class _Resource:
    """One path and the methods that it knows."""

    def __init__(self, hall: Hall, methods: dict[str, Served]) -> None:
        self._hall = hall
        self._methods = dict(methods)
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        served = self._methods.get(request.method)
        if served is None:
            allowed = ", ".join(sorted(self._methods))
            refused = Refused("method_not_allowed", f"this path knows {allowed}")
            return refused_answer(refused, {"allow": allowed})
        try:
            await admit(self._hall, request, served.access)
            return await served.endpoint(self._hall, request)
        except Stop as stop:
            return refused_answer(stop.refused, stop.headers)
        except StoreUnavailable:
            refused = Refused("unavailable", "the database does not answer at present")
            return refused_answer(refused, {"retry-after": "1"})
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception:  # noqa: BLE001 - a bug in one route is that route's answer, with a word in the log
            return _bug(served)


def _bug(served: Served) -> Response:
    correlation_id = secrets.token_hex(8)
    log.exception("%s %s failed (correlation id %s)", served.method, served.path, correlation_id)
    detail = f"something is wrong with the hall; its log tells more under {correlation_id}"
    return refused_answer(Refused("internal_error", detail, extra={"correlation_id": correlation_id}))


async def _plain_refusal(_request: Request, found: Exception) -> Response:
    """What the routing itself refuses: a path that nobody knows."""
    assert isinstance(found, HTTPException)
    return refused_answer(Refused("not_found", "there is nothing at this path; GET /openapi.json lists every route"))


class _RawPaths:
    """Has the application see the path as it came, and every answer carry the id of its request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw = scope.get("raw_path")
        path = scope["path"] if raw is None else raw.partition(b"?")[0].decode("latin-1")
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = given if REQUEST_ID(given) else secrets.token_hex(8).encode()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", request_id)]
            await send(message)

        await self._app({**scope, "path": path, "root_path": ""}, receive, send_with_id)
