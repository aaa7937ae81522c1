"""Which addresses may be probed: a worker names one, and the hall must not become its way into the network.

Allowed is the address from which the worker registered, and whatever the operator allows; some addresses and ports
are never probed, whatever anybody allows. Addresses are compared as numbers, never as texts.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from hiringhall.ports.probes import LazyWorker

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

SETTING: Final = "HALL_PROBE_NETWORKS"
PORT_LEAST: Final = 1024
PORT_MOST: Final = 65_535
ADDRESS_CHARACTERS_MAX: Final = 45
"""The longest text of an address: an IPv6 address whose last 32 bits are written as IPv4."""

NEVER: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ipaddress.ip_network(network), what)
    for network, what in (
        ("169.254.169.254/32", "the metadata service of a cloud"),
        ("169.254.170.2/32", "the metadata service of a cloud"),
        ("100.100.100.200/32", "the metadata service of a cloud"),
        ("168.63.129.16/32", "the metadata service of a cloud"),
        ("192.0.0.192/32", "the metadata service of a cloud"),
        ("fd00:ec2::/32", "the metadata service of a cloud"),
        ("fd20:ce::254/128", "the metadata service of a cloud"),
        ("0.0.0.0/8", "an unspecified address"),
        ("::/128", "an unspecified address"),
        ("169.254.0.0/16", "a link-local address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("192.0.0.0/24", "an address reserved for protocols"),
        ("224.0.0.0/4", "a multicast address"),
        ("ff00::/8", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
"""What is never probed, and what it is; the first that fits is told."""

DISGUISES: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ipaddress.ip_network(network), name)
    for network, name in (
        ("64:ff9b::/96", "NAT64"),
        ("64:ff9b:1::/48", "NAT64"),
        ("2002::/16", "6to4"),
        ("2001::/32", "Teredo"),
        ("::ffff:0:0:0/96", "IPv4-translated"),
        ("::/96", "IPv4-compatible"),
    )
)
"""IPv6 addresses behind which an IPv4 address stands, so that they would lead around every rule for IPv4."""

LOOPBACKS: Final[tuple[Network, ...]] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""The third quarter of an IPv6 address whose last quarter is the IPv4 address of a tunnel's end."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and port of the hall itself or of its database. `address` None: every address of this machine."""

    address: Address | None
    port: int
    owner: str = "the hall"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a probe goes: a numeric address in its normal form, and a port."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an address is not probed: a sentence that says what is wrong and what mends it."""

    reason: str


def nowhere(_address: str) -> bool:
    """No address is known to be this machine's."""
    return False


@dataclass(frozen=True, slots=True)
class Rules:
    """Which addresses one server probes. `is_here` tells whether an address is one of this machine's."""

    networks: tuple[Network, ...] = ()
    own: frozenset[Endpoint] = frozenset()
    listens_on_loopback: bool = False
    is_here: Callable[[str], bool] = nowhere

    def judge(self, worker: LazyWorker) -> Target | Refusal:
        """Where to probe the worker, or why not."""
        port = port_of(worker.port)
        if isinstance(port, Refusal):
            return port
        address = address_of(worker.ip)
        if isinstance(address, Refusal):
            return address
        reason = _never(address) or self._own(address, port) or self._not_allowed(address, worker)
        return Refusal(reason) if reason else Target(str(address), port)

    def _own(self, address: Address, port: int) -> str | None:
        for endpoint in self.own:
            if endpoint.port != port:
                continue
            here = address.is_loopback or self.is_here(str(address))
            if endpoint.address == address or (here and (endpoint.address is None or self._is_here(endpoint.address))):
                return f"{address} port {port} belongs to {endpoint.owner} itself; give the worker another wake-up port"
        return None

    def _is_here(self, address: Address) -> bool:
        return address.is_loopback or self.is_here(str(address))

    def _not_allowed(self, address: Address, worker: LazyWorker) -> str | None:
        source = address_of(worker.source)
        containing = [network for network in self.networks if address in network]
        if address.is_loopback:
            return self._loopback(address, source, worker.forwarded, containing)
        if address == source:
            return None
        if not containing:
            known = f"from which the worker registered ({source})" if isinstance(source, Address) else "of the worker"
            return (
                f"{address} is not the address {known}; to have it probed, "
                f"put {address} or a network around it into {SETTING}"
            )
        for network in containing:
            if network.version == 4 and network.prefixlen < 31 and address == network.broadcast_address:
                return (
                    f"{address} is the broadcast address of {network} in {SETTING}; register the worker's own address"
                )
        return None

    def _loopback(
        self, address: Address, source: Address | Refusal, forwarded: bool, containing: list[Network]
    ) -> str | None:
        # A network as wide as 0.0.0.0/0 is not meant to open what listens on this machine alone.
        if any(inside(network, LOOPBACKS) for network in containing):
            return None
        mend = f"to have it probed, put {address} into {SETTING}"
        if address != source:
            known = f" ({source})" if isinstance(source, Address) else ""
            return f"{address} is loopback, and not the address from which the worker registered{known}; {mend}"
        if forwarded:
            return f"{address} is loopback, and the registration came through a proxy; {mend}"
        if not self.listens_on_loopback:
            return f"{address} is loopback, and the hall listens on more than loopback (HALL_HOST); {mend}"
        return None


