"""Looks at a running server from outside, as a client does: through its public URL.

Every check says what it saw; none of them sends a key.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal, TypedDict
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

Outcome = Literal["ok", "warning", "failed", "skipped"]
_TIMEOUT_SECONDS = 10.0
_MOST_CLOCK_SECONDS = 60.0


class Check(TypedDict):
    """One line of the doctor's report. `advice` says what to do unless all is well."""

    name: str
    outcome: Outcome
    detail: str
    advice: str | None


def check(name: str, outcome: Outcome, detail: str, advice: str | None = None) -> Check:
    return Check(name=name, outcome=outcome, detail=detail, advice=advice)


async def look_at(public_url: str) -> list[Check]:
    """Does the URL lead to us, without detours, and does the sign-in start at the right place?"""
    import httpx2  # noqa: PLC0415 - see `line.client_of`

    proxies = not _is_loopback(public_url)  # a proxy could not lead back to this machine
    try:
        async with httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS, trust_env=proxies) as client:
            health = await client.get(f"{public_url}/health")
            found = _health(public_url, health)
            if found["outcome"] != "ok":
                return [found]
            answer = await client.post(f"{public_url}/mcp", json={})
            return [found, _redirect(answer), _challenge(public_url, answer), _clock(health)]
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        detail = f"{public_url} cannot be reached from here: {reason}."
        return [check("public url", "failed", detail, "The setting is public_url.")]


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _health(public_url: str, answer: httpx2.Response) -> Check:
    try:
        ours = answer.is_success and answer.json().get("service") == "rememberd"
    except (ValueError, AttributeError):
        ours = False
    if ours:
        return check("public url", "ok", f"{public_url} answers.")
    detail = f"{public_url}/health answers {answer.status_code}, and not as rememberd does."
    return check("public url", "failed", detail, "Does the proxy pass every path on?")


def _redirect(answer: httpx2.Response) -> Check:
    if not answer.has_redirect_location:
        return check("redirects", "ok", "None on /mcp.")
    detail = f"/mcp answers {answer.status_code} to {answer.headers['location']}."
    advice = "Clients drop the key when redirected: set public_url to where it leads."
    return check("redirects", "failed", detail, advice)


def _challenge(public_url: str, answer: httpx2.Response) -> Check:
    """RFC 9728 §5.1: the 401 says where the resource describes itself; clients start there."""
    wanted = f'resource_metadata="{public_url}/.well-known/oauth-protected-resource/mcp"'
    if answer.status_code == 401 and wanted in answer.headers.get("www-authenticate", ""):
        return check("challenge", "ok", "A call without a key is told where to sign in.")
    detail = f"A call without a key gets {answer.status_code}, without the right challenge."
    return check("challenge", "failed", detail, "Does the proxy pass WWW-Authenticate on?")


def _clock(answer: httpx2.Response) -> Check:
    sent = answer.headers.get("date")
    if sent is None:
        return check("clock", "skipped", "The answer carries no Date.")
    apart = abs(parsedate_to_datetime(sent).timestamp() - time.time())
    if apart <= _MOST_CLOCK_SECONDS:
        return check("clock", "ok", "Agrees with the public URL's.")
    detail = f"{apart:,.0f} seconds apart from the public URL's."
    return check("clock", "warning", detail, "Let both machines set their time by NTP.")
