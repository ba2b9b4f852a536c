"""Which address a request comes from, behind proxies that the owner named and no others.

X-Forwarded-For is read from the right, past known proxies only: what a client writes there itself
stands further left and is never believed.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MOST_HOPS = 20


class ClientAddress:
    """Puts the address into `scope["client"]`, where everybody looks for it."""

    def __init__(self, app: ASGIApp, *, proxies: Sequence[str] = ()) -> None:
        self.app = app
        self.proxies: list[Network] = [ipaddress.ip_network(one, strict=False) for one in proxies]

        self._has_warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("client"):
            forwarded = Headers(scope=scope).getlist("x-forwarded-for")
            host, port = scope["client"]
            if forwarded and not self._is_proxy(host):
                self._warn(host)
            elif forwarded:
                hops = ",".join(forwarded).split(",")[-_MOST_HOPS:]
                scope = {**scope, "client": (self._behind(host, hops), port)}
        await self.app(scope, receive, send)

    def _warn(self, host: str) -> None:
        """Once: with a proxy that is not known, all its visitors share the limits of one."""
        if not self._has_warned:
            self._has_warned = True
            advice = "if it is a proxy of yours, add it to trusted_proxies"
            data = {"address": host, "advice": advice}
            logger.warning("an address that is not known forwards requests", extra={"data": data})

    def _behind(self, peer: str, hops: list[str]) -> str:
        address = peer
        for hop in reversed(hops):
            if not self._is_proxy(address):
                return address
            named = _plain(hop)
            if named is None:
                return address
            address = named
        return address

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A socket for both families shows IPv4 peers as ::ffff:192.0.2.1 (RFC 4291 §2.5.5.2).
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self.proxies)


def _plain(hop: str) -> str | None:
    """An address without port or brackets; None for anything else."""
    text = hop.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
