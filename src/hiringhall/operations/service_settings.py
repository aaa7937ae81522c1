"""The settings and secrets of a service, as its workers are told them when they register."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.ports.identity import ReadSettings

NAMED_MAX: Final = 10
MEND: Final = (
    "start it with the key that encrypted them in HALL_KEY or HALL_KEY_FILE (without these, in the file `key` of the "
    "data folder), or set them anew"
)
log = logging.getLogger("hiringhall")


@dataclass(frozen=True, slots=True)
class Opened:
    """What the present keys open: the values by name, and the names of the settings that none of them opens."""

    values: dict[str, str]
    closed: tuple[str, ...]


def about_setting(service: str, name: str) -> str:
    """What a sealed setting is bound to: in another place it does not open."""
    return f"setting {service!r} {name!r}"


async def settings_of(hall: Hall, service: str) -> Opened:
    """The settings of a service, opened.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    sealed: dict[tuple[str, str], str] = await hall.store.read(ReadSettings(service))
    values, closed = {}, []
    for (_, name), text in sealed.items():
        value = hall.keyrings.settings.open(text, about_setting(service, name))
        if value is None:
            closed.append(name)
        else:
            values[name] = value.decode()
    return Opened(values, tuple(sorted(closed)))


async def settings_for_worker(hall: Hall, service: str) -> dict[str, str] | Refused:
    """All settings of a service: a worker does not start without some of them.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    opened = await settings_of(hall, service)
    if not opened.closed:
        return opened.values
    detail = (
        f"settings of the service {service!r} cannot be opened with the keys of this server: {_named(opened.closed)}"
    )
    log.error("%s; %s", detail, MEND)
    return Refused("key_missing", f"{detail}; {MEND}")


async def warn_of_closed(hall: Hall) -> None:
    """Say once if there are settings that the present keys do not open, whose services get no workers.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    sealed: dict[tuple[str, str], str] = await hall.store.read(ReadSettings(None))
    opens = hall.keyrings.settings.open
    closed = [
        f"{name[0]}/{name[1]}" for name, text in sorted(sealed.items()) if opens(text, about_setting(*name)) is None
    ]
    if closed:
        log.warning(
            "settings of services cannot be opened with the keys of this server, so that workers of these services "
            "cannot register: %s; %s",
            _named(closed),
            MEND,
        )


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(map(repr, names[:NAMED_MAX])) + (f" and {more} more" if more > 0 else "")
