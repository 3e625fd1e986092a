"""Recognise IP addresses outside the public web."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

#: Addresses that carry an IPv4 address in their last 32 bits (RFC 6052).
_TRANSLATED: Final = ip_network("64:ff9b::/96")


def is_private(host: str) -> bool | None:
    """Return True for a loopback, link-local, private or multicast address, and None for a host name.

    >>> is_private("127.0.0.1"), is_private("93.184.216.34"), is_private("[::ffff:10.0.0.1]"), is_private("localhost")
    (True, False, True, None)
    """
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    inner = _embedded(address) if isinstance(address, IPv6Address) else None
    return not (inner or address).is_global or (inner or address).is_multicast


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address embeds, None if it embeds none."""
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
