"""The Authorization header to a `Principal`, with one look-up, or the 401 that starts a sign-in.

Credentials are taken from this header alone, never from the query string (OAuth 2.1 §5.1.1), and
are never logged or repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import Response

from rememberd.auth import scopes
from rememberd.http.problems import refuse
from rememberd.mcp.challenge import challenge
from rememberd.model import Principal

Verify = Callable[[str], Awaitable[Principal | None]]


@dataclass(frozen=True, slots=True)
class Bearer:
    """`verify` answers for keys and tokens alike; None means unknown, expired or revoked."""

    verify: Verify
    resource_metadata: str  #: URL of the RFC 9728 document of the resource that is guarded
    last_held: Callable[[str], Awaitable[frozenset[str]]] | None = None  #: of a token that ran out

    async def principal(self, headers: Headers) -> Principal | Response:
        """Who asks, or the response that refuses."""
        sent = headers.getlist("authorization")
        token = _token(sent[0]) if len(sent) == 1 else None
        if token is None and len(sent) < 2:
            return self._sign_in()
        found = await self.verify(token) if token else None
        if found is not None:
            return found
        held = await self.last_held(token) if token and self.last_held else frozenset[str]()
        return self._refuse(held or scopes.DEFAULT)

    def _sign_in(self) -> Response:
        """No error code when nothing was sent (RFC 6750 §3.1): some clients give up over one."""
        header = challenge(self.resource_metadata, scopes.DEFAULT)
        text = "Send a key or an access token as: Authorization: Bearer …"
        return refuse("unauthorized", text, {"WWW-Authenticate": header})

    def _refuse(self, wanted: Iterable[str]) -> Response:
        text = "The key or token is unknown, expired or revoked"
        header = challenge(self.resource_metadata, wanted, error="invalid_token", description=text)
        return refuse("invalid_token", f"{text}.", {"WWW-Authenticate": header})


def _token(header: str) -> str | None:
    """The token of a Bearer header; another scheme is as if nothing had been sent."""
    scheme, _, token = header.partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
