"""Where a request comes from: its peer, or whom a trusted proxy in front names."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network


def read_networks(text: str) -> tuple[Network, ...]:
    """Networks from a setting: CIDRs or addresses, comma-separated.

    Raises:
        ValueError: one of them is none.
    """
    networks = []
    for part in text.split(","):
        if part.strip():
            try:
                networks.append(ip_network(part.strip(), strict=False))
            except ValueError:
                raise ValueError("must be networks like 10.0.0.0/8, comma-separated") from None
    return tuple(networks)


class Sources:
    """Tells sources apart. `trusted`: the networks of proxies whose `X-Forwarded-For` is believed."""

    def __init__(self, trusted: Sequence[Network] = ()) -> None:
        self._trusted = tuple(trusted)

    def of(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """The source: the peer, or the last address of `X-Forwarded-For` that a trusted peer added."""
        if not self._trusted or not self._trusts(peer):
            return peer
        lines = [value for name, value in headers if name == b"x-forwarded-for"]
        source = peer
        for entry in reversed(b",".join(lines).decode("latin-1").split(",")):
            address = _plain(entry)
            if address is None:
                break
            source = address
            if not self._trusts(address):
                break
        return source

    def _trusts(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        if found.version == 6 and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return any(found in network for network in self._trusted)


def _plain(entry: str) -> str | None:
    """The address of an entry, without the port that some proxies add; None if it is none."""
    text = entry.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None
