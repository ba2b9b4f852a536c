"""Bounds what strangers may ask for: each address so many refused or unsigned requests a minute.

Requests that carry a good credential are never counted here, in a header or in a form.
`/register` has a bucket of its own.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememberd.auth.limits import Wait, Window, address_key
from rememberd.http.problems import refuse

_REFUSED = frozenset({401, 403, 404, 421})


class StrangerLimit:
    """Counts answers of 401, 403, 404 and 421, and every request to `pages`; over it 429.

    A request that carries a credential, in its header or as those to `forms` do, is let through to
    be looked at; if that turns out to be worth nothing, it is a stranger's like the others.
    """

    def __init__(
        self, app: ASGIApp, *, window: Window, pages: Collection[str], forms: Collection[str]
    ) -> None:
        self.app = app
        self.window = window
        self.pages = frozenset(pages)
        self.forms = frozenset(forms)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        client, path = scope.get("client"), scope["path"]
        key = address_key(client[0] if client else "")
        wait = self.window.check(key)
        if wait and not self._carries_credential(scope):
            return await _too_many(wait)(scope, receive, send)
        replaced = False

        async def counting(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start":
                refused = _is_refusal(message["status"], is_form=path in self.forms)
                if refused or path in self.pages:
                    self.window.count(key)
                if refused and wait:
                    replaced = True
                    return await _too_many(wait)(scope, receive, send)
            if not replaced:
                await send(message)

        await self.app(scope, receive, counting)

    def _carries_credential(self, scope: Scope) -> bool:
        if scope["path"] in self.pages:
            return False
        return scope["path"] in self.forms or "authorization" in Headers(scope=scope)


def _is_refusal(status: int, *, is_form: bool) -> bool:
    """A wrong code or refresh token is a 400 (RFC 6749 §5.2)."""
    return status in _REFUSED or (is_form and status == 400)


def _too_many(wait: Wait) -> ASGIApp:
    """The code is OAuth's: over another one a client could throw its credentials away."""
    text = "Too many requests without a good credential from this address."
    headers = {
        "Retry-After": str(wait.seconds),
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": "Retry-After",
    }
    return refuse("temporarily_unavailable", text, headers)