def address_of(text: object) -> Address | Refusal:
    """The address that a text means; an IPv4 address mapped into IPv6 is the IPv4 address."""
    if text is None or text == "":
        return Refusal("the worker registered no ip; register the numeric address at which it waits")
    if not isinstance(text, str):
        return Refusal("the registered ip is not a text; register a numeric address such as 192.0.2.7")
    if len(text) > ADDRESS_CHARACTERS_MAX:
        return Refusal("the registered ip is too long for an address; register a numeric one such as 192.0.2.7")
    if "%" in text:
        return Refusal("the registered ip has a zone, which means nothing elsewhere; register an address without '%'")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return Refusal(
            "the registered ip is not a plain numeric address (names, and octal, hexadecimal or one-number spellings, "
            "are not understood); register one such as 192.0.2.7 or 2001:db8::7"
        )
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def port_of(port: object) -> int | Refusal:
    """The port, if it is one that may be probed."""
    wanted = f"give the worker a wake-up port from {PORT_LEAST} to {PORT_MOST}"
    if port is None:
        return Refusal(f"the worker registered no port; {wanted}")
    if isinstance(port, bool) or not isinstance(port, int):
        return Refusal(f"the registered port is not a whole number; {wanted}")
    if not 1 <= port <= PORT_MOST:
        return Refusal(f"the registered port is not one from 1 to {PORT_MOST}; {wanted}")
    if port < PORT_LEAST:
        return Refusal(f"port {port} is below {PORT_LEAST}, where the services of a machine are; {wanted}")
    return port


def _never(address: Address) -> str | None:
    for network, what in NEVER:
        if address in network:
            return f"{address} is {what}, which is never probed, whatever {SETTING} says; register another address"
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        tunnelled = (int(address) >> 32) & 0xFFFF_FFFF in ISATAP
        for name in [name for network, name in DISGUISES if address in network] + ["ISATAP"] * tunnelled:
            return (
                f"{address} ({name}) stands for an IPv4 address, and is never probed, whatever {SETTING} says; "
                "register the IPv4 address itself"
            )
    return None


def inside(network: Network, wider: Iterable[Network]) -> bool:
    """Whether a network lies within one of these."""
    return any(network.version == each.version and network.subnet_of(each) for each in wider)  # type: ignore[arg-type]


def parse_networks(text: str) -> tuple[Network, ...]:
    """The networks of a setting: CIDRs and single addresses, comma-separated.

    Raises:
        ValueError: an entry is no network, or one that is never probed; the text says which and how to mend it.
    """
    networks = []
    for entry in (part.strip() for part in text.split(",")):
        if not entry:
            continue
        if "%" in entry:
            raise ValueError(f"{entry!r}: write it without a zone ('%…')")
        try:
            network = ipaddress.ip_network(entry, strict=False)
        except ValueError:
            raise ValueError(f"{entry!r} is no network; write it as 10.0.0.0/8 or 2001:db8::/32") from None
        given = ipaddress.ip_address(entry.partition("/")[0])
        if given != network.network_address:
            raise ValueError(f"{entry!r} has bits beyond its prefix; write {network} for the network, {given} for one")
        if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96 and _mapped(network):
            raise ValueError(f"{entry!r}: write networks of IPv4 as IPv4, {_mapped(network)}/{network.prefixlen - 96}")
        for never, what in (*NEVER, *DISGUISES):
            if inside(network, (never,)) and network not in LOOPBACKS:
                raise ValueError(f"{entry!r} is never probed ({what}); leave it out")
        networks.append(network)
    return tuple(networks)


def _mapped(network: ipaddress.IPv6Network) -> ipaddress.IPv4Address | None:
    return network.network_address.ipv4_mapped
