"""The session cookie: its name, and how it is read, set and cleared. Never logged.

`__Host-` keeps neighbouring hosts from planting one (RFC 6265bis §4.1.3.2); plain http is for
loopback alone, where not every browser takes a Secure cookie.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from rememberd.auth.policy import LOOPBACK


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """`is_safe` is False where it would cross a network in clear: nobody can sign in there."""

    name: str
    is_secure: bool
    is_safe: bool

    @classmethod
    def of(cls, public_url: str) -> SessionCookie:
        parts = urlsplit(public_url)
        if parts.scheme == "https":
            return cls("__Host-rememberd", is_secure=True, is_safe=True)
        # Cookies do not know ports, and a machine may run more than one server.
        host = parts.netloc.removesuffix(f":{parts.port}")
        return cls(f"rememberd-{parts.port or 80}", is_secure=False, is_safe=host in LOOPBACK)

    def read(self, request: Request) -> str | None:
        return request.cookies.get(self.name)

    def set(self, response: Response, token: str) -> None:
        """Lax, so that coming back from an app finds the person signed in; gone with the browser,
        and the session behind it ends sooner.
        """
        response.set_cookie(
            self.name, token, path="/", secure=self.is_secure, httponly=True, samesite="lax"
        )

    def clear(self, response: Response) -> None:
        response.delete_cookie(
            self.name, path="/", secure=self.is_secure, httponly=True, samesite="lax"
        )
