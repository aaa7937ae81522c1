"""Where the hall and its database are found to be, from the settings."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from hiringhall.config import Settings
from hiringhall.ports.probes import LazyWorker
from hiringhall.probe.addresses import Refusal, Target, parse_networks
from hiringhall.probe.own import OwnPlaces, database_places, listens_on_loopback


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("", []),
        ("postgresql://u:p@db.example/hall", [("db.example", 5432)]),
        ("postgresql://u:p%40x@db.example:6432/hall", [("db.example", 6432)]),
        ("postgres://10.0.0.9:5433", [("10.0.0.9", 5433)]),
        ("postgresql://u@[2001:db8::9]:5433/hall", [("2001:db8::9", 5433)]),
        ("postgresql://u@[2001:db8::9]/hall", [("2001:db8::9", 5432)]),
        ("postgresql://u@one:5433,two/hall", [("one", 5433), ("two", 5432)]),
        ("postgresql://u@/hall?host=one&port=6000", [("one", 6000)]),
        ("postgresql:///hall?host=one,two&port=6000,6001", [("one", 6000), ("two", 6001)]),
        ("postgresql://u@/hall?host=/var/run/sockets", [("localhost", 5432)]),
        ("postgresql://%2Fvar%2Frun:5433/hall", [("localhost", 5433)]),
    ],
)
def test_the_places_of_a_database_are_read_from_its_url(
    url: str, places: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts and ports are those that the driver would connect to; who has a local socket may listen here as well."""
    monkeypatch.delenv("PGPORT", raising=False)
    monkeypatch.delenv("PGHOST", raising=False)
    assert database_places(url) == places


def test_a_url_without_host_means_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a host in the URL the variables of the driver count, and then this machine."""
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGPORT", "7000")
    assert database_places("postgresql:///hall") == [("db.example", 7000)]
    monkeypatch.delenv("PGHOST")
    assert database_places("postgresql:///hall") == [("localhost", 7000)]


@pytest.mark.parametrize(
    ("hosts", "loopback"),
    [
        (["127.0.0.1"], True), (["::1"], True), (["localhost"], True), (["127.0.0.1", "0.0.0.0"], False),
        (["0.0.0.0"], False), (["::"], False), (["192.0.2.7"], False), ([], False), (["hall.example"], False),
    ],
)  # fmt: skip
def test_listening_on_loopback_means_on_nothing_else(hosts: list[str], loopback: bool) -> None:
    """Only a hall all of whose listeners are on loopback hears nobody but this machine."""
    assert listens_on_loopback(hosts) is loopback


def judge(rules: Any, ip: str, port: int) -> Target | Refusal:
    """What the rules say to a worker that registered from that same address."""
    found: Target | Refusal = rules.judge(LazyWorker("w", ip, port, ip, False))
    return found


async def test_a_hall_on_loopback_refuses_its_own_ports_and_its_database() -> None:
    """The rules of a server on 127.0.0.1 let workers of this machine be probed, but not the hall or its database."""
    settings = Settings(
        database="postgresql://u@localhost:5499/hall", database_listen="postgresql://u@127.0.0.1:5498/h"
    )
    rules = await OwnPlaces(settings, (), [("127.0.0.1", 8400), ("127.0.0.1", 8401)]).rules()
    assert judge(rules, "127.0.0.1", 55_222) == Target("127.0.0.1", 55_222)
    for port in (8400, 8401, 5498, 5499):
        assert isinstance(judge(rules, "127.0.0.1", port), Refusal)
    assert isinstance(judge(rules, "::1", 8400), Refusal)


async def test_a_hall_that_listens_everywhere_probes_no_loopback_by_itself() -> None:
    """A server on all addresses refuses loopback until a network within loopback allows it, and its own port always."""
    for host in ("0.0.0.0", "::", ""):
        rules = await OwnPlaces(Settings(host=host), (), [(host, 8400)]).rules()
        assert isinstance(judge(rules, "127.0.0.1", 55_222), Refusal)
        opened = await OwnPlaces(Settings(host=host), parse_networks("127.0.0.1"), [(host, 8400)]).rules()
        assert isinstance(judge(opened, "127.0.0.1", 55_222), Target)
        assert isinstance(judge(opened, "127.0.0.1", 8400), Refusal)


async def test_a_name_that_is_not_found_any_more_is_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a look-up fails, the addresses found before stay forbidden."""
    known: dict[str, frozenset[Any]] = {"db.example": frozenset({ipaddress.ip_address("192.0.2.9")})}

    async def look_up(host: str) -> frozenset[Any]:
        return known.get(host, frozenset())

    monkeypatch.setattr("hiringhall.probe.own._addresses", look_up)
    places = OwnPlaces(Settings(database="postgresql://db.example/hall"), parse_networks("192.0.2.0/24"), [])
    assert isinstance(judge(await places.rules(), "192.0.2.9", 5432), Refusal)
    known.clear()
    assert isinstance(judge(await places.rules(), "192.0.2.9", 5432), Refusal)
