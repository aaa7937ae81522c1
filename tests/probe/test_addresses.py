"""Which addresses may be probed: every spelling by which a worker could lead the hall where it must not go."""

from __future__ import annotations

import ipaddress
import random
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiringhall.ports.probes import LazyWorker
from hiringhall.probe.addresses import Endpoint, Refusal, Rules, Target, parse_networks
from hiringhall.probe.prober import is_this_machine

PORT = 55_222
EVERYTHING = parse_networks("0.0.0.0/0, ::/0")
IPV4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
IPV6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)


def judged(
    ip: Any, port: Any = PORT, *, source: str = "192.0.2.7", forwarded: bool = False, **rules: Any
) -> Target | Refusal:
    """What the rules say to an address that a worker registered."""
    return Rules(**rules).judge(LazyWorker("service:s/w", ip, port, source, forwarded))


def reason(*arguments: Any, **named: Any) -> str:
    """Why an address is refused."""
    found = judged(*arguments, **named)
    assert isinstance(found, Refusal), f"{arguments} would be probed at {found}"
    return found.reason


def spellings(address: ipaddress.IPv4Address) -> list[str]:
    """An IPv4 address in all the ways that some resolver or socket library understands."""
    number = int(address)
    a, b, c, d = address.packed
    return [
        str(number), hex(number), oct(number).replace("0o", "0"), f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{(c << 8) + d}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"{a:04o}.{b:04o}.{c:04o}.{d:04o}", f"{a}.{b}.{c}.{d}.", f" {address}",
        f"{address} ", f"{address}\n", f"{address}\0", f"{a}.{b}.{c}.0{d}", f"[{address}]", f"{address}:80",
        f"{address}/32", f"http://{address}/", f"{a}。{b}。{c}。{d}", "".join(chr(0xFF10 + int(x)) if x.isdigit() else x
        for x in str(address)), f"{address}%1", f"::ffff:{address}%lo", f"x@{address}",
    ]  # fmt: skip


def disguises(address: ipaddress.IPv4Address) -> list[str]:
    """IPv6 addresses that lead to an IPv4 address."""
    number = int(address)
    return [
        f"64:ff9b::{address}", f"64:ff9b:1::{address}", f"::{address}", f"::ffff:0:{address}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))),
        str(ipaddress.IPv6Address((0x2001_0000 << 96) | (number ^ 0xFFFF_FFFF))),
        f"2001:db8::5efe:{address}", f"2001:db8::200:5efe:{address}",
    ]  # fmt: skip


NEVER = [
    "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.0.1",
    "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "fd00:ec2::254",
    "fd00:0ec2:0:0:0:0:0:fe", "fd20:ce::254", "::", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff00::",
    "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:a9fe:a9fe", "::FFFF:224.0.0.1", "::ffff:0.0.0.0",
]  # fmt: skip


@pytest.mark.parametrize("ip", NEVER)
def test_some_addresses_are_never_probed(ip: str) -> None:
    """Metadata, link-local, multicast and the like are refused to their own source and to every network."""
    said = reason(ip, source=ip, networks=EVERYTHING, listens_on_loopback=True)
    assert "never probed" in said
    assert "HALL_PROBE_NETWORKS" in said


@given(IPV4)
def test_only_the_plain_spelling_is_understood(address: ipaddress.IPv4Address) -> None:
    """Decimal, octal, hexadecimal, short and decorated spellings of an address are refused, whoever spells them."""
    for spelling in spellings(address):
        assert reason(spelling, source=spelling, networks=EVERYTHING, listens_on_loopback=True)


@given(st.one_of(IPV4, st.sampled_from(["127.0.0.1", "169.254.169.254", "10.0.0.1"]).map(ipaddress.IPv4Address)))
def test_no_disguise_leads_to_an_ipv4_address(address: ipaddress.IPv4Address) -> None:
    """NAT64, 6to4, Teredo, ISATAP, IPv4-compatible and IPv4-translated addresses are refused."""
    for disguise in disguises(address):
        if not ipaddress.ip_address(disguise).is_loopback:
            assert reason(disguise, source=disguise, networks=EVERYTHING, listens_on_loopback=True)


@given(IPV4)
def test_a_mapped_address_is_the_address_itself(address: ipaddress.IPv4Address) -> None:
    """An IPv4 address mapped into IPv6 is judged, and probed, as the IPv4 address that it is."""
    for source in (str(address), f"::ffff:{address}"):
        plain, mapped = (judged(ip, source=source) for ip in (str(address), f"::ffff:{address}"))
        assert plain == mapped


