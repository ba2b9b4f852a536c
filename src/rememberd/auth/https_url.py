"""Which addresses of strangers may be fetched at all, told from their spelling. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rememberd.auth import policy
from rememberd.auth.policy import Refused


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document lies. `target` is path and query, as sent."""

    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        return self.host if self.port == 443 else f"{self.host}:{self.port}"


def read_url(url: str) -> Place | Refused:
    """https and a plain domain name; no user name, fragment or dot segments, nothing but ASCII."""
    read = policy.read_redirect(url)
    if isinstance(read, Refused):
        return read
    if not url.startswith("https://") or read.host in policy.LOOPBACK:
        return Refused("not an https address of a public host")
    target = read.rest if read.rest.startswith("/") else f"/{read.rest}"
    return Place(read.host, int(read.port or 443), target)
