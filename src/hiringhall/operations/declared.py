"""Services and clients of `hall.toml`: made or updated when the server starts, unless they are as it says."""

from __future__ import annotations

import json
from typing import Final, TypeVar

from hiringhall.config import BadSetting, Declared
from hiringhall.domain.owners import (
    ClientWish,
    ServiceWish,
    complaint_about_client,
    complaint_about_service,
    read_client,
    read_service,
)
from hiringhall.domain.plan import Problem
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.owners import Choice, Stored, put_client, put_service
from hiringhall.operations.service_settings import settings_of
from hiringhall.ports.identity import ClientView, FindClients, FindServices, ServiceView

Wish = TypeVar("Wish")
UNMADE: Final = Choice(spare=False)


async def apply_declared(hall: Hall, declared: Declared) -> None:
    """Make what is declared so. What the file does not name stays as it is.

    Raises:
        BadSetting: something in the file cannot be; the text names it.
        StoreUnavailable: the database cannot be reached.
    """
    for name, members in declared.services.items():
        place = f"services.{name} in {declared.path}"
        service = await _news_of_service(
            hall, name, _checked(read_service(members), complaint_about_service(name), place)
        )
        _agreed(await put_service(hall, name, service, UNMADE), place)
    for name, members in declared.clients.items():
        place = f"clients.{name} in {declared.path}"
        client = _checked(read_client(members), complaint_about_client(name), place)
        _agreed(await put_client(hall, name, await _news_of_client(hall, name, client), UNMADE), place)


def _checked(wish: Wish | list[Problem], complaint: str | None, place: str) -> Wish:
    if complaint is not None:
        raise BadSetting(f"{place}: the name {complaint}")
    if not isinstance(wish, list):
        return wish
    raise BadSetting(f"{place}: " + "; ".join(f"{problem.field} {problem.reason}" for problem in wish[:5]))


def _agreed(outcome: Stored | Refused, place: str) -> None:
    if isinstance(outcome, Refused):
        raise BadSetting(f"{place}: {outcome.detail}")


async def _news_of_service(hall: Hall, name: str, wish: ServiceWish) -> ServiceWish:
    """What is not so already, so that a start does not seal and write what is there."""
    views: list[ServiceView] = await hall.store.read(FindServices((name,)))
    if not views:
        return wish
    (view,) = views
    present = (await settings_of(hall, name)).values if wish.settings else {}
    settings = {key: value for key, value in wish.settings.items() if present.get(key) != value}
    methods = wish.methods if wish.methods is None or json.loads(wish.methods) != json.loads(view.methods) else None
    return ServiceWish(wish.secret, settings, wish.dispatch if wish.dispatch != view.dispatch else None, methods)


async def _news_of_client(hall: Hall, name: str, wish: ClientWish) -> ClientWish:
    views: list[ClientView] = await hall.store.read(FindClients((name,)))
    return ClientWish(wish.secret, None if views and views[0].allow == wish.allow else wish.allow)