@given(st.one_of(IPV4, IPV6), st.one_of(IPV4, IPV6), st.integers(-10, 70_000))
def test_nothing_is_probed_but_the_source(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    source: ipaddress.IPv4Address | ipaddress.IPv6Address,
    port: int,
) -> None:
    """Without networks, what may be probed is the address of the registration, at a port from 1024 to 65535."""
    found = judged(str(address), port, source=str(source))
    if isinstance(found, Target):
        assert address == source
        assert found == Target(str(address), port)
        assert 1024 <= port <= 65_535


@given(st.text(max_size=60))
def test_whatever_is_probed_is_a_number(text: str) -> None:
    """Whatever text a worker registers, a target is a numeric address that the system reads as that very address."""
    found = judged(text, source=text, networks=EVERYTHING)
    if isinstance(found, Target):
        family = socket.AF_INET6 if ":" in found.host else socket.AF_INET
        assert socket.inet_pton(family, found.host) == ipaddress.ip_address(text).packed


@pytest.mark.parametrize(
    "ip", ["localhost", "metadata.google.internal", "127.0.0.1.nip.io", "example.com", "a" * 300, "1" * 5_000, "::1::"]
)
def test_names_are_not_looked_up(ip: str) -> None:
    """A name instead of an address is refused, since whoever owns the name decides where it leads."""
    said = reason(ip, source=ip, networks=EVERYTHING, listens_on_loopback=True)
    assert "192.0.2.7" in said, "the sentence shows what to register"
    assert ip not in said, "what the worker wrote is not repeated"


@pytest.mark.parametrize("ip", ["fe80::1%eth0", "2001:db8::1%1", "::1%lo", "10.0.0.1%eth0"])
def test_a_zone_is_refused(ip: str) -> None:
    """A zone means something on the worker's machine only."""
    assert "zone" in reason(ip, source=ip, networks=EVERYTHING)


@pytest.mark.parametrize("ip", [None, "", 2_130_706_433, True, 1.5, ["10.0.0.1"], {"ip": 1}, b"\x7f\0\0\1"])
def test_an_ip_has_to_be_a_text(ip: object) -> None:
    """A number, a list and nothing at all are no addresses."""
    assert "register" in reason(ip, source="10.0.0.1", networks=EVERYTHING, listens_on_loopback=True)


@pytest.mark.parametrize("port", [None, True, False, "55222", 55_222.0, [55_222], "", "0x50", 0, -1, 65_536, 2**40])
def test_a_port_has_to_be_a_port(port: object) -> None:
    """What is not a whole number from 1 to 65535 is refused, with the numbers that would do."""
    assert "from 1024 to 65535" in reason("192.0.2.7", port)


@pytest.mark.parametrize("port", [1, 22, 25, 80, 443, 1023])
def test_low_ports_are_never_probed(port: int) -> None:
    """Ports below 1024 are refused even where everything is allowed."""
    assert "below 1024" in reason("192.0.2.7", port, networks=EVERYTHING)
    assert judged("192.0.2.7", 1024) == Target("192.0.2.7", 1024)


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1", "127.8.9.10", "::ffff:127.0.0.1", "::ffff:7f00:1", "0::1"])
def test_loopback_is_for_those_who_come_from_it(ip: str) -> None:
    """Loopback is probed if the worker came from it, nothing was forwarded, and the hall listens there alone."""
    here: dict[str, Any] = {"source": ip, "listens_on_loopback": True}
    assert isinstance(judged(ip, **here), Target)
    assert "came through a proxy" in reason(ip, **here | {"forwarded": True})
    assert "HALL_HOST" in reason(ip, **here | {"listens_on_loopback": False})
    assert "not the address from which" in reason(ip, **here | {"source": "192.0.2.7"})
    assert "HALL_PROBE_NETWORKS" in reason(ip, networks=EVERYTHING), "a network around everything opens no loopback"
    assert isinstance(judged(ip, networks=parse_networks("127.0.0.0/8, ::1")), Target)


