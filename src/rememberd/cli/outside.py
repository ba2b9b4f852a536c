"""Looks at a running server from outside, as a client does: through its public URL.

Every check says what it saw; none of them sends a key.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rememberd.cli import discovery
from rememberd.cli.checks import Check, check, seen, way_out
from rememberd.cli.discovery import Document

if TYPE_CHECKING:
    import httpx2

_TIMEOUT_SECONDS = 10.0
_MOST_CLOCK_SECONDS = 60.0
# What the server answers to an empty request: each would be a sign-in that cannot go on elsewhere.
_ENDPOINTS = (
    ("GET", "/authorize", "text/html"),
    ("POST", "/register", "application/json"),
    ("POST", "/token", "application/json"),
)


async def look_at(
    public_url: str, mounts: Sequence[str], documents: Sequence[Document]
) -> list[Check]:
    """Does the URL lead to us, unchanged and without detours, for all that a sign-in needs?"""
    import httpx2  # noqa: PLC0415 - see `line.client_of`

    proxies = not _is_loopback(public_url)  # a proxy could not lead back to this machine
    try:
        async with httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS, trust_env=proxies) as client:
            health = await client.get(f"{public_url}/health")
            if not _is_ours(health):
                detail = f"{public_url}: {seen(health)}, and not as rememberd does."
                return [check("public url", "failed", detail, way_out(health))]
            calls = {
                spelling: await client.post(public_url + spelling, json={})
                for mount in mounts
                for spelling in (mount, f"{mount}/")
            }
            return [
                check("public url", "ok", f"{public_url} answers."),
                await _encryption(client, public_url),
                _redirects(calls),
                _challenges(public_url, {mount: calls[mount] for mount in mounts}),
                await discovery.compare(client, public_url, documents),
                await _sign_in(client, public_url),
                _clock(health),
            ]
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


def _is_ours(health: httpx2.Response) -> bool:
    try:
        return health.is_success and health.json().get("service") == "rememberd"
    except (ValueError, AttributeError):
        return False


async def _encryption(client: httpx2.AsyncClient, public_url: str) -> Check:
    """Plain http beside https is fine when it leads there, or nowhere."""
    import httpx2  # noqa: PLC0415

    if _is_loopback(public_url):
        return check("encryption", "skipped", "Not needed on one machine.")
    url = urlsplit(public_url)
    if url.scheme == "http":
        detail = "Keys travel in clear, and nobody can sign in with a password."
        advice = "Put TLS in front and set public_url to the https address."
        return check("encryption", "warning", detail, advice)
    plain_url = f"http://{url.netloc.removesuffix(f':{url.port}')}"
    try:
        plain = await client.get(f"{plain_url}/health")
    except httpx2.HTTPError:
        return check("encryption", "ok", "There is no way in without it.")
    if not _is_ours(plain):
        return check("encryption", "ok", "Plain http does not lead in.")
    detail = f"{plain_url} leads in as well: a key that is sent there travels in clear."
    return check("encryption", "warning", detail, "Let the proxy redirect http to https.")


def _redirects(calls: Mapping[str, httpx2.Response]) -> Check:
    for answer in calls.values():
        if answer.has_redirect_location:
            detail = f"{seen(answer)}, and clients drop the key when redirected."
            return check("redirects", "failed", detail, way_out(answer))
    return check("redirects", "ok", f"None on {' and '.join(calls)}.")


def _challenges(public_url: str, calls: Mapping[str, httpx2.Response]) -> Check:
    """RFC 9728 §5.1: the 401 says where the resource describes itself; clients start there."""
    for mount, answer in calls.items():
        if answer.has_redirect_location:
            return check("challenge", "skipped", f"{mount} is redirected.")
        where = f"{public_url}/.well-known/oauth-protected-resource{mount}"
        told = answer.headers.get("www-authenticate", "")
        if answer.status_code != 401 or f'resource_metadata="{where}"' not in told:
            detail = f"A call of {mount} without a key gets {answer.status_code}, without "
            advice = "Does the proxy pass WWW-Authenticate on?"
            return check("challenge", "failed", f"{detail}the right challenge.", advice)
    return check("challenge", "ok", "A call without a key is told where to sign in.")


async def _sign_in(client: httpx2.AsyncClient, public_url: str) -> Check:
    """Each endpoint is asked for nothing, which only it refuses in its own way."""
    for method, path, kind in _ENDPOINTS:
        answer = await client.request(method, public_url + path)
        told = answer.headers.get("content-type", "")
        if answer.status_code != 400 or not told.startswith(kind):
            detail = f"{seen(answer)}, and not as rememberd does."
            return check("sign-in", "failed", detail, way_out(answer))
    return check("sign-in", "ok", "/authorize, /register and /token are reached.")


def _clock(answer: httpx2.Response) -> Check:
    sent = answer.headers.get("date")
    if sent is None:
        return check("clock", "skipped", "The answer carries no Date.")
    apart = abs(parsedate_to_datetime(sent).timestamp() - time.time())
    if apart <= _MOST_CLOCK_SECONDS:
        return check("clock", "ok", "Agrees with the public URL's.")
    detail = f"{apart:,.0f} seconds apart from the public URL's."
    return check("clock", "warning", detail, "Let both machines set their time by NTP.")
