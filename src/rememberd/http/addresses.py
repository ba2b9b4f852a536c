"""Which address a request comes from, behind proxies that the owner named and no others.

X-Forwarded-For is read from the right, past known proxies only: what a client writes there itself
stands further left and is never believed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MOST_HOPS = 20


class ClientAddress:
    """Puts the address into `scope["client"]`, where everybody looks for it."""

    def __init__(self, app: ASGIApp, *, proxies: Sequence[str] = ()) -> None:
        self.app = app
        self.proxies: list[Network] = [ipaddress.ip_network(one, strict=False) for one in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.proxies and scope.get("client"):
            host, port = scope["client"]
            hops = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
            scope = {**scope, "client": (self._behind(host, hops[-_MOST_HOPS:]), port)}
        await self.app(scope, receive, send)

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
        return any(found in network for network in self.proxies)


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
