"""Operators' routes about clients: make and change, list, remove."""

from __future__ import annotations

import json

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hiringhall.domain.owners import complaint_about_client, read_client
from hiringhall.operations.hall import Hall
from hiringhall.operations.owners import put_client as put
from hiringhall.ports.identity import ClientView, DeleteClient, FindClients, ListClients
from hiringhall.wire.operators.answers import Stop, agreed, json_answer, rfc3339
from hiringhall.wire.operators.owners import choice_in_query, name_in_path, source_of, stored, wish_in_body
from hiringhall.wire.operators.owners_structs import Client, ClientAnswer, ClientDeleted, ClientsAnswer
from hiringhall.wire.operators.parameters import Query


def _name(request: Request) -> str:
    return name_in_path(request, "client_id", complaint_about_client)


async def put_client(hall: Hall, request: Request) -> Response:
    """Make a client, or change it: absent members keep their value. A made secret is told once."""
    client = _name(request)
    choice = choice_in_query(request)
    wish = await wish_in_body(request, read_client)
    done = stored(await put(hall, client, wish, choice, source=source_of(hall, request)))
    shown = client_of(await _found(hall, client))
    answer = ClientAnswer(shown, msgspec.UNSET if done.made_secret is None else done.made_secret)
    return json_answer(answer, 201 if done.created else 200)


async def show_client(hall: Hall, request: Request) -> Response:
    """One client."""
    client = _name(request)
    Query(request, ())
    return json_answer(ClientAnswer(client_of(await _found(hall, client))))


async def list_clients(hall: Hall, request: Request) -> Response:
    """All clients in the order of their ids."""
    query = Query(request, ("limit", "after"))
    limit = query.limit()
    assert limit is not None
    views: list[ClientView] = await hall.store.read(ListClients(query.identifier("after") or "", limit + 1))
    shown = [client_of(view) for view in views[:limit]]
    return json_answer(ClientsAnswer(shown, shown[-1].id if len(views) > limit else None))


async def delete_client(hall: Hall, request: Request) -> Response:
    """Remove a client: it is out at once. Calls that it made go on."""
    client = _name(request)
    Query(request, ())
    if not agreed(await hall.coalescer.one(DeleteClient(client))):
        raise _no_client(client)
    return json_answer(ClientDeleted(client))


async def _found(hall: Hall, client: str) -> ClientView:
    views: list[ClientView] = await hall.store.read(FindClients((client,)))
    if not views:
        raise _no_client(client)
    return views[0]


def _no_client(client: str) -> Stop:
    return Stop("not_found", f"there is no client {client!r}; GET /admin/clients lists those that there are")


def client_of(view: ClientView) -> Client:
    """A client as operators see it."""
    return Client(id=view.id, allow=json.loads(view.allow), secrets=view.secrets, made_at=rfc3339(view.made_at))
