"""Bounds what strangers may ask for: each address so many refused or unsigned requests a minute.

Calls that carry a good credential are never counted here. `/register` has a bucket of its own.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememberd.auth.limits import Wait, Window, address_key
from rememberd.http.problems import problem

_COUNTED = frozenset({401, 403, 404, 421})


class StrangerLimit:
    """Counts answers of 401, 403, 404 and 421, and every request to `paths`; over it 429.

    A request that carries a credential is let through to be looked at; if that turns out to be
    worth nothing, it is a stranger's like the others.
    """

    def __init__(self, app: ASGIApp, *, window: Window, paths: Collection[str]) -> None:
        self.app = app
        self.window = window
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        client = scope.get("client")
        key = address_key(client[0] if client else "")
        open_path = scope["path"] in self.paths
        wait = self.window.check(key)
        if wait and (open_path or "authorization" not in Headers(scope=scope)):
            return await _too_many(wait)(scope, receive, send)
        replaced = False

        async def counting(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                refused = message["status"] in _COUNTED
                if refused or open_path:
                    self.window.count(key)
                if refused and wait:
                    replaced = True
                    return await _too_many(wait)(scope, receive, send)
            if not replaced:
                await send(message)

        await self.app(scope, receive, counting)


def _too_many(wait: Wait) -> ASGIApp:
    text = "Too many requests without a credential from this address."
    return problem(429, "too_many_requests", text, {"Retry-After": str(wait.seconds)})
