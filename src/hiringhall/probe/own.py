"""Where the hall itself and its database are, so that no worker can have them probed."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from hiringhall.config import Settings
from hiringhall.probe.addresses import Address, Endpoint, Network, Refusal, Rules, address_of
from hiringhall.probe.prober import is_this_machine

DATABASE_PORT: Final = 5432
LOCALHOST: Final = "localhost"
ANYWHERE: Final = "0.0.0.0"
LOOK_UP_SECONDS: Final = 2.0


def listens_on_loopback(hosts: Iterable[str]) -> bool:
    """Whether all of these hosts mean loopback, and there is one."""
    known = [host == LOCALHOST or _is_loopback(address_of(host)) for host in hosts]
    return bool(known) and all(known)


def _is_loopback(address: Address | Refusal) -> bool:
    return not isinstance(address, Refusal) and address.is_loopback


def database_places(url: str) -> list[tuple[str, int]]:
    """The hosts and ports that a database URL names, as its driver reads them. A local socket is at this machine."""
    if not url:
        return []
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    named = [place for place in parts.netloc.rpartition("@")[2].split(",") if place]
    ports = _listed(query.get("port", [os.environ.get("PGPORT", "")])[0])
    if not named:
        hosts = query.get("host") or query.get("hostaddr") or [os.environ.get("PGHOST", LOCALHOST)]
        named = _listed(hosts[0])
    places = []
    for number, place in enumerate(named):
        host, port = _split(unquote(place))
        port = port or (ports[min(number, len(ports) - 1)] if ports else "")
        places.append((LOCALHOST if host.startswith("/") else host, int(port) if port.isdecimal() else DATABASE_PORT))
    return places


def _listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _split(place: str) -> tuple[str, str]:
    """Host and port of `host:port`, `[address]:port` or either alone."""
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        return host, rest.removeprefix(":")
    host, colon, port = place.rpartition(":")
    if not colon or ":" in host:
        return place, ""
    return host, port


class OwnPlaces:
    """Finds the rules of one server. Names are looked up each time; one that is not found is what it was before."""

    def __init__(self, settings: Settings, networks: tuple[Network, ...], listening: Sequence[tuple[str, int]]) -> None:
        """`listening`: hosts and ports at which the server listens."""
        self._networks = networks
        self._listening = [(host or ANYWHERE, port) for host, port in listening]
        self._databases = [
            place for url in (settings.database, settings.database_listen) for place in database_places(url)
        ]
        self._found: dict[str, frozenset[Address]] = {}

    async def rules(self) -> Rules:
        """The rules as of now."""
        for host, _ in (*self._listening, *self._databases):
            self._found[host] = await _addresses(host) or self._found.get(host, frozenset())
        own = {
            Endpoint(None if address.is_unspecified else address, port)
            for host, port in self._listening
            for address in self._found[host]
        }
        own |= {
            Endpoint(address, port, "the hall's database")
            for host, port in self._databases
            for address in self._found[host]
        }
        return Rules(
            networks=self._networks,
            own=frozenset(own),
            listens_on_loopback=listens_on_loopback([host for host, _ in self._listening]),
            is_here=is_this_machine,
        )


async def _addresses(host: str) -> frozenset[Address]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:  # which a timeout is, too
        return frozenset()
    known = (address_of(str(name[4][0]).partition("%")[0]) for name in found)
    return frozenset(address for address in known if not isinstance(address, Refusal))
