"""Operators' routes about services: make and change, list, pause, resume, remove."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.owners import complaint_about_service, read_service
from hiringhall.operations.hall import Hall
from hiringhall.operations.owners import put_service as put
from hiringhall.operations.service_settings import settings_of
from hiringhall.ports.identity import DeleteService, FindServices, ListServices, PauseService, ServiceView
from hiringhall.wire.operators.answers import Stop, agreed, json_answer, rfc3339
from hiringhall.wire.operators.owners import choice_in_query, name_in_path, source_of, stored, wish_in_body
from hiringhall.wire.operators.owners_structs import (
    MethodOverride,
    Service,
    ServiceAnswer,
    ServiceDeleted,
    ServicesAnswer,
)
from hiringhall.wire.operators.parameters import Query


def _name(request: Request) -> str:
    return name_in_path(request, "service_id", complaint_about_service)


async def put_service(hall: Hall, request: Request) -> Response:
    """Make a service, or change it: absent members keep their value. A made secret is told once."""
    service = _name(request)
    choice = choice_in_query(request)
    wish = await wish_in_body(request, read_service)
    done = stored(await put(hall, service, wish, choice, source=source_of(hall, request)))
    shown = service_of(await _found(hall, service))
    answer = ServiceAnswer(shown, msgspec.UNSET if done.made_secret is None else done.made_secret)
    return json_answer(answer, 201 if done.created else 200)


async def show_service(hall: Hall, request: Request) -> Response:
    """One service."""
    service = _name(request)
    Query(request, ())
    shown = service_of(await _found(hall, service))
    closed = (await settings_of(hall, service)).closed
    if closed:
        shown.unreadable_settings = list(closed)
    return json_answer(ServiceAnswer(shown))


async def list_services(hall: Hall, request: Request) -> Response:
    """All services in the order of their ids."""
    query = Query(request, ("limit", "after"))
    limit = query.limit()
    assert limit is not None
    views: list[ServiceView] = await hall.store.read(ListServices(query.identifier("after") or "", limit + 1))
    shown = [service_of(view) for view in views[:limit]]
    return json_answer(ServicesAnswer(shown, shown[-1].id if len(views) > limit else None))


async def delete_service(hall: Hall, request: Request) -> Response:
    """Remove a service: its workers are out at once. One with open calls only by force."""
    service = _name(request)
    force = Query(request, ("force",)).yes("force")
    if not agreed(await hall.coalescer.one(DeleteService(service, force))):
        raise _no_service(service)
    return json_answer(ServiceDeleted(service))


async def pause_service(hall: Hall, request: Request) -> Response:
    """Hand out no more calls of a service; what is held stays held."""
    return await _pause(hall, request, paused=True)


async def resume_service(hall: Hall, request: Request) -> Response:
    """Hand out the calls of a service again."""
    return await _pause(hall, request, paused=False)


async def _pause(hall: Hall, request: Request, *, paused: bool) -> Response:
    service = _name(request)
    Query(request, ())
    if not agreed(await hall.coalescer.one(PauseService(service, paused))):
        raise _no_service(service)
    return json_answer(ServiceAnswer(service_of(await _found(hall, service))))


async def _found(hall: Hall, service: str) -> ServiceView:
    views: list[ServiceView] = await hall.store.read(FindServices((service,)))
    if not views:
        raise _no_service(service)
    return views[0]


def _no_service(service: str) -> Stop:
    return Stop("not_found", f"there is no service {service!r}; GET /admin/services lists those that there are")


def service_of(view: ServiceView) -> Service:
    """A service as operators see it."""
    methods: dict[str, Any] = json.loads(view.methods)
    return Service(
        id=view.id,
        dispatch=view.dispatch,  # type: ignore[arg-type]
        methods={name: MethodOverride(**special) for name, special in methods.items()},
        paused=view.paused,
        settings=list(view.settings),
        secrets=view.secrets,
        made_at=rfc3339(view.made_at),
    )
