"""Bounds what strangers may ask for, each address so much a minute, in three buckets.

Programs without a good credential, pages that strangers see, and everything else are counted apart,
so that an app whose token has died does not shut the pages for its owner, who may well be at the
same address. A good credential or a session that is signed in is never refused here. `/register`
has a bucket of its own, and probes, preflights and static files have none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememberd.auth.limits import Wait, Window, address_key
from rememberd.http.problems import refuse

_REFUSED = frozenset({401, 403, 404, 421})
_FREE = frozenset({"/health", "/ready", "/register"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """What is counted where. `is_signed_in` is asked only once a bucket is full."""

    strangers: Window  #: programs and pages, each apart
    passers: Window  #: everything else
    mounts: Collection[str]
    forms: Collection[str]  #: a client's credentials are in the form
    pages: Collection[str]
    is_signed_in: Callable[[Request], Awaitable[bool]]


class StrangerLimit:
    """Of programs, those that are refused are counted; of the rest, every request.

    Over the limit a program that carries a credential, in its header or as those to `forms` do, is
    still looked at; if that turns out to be worth nothing, it waits like the others.
    """

    def __init__(self, app: ASGIApp, *, traffic: Traffic) -> None:
        self.app = app
        self.traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_free(scope):
            return await self.app(scope, receive, send)
        client, path, traffic = scope.get("client"), scope["path"], self.traffic
        address = address_key(client[0] if client else "")
        if path in traffic.mounts or path in traffic.forms:
            return await self._program(f"program {address}", scope, receive, send)
        window = traffic.strangers if path in traffic.pages else traffic.passers
        wait = window.take(f"page {address}")
        if wait and not await traffic.is_signed_in(Request(scope)):
            return await _too_many(wait)(scope, receive, send)
        await self.app(scope, receive, send)

    async def _program(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        window, is_form = self.traffic.strangers, scope["path"] in self.traffic.forms
        wait = window.check(key)
        if wait and not is_form and "authorization" not in Headers(scope=scope):
            window.count(key)
            return await _too_many(wait)(scope, receive, send)
        replaced = False

        async def counting(message: Message) -> None:
            nonlocal replaced
            if message["type"] == "http.response.start" and _is_refusal(message["status"], is_form):
                window.count(key)
                if wait:
                    replaced = True
                    return await _too_many(wait)(scope, receive, send)
            if not replaced:
                await send(message)

        await self.app(scope, receive, counting)


def _is_free(scope: Scope) -> bool:
    path: str = scope["path"]
    return path in _FREE or scope["method"] == "OPTIONS" or path.startswith("/static/")


def _is_refusal(status: int, is_form: bool) -> bool:
    """A wrong code or refresh token is a 400 (RFC 6749 §5.2)."""
    return status in _REFUSED or (is_form and status == 400)


def _too_many(wait: Wait) -> ASGIApp:
    """The code is OAuth's: over another one a client could throw its credentials away."""
    text = (
        "Too many requests without a good credential from this address. "
        f"Wait {wait.seconds} seconds and try again."
    )
    return refuse("temporarily_unavailable", text, {"Retry-After": str(wait.seconds)})
