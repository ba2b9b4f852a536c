"""Who may reach this server through a browser: host names that are ours, web origins we know.

Both checks come before any credential is looked at. They must never trust a forwarded header.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rememberd.http.middleware import raw, with_headers
from rememberd.http.problems import refuse

# With these a page can read the challenge, too (twenty PR#19836).
_EXPOSED = "WWW-Authenticate, MCP-Protocol-Version, Retry-After, X-Request-Id"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class KnownHost:
    """Refuses host names that are not ours, so that no web page can rebind its name to this server.

    Addresses are always let through: an attack by DNS rebinding carries the attacker's name.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts} | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._known(Headers(scope=scope).getlist("host")):
            text = "This host name is not served here. See the settings public_url, allowed_hosts."
            return await refuse("misdirected_request", text)(scope, receive, send)
        await self.app(scope, receive, send)

    def _known(self, sent: list[str]) -> bool:
        name = _hostname(f"//{sent[0]}") if len(sent) == 1 else None
        return name is not None and (name in self.hosts or _is_address(name))


class Origins:
    """The web origins whose pages may call an MCP endpoint.

    Loopback passes on any port (local tools such as the Inspector); it still needs a token.
    """

    def __init__(self, known: Collection[str]) -> None:
        self._known = frozenset(known)

    def allows(self, origin: str) -> bool:
        if origin in self._known:
            return True
        return origin.startswith(("http://", "https://")) and _hostname(origin) in _LOOPBACK


class Readable:
    """Lets pages read the answers that are for them, refusals too, wherever those come from.

    `is_open` says which paths are for any page: no cookie is ever looked at there. What is at
    `mounts` is for pages of origins that we know.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        is_open: Callable[[str], bool],
        mounts: Collection[str],
        origins: Origins,
    ) -> None:
        self.app = app
        self.is_open = is_open
        self.mounts = mounts
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (headers := self._headers(scope)):
            send = with_headers(send, raw(headers))
        await self.app(scope, receive, send)

    def _headers(self, scope: Scope) -> dict[str, str]:
        if self.is_open(scope["path"]):
            return {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
        if scope["path"] not in self.mounts:
            return {}
        origin = Headers(scope=scope).get("origin")
        if origin is None or not self.origins.allows(origin):
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": _EXPOSED,
        }


class KnownOrigin:
    """For one route: refuses web pages of other origins."""

    def __init__(self, app: ASGIApp, *, origins: Origins) -> None:
        self.app = app
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin")
        if origin is not None and not self.origins.allows(origin):
            text = "This web origin may not call here. See the setting allowed_origins."
            return await refuse("origin_not_allowed", text)(scope, receive, send)
        await self.app(scope, receive, send)


class Preflight:
    """For one route: answers a browser that asks before it calls, and before any sign-in."""

    def __init__(self, app: ASGIApp, *, methods: str) -> None:
        self.app = app
        self.headers = {
            "Access-Control-Allow-Methods": methods,
            "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, Last-Event-ID, "
            "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
            "Access-Control-Max-Age": "7200",
            "Allow": methods,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS":
            return await Response(status_code=204, headers=self.headers)(scope, receive, send)
        await self.app(scope, receive, send)


def _hostname(url: str) -> str | None:
    """The host of an origin or of `//host:port`; None for anything that is more than that."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises on a port that is no number
    except ValueError:
        return None
    plain = not (parts.path or parts.query or parts.fragment or parts.username is not None)
    return parts.hostname if plain else None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
