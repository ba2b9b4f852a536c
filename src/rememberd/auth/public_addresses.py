"""Which addresses lie on the public internet. Pure.

Whatever a stranger's host name leads to is asked here before anything is sent to it (RFC 6890).
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address, IPv6Network

_UNICAST = IPv6Network("2000::/3")  # all that is assigned for the public (RFC 4291 §2.4)
# Set aside within it. Named here since what the standard library knows depends on its patch level.
_SPECIAL = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments (RFC 2928), benchmarking and ORCHID among them
        "2001:db8::/32",  # documentation (RFC 3849)
        "3fff::/20",  # documentation (RFC 9637)
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052 §2.1


def is_public(address: str) -> bool:
    """False also for what is no address, and for IPv6 around an IPv4 one that is not public."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return _is_public_v4(found)
    carried = _carried(found)
    if carried:
        return all(_is_public_v4(one) for one in carried)
    special = any(found in network for network in _SPECIAL)
    return found in _UNICAST and not special and found.is_global


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that packets to this one end up at. NAT64 prefixes for local use
    (64:ff9b:1::/48, RFC 8215) are not unwrapped: they are never public.
    """
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    if address.sixtofour:
        return (address.sixtofour,)
    if address.teredo:
        return address.teredo
    if address in _NAT64:
        return (IPv4Address(address.packed[-4:]),)
    return ()
