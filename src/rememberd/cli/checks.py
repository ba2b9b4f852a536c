"""One line of the doctor's report, and what its lines have in common.

The texts are for a person who looks at them once: what was seen, then what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import httpx2

Outcome = Literal["ok", "warning", "failed", "skipped"]

_WAYS_OUT = {
    421: "Let the proxy pass Host on, or add the host that it sends to allowed_hosts.",
    429: "Wait a minute. Behind a proxy all visitors look like one until trusted_proxies names it.",
    **dict.fromkeys((502, 503, 504), "Does the proxy send requests to this server's port?"),
}


class Check(TypedDict):
    """One line of the doctor's report. `advice` says what to do unless all is well."""

    name: str
    outcome: Outcome
    detail: str
    advice: str | None


def check(name: str, outcome: Outcome, detail: str, advice: str | None = None) -> Check:
    return Check(name=name, outcome=outcome, detail=detail, advice=advice)


def seen(answer: httpx2.Response) -> str:
    """What an answer was, such as `/mcp answers 308 to /mcp/`."""
    to = f" to {answer.headers['location']}" if answer.has_redirect_location else ""
    return f"{answer.url.path} answers {answer.status_code}{to}"


def way_out(answer: httpx2.Response) -> str:
    """What to do about an answer that is not the server's own."""
    if not answer.has_redirect_location:
        usual = "Let the proxy pass every path on unchanged, /.well-known included."
        return _WAYS_OUT.get(answer.status_code, usual)
    here = urlsplit(str(answer.url))
    there = urlsplit(urljoin(str(answer.url), answer.headers["location"]))
    if there.path == here.path and there[:2] != here[:2]:
        return f"Set public_url to {there.scheme}://{there.netloc}."
    return "Let the proxy pass this path on as it is, without a redirect or a sign-in of its own."