def test_another_address_needs_a_network() -> None:
    """The sentence for an address that is not the source names both, and the setting that mends it."""
    said = reason("10.1.2.3")
    assert "10.1.2.3" in said
    assert "192.0.2.7" in said
    assert "HALL_PROBE_NETWORKS" in said
    assert judged("10.1.2.3", networks=parse_networks("10.0.0.0/8")) == Target("10.1.2.3", PORT)
    assert judged("2001:DB8:0::7", networks=parse_networks("2001:db8::/32")) == Target("2001:db8::7", PORT)
    assert isinstance(judged("11.1.2.3", networks=parse_networks("10.0.0.0/8")), Refusal)
    assert "broadcast" in reason("10.0.0.255", networks=parse_networks("10.0.0.0/24"))


def test_a_source_that_is_no_address_allows_nothing() -> None:
    """A source that cannot be read matches no address, least of all one that cannot be read either."""
    for source in ("", "unknown", "unix:", "localhost", "192.0.2.7:80"):
        assert "HALL_PROBE_NETWORKS" in reason("192.0.2.7", source=source)


def test_the_hall_and_its_database_are_never_probed() -> None:
    """Their address and port together are refused, by any spelling; the same address at another port is not."""
    own = frozenset(
        {
            Endpoint(ipaddress.ip_address("192.0.2.7"), 8400),
            Endpoint(ipaddress.ip_address("192.0.2.8"), 5432, "the hall's database"),
            Endpoint(ipaddress.ip_address("2001:db8::8"), 5432, "the hall's database"),
        }
    )
    for ip in ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"):
        assert "belongs to the hall itself" in reason(ip, 8400, own=own)
    for ip in ("192.0.2.8", "2001:db8::8", "2001:0db8:0:0:0:0:0:0008"):
        assert "the hall's database" in reason(ip, 5432, own=own, networks=EVERYTHING)
    assert judged("192.0.2.7", 5432, own=own) == Target("192.0.2.7", 5432)
    assert judged("192.0.2.8", 8400, own=own, networks=EVERYTHING) == Target("192.0.2.8", 8400)


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1", "127.3.3.3", "192.0.2.9", "::ffff:192.0.2.9"])
def test_a_hall_that_listens_everywhere_is_known_at_each_of_its_addresses(ip: str) -> None:
    """Who listens on every address of the machine, or on loopback, is not reached by another address of it."""
    rules: dict[str, Any] = {"is_here": lambda address: address == "192.0.2.9", "source": ip}
    rules |= {"networks": EVERYTHING, "listens_on_loopback": True}
    for address in (None, ipaddress.ip_address("127.0.0.1")):
        own = frozenset({Endpoint(address, 8400)})
        assert "belongs to the hall" in reason(ip, 8400, own=own, **rules)
        assert isinstance(judged(ip, 8401, own=own, **rules), Target)
    assert isinstance(judged("192.0.2.10", 8400, own=frozenset({Endpoint(None, 8400)}), **rules), Target)


def test_this_machine_knows_its_own_addresses() -> None:
    """Loopback is this machine's, an address of the documentation is not; nothing is sent to find out."""
    assert is_this_machine("127.0.0.1")
    assert not is_this_machine("192.0.2.1")
    assert not is_this_machine("2001:db8::1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10.0.0.1/8", "10.0.0.0/8"),
        ("10.0.0.0/33", "no network"),
        ("example.com", "no network"),
        ("10.0.0.0/8; 11.0.0.0/8", "no network"),
        ("fe80::/10", "link-local"),
        ("169.254.169.254", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("2002::/16", "6to4"),
        ("64:ff9b::/96", "NAT64"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("fe80::1%eth0", "zone"),
        ("224.0.0.0/8", "multicast"),
        ("010.0.0.0/8", "no network"),
        ("10.0.0.0/8, 1", "no network"),
    ],
)
def test_a_network_that_cannot_be_is_named(text: str, said: str) -> None:
    """An entry of the setting that is no network, or never probed, is told with what to write."""
    with pytest.raises(ValueError, match=said):
        parse_networks(text)


def test_networks_are_read_with_room_around_them() -> None:
    """CIDRs, single addresses, blanks and empty entries are understood."""
    assert [str(each) for each in parse_networks(" 10.0.0.0/8,,192.0.2.7 , 2001:db8::/32,::1,")] == [
        "10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::1/128",
    ]  # fmt: skip
    assert parse_networks("") == ()


def test_no_network_opens_what_is_never_probed() -> None:
    """Random networks around the forbidden addresses leave them forbidden."""
    dice = random.Random(7)
    for ip in NEVER:
        address = ipaddress.ip_address(ip)
        wide = ipaddress.ip_network((address, dice.randrange(0, 8)), strict=False)
        assert reason(ip, networks=(wide,), source=ip)
