"""The routes of the plan dialect: the document's at the root, the published clients' under `/whilly` and on a port.

Raw paths are split first, and each part is decoded once, so that an id may contain a slash.
"""

from __future__ import annotations

from typing import Final

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.wire.exchange import Exchange, Handler, Route
from hiringhall.wire.plans.call import Call, Mount
from hiringhall.wire.plans.claims import ClaimCall
from hiringhall.wire.plans.codec import DocumentCodec, PublishedCodec
from hiringhall.wire.plans.health import HealthCall
from hiringhall.wire.plans.published import ControlStateCall, EventsCall, PlanCall, ReportEventCall
from hiringhall.wire.plans.settles import CompleteCall, FailCall, ReleaseCall
from hiringhall.wire.plans.workers import HeartbeatCall, RegisterCall

BODY_BYTES_MAX: Final = 1024 * 1024
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


class PlansRouter:
    """Finds the handler of a raw path. `match` is called once per request."""

    def __init__(self, mount: Mount, tables: tuple[dict[str, dict[bytes, type[Call]]], ...], *, closed: bool) -> None:
        self._mount = mount
        self._closed = closed
        self._whole: dict[bytes, dict[bytes, Route]] = {}
        self._around: dict[tuple[bytes, bytes], dict[bytes, Route]] = {}
        self._before: dict[bytes, dict[bytes, Route]] = {}
        self._below: dict[bytes, PlansRouter] = {}
        self._nothing = self._route(self._not_found)
        for table in tables:
            for path, calls in table.items():
                self._add(path.encode(), calls)

    def mount_below(self, prefix: bytes, router: PlansRouter) -> None:
        """Leave the paths below `prefix` to another router."""
        self._below[prefix[1:]] = router

    def match(self, method: bytes, path: bytes) -> Route | None:
        """The route of a raw path; None if the paths of this router are open and it is none of them."""
        methods = self._whole.get(path)
        if methods is None:
            parts = path.split(b"/")
            count = len(parts)
            if count > 2 and parts[1] in self._below:
                return self._below[parts[1]].match(method, path[len(parts[1]) + 1 :])
            if count == 4 and parts[2]:
                methods = self._around.get((parts[1], parts[3]))
            elif count > 3 and parts[-1]:
                methods = self._before.get(path[: -len(parts[-1])])
            if methods is None:
                return self._nothing if self._closed else None
        route = methods.get(method)
        return methods[b"*"] if route is None else route

    def _add(self, path: bytes, calls: dict[bytes, type[Call]]) -> None:
        methods = {method: self._route(self._handler(call)) for method, call in calls.items()}
        if b"GET" in methods:
            methods[b"HEAD"] = methods[b"GET"]
        methods[b"*"] = self._route(self._wrong_method(b", ".join(sorted(methods))))
        parts = path.split(b"/")
        if b"{" not in path:
            self._whole[path] = methods
        elif path.endswith(b"}"):
            self._before[path[: -len(parts[-1])]] = methods
        else:
            self._around[parts[1], parts[3]] = methods

    def _route(self, handler: Handler) -> Route:
        return Route(handler, BODY_BYTES_MAX)

    def _handler(self, call: type[Call]) -> Handler:
        mount = self._mount

        def handle(exchange: Exchange) -> None:
            call(mount, exchange).start()

        return handle

    def _wrong_method(self, allowed: bytes) -> Handler:
        refused = Refused("method_not_allowed", f"this path knows {allowed.decode()}")
        reply = self._mount.codec.refusal(refused, ((b"allow", allowed),))
        return lambda exchange: exchange.answer(reply)

    def _not_found(self, exchange: Exchange) -> None:
        exchange.answer(self._mount.codec.refusal(Refused("not_found", "there is no such path"), ()))


def published_router(hall: Hall) -> PlansRouter:
    """The wire of the published clients, and nothing else: for a port of its own, and to be mounted."""
    return PlansRouter(Mount(hall, PublishedCodec()), (ROUTES, PUBLISHED_ROUTES), closed=True)


def root_router(hall: Hall) -> PlansRouter:
    """The root of the server: the document's wire, `/whilly`, and None for all that is not the plan workers'."""
    router = PlansRouter(Mount(hall, DocumentCodec()), (ROUTES,), closed=False)
    router.mount_below(PREFIX, published_router(hall))
    return router
