"""The settings and secrets of a service, as its workers are told them when they register."""

from __future__ import annotations

import logging

from hiringhall.operations.hall import Hall
from hiringhall.ports.identity import ReadSettings

log = logging.getLogger("hiringhall")


def about_setting(service: str, name: str) -> str:
    """What a sealed setting is bound to: in another place it does not open."""
    return f"setting {service!r} {name!r}"


async def settings_of(hall: Hall, service: str) -> dict[str, str]:
    """The values by name. One that none of the present keys opens is left out, and the log says so.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    sealed: dict[tuple[str, str], str] = await hall.store.read(ReadSettings(service))
    opened = {}
    for (_, name), text in sealed.items():
        value = hall.keyrings.settings.open(text, about_setting(service, name))
        if value is None:
            log.error("the setting %r of the service %r cannot be opened with HALL_KEY", name, service)
        else:
            opened[name] = value.decode()
    return opened
