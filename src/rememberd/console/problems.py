"""What went wrong, as a page says it: a status, a heading and a sentence with a way out.

It must never show an unexpected error's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from rememberd.auth.errors import OAuthError
from rememberd.errors import (
    Conflict,
    Denied,
    InvalidInput,
    NotFound,
    RememberdError,
    StorageError,
    TooManyAttempts,
)

# The first class that fits decides, so a subclass stands above its base.
_KINDS: tuple[tuple[type[RememberdError], HTTPStatus, str], ...] = (
    (InvalidInput, HTTPStatus.BAD_REQUEST, "Please correct one thing"),
    (Denied, HTTPStatus.FORBIDDEN, "That was refused"),
    (NotFound, HTTPStatus.NOT_FOUND, "Nothing is here"),
    (Conflict, HTTPStatus.CONFLICT, "That cannot be done now"),
    (TooManyAttempts, HTTPStatus.TOO_MANY_REQUESTS, "Too many attempts"),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE, "Storage does not answer"),
    (OAuthError, HTTPStatus.BAD_REQUEST, "This app cannot be connected now"),
    (RememberdError, HTTPStatus.BAD_REQUEST, "That did not work"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """`field` names the form field that it is about, if it is about one."""

    status: HTTPStatus
    title: str
    text: str
    field: str | None = None
    retry_after: int | None = None  #: seconds

    @classmethod
    def of(cls, error: RememberdError) -> Problem:
        status, title = next((s, title) for kind, s, title in _KINDS if isinstance(error, kind))
        return cls(
            status,
            title,
            _sentence(error),
            error.field if isinstance(error, InvalidInput) else None,
            error.retry_after if isinstance(error, TooManyAttempts) else None,
        )


# Refusals of the edge, met in a browser's address bar; others are said in their own words.
_REFUSALS = {
    HTTPStatus.UNAUTHORIZED: (
        "This address is for apps",
        "Give it to an app just as it is. The app will send you here to sign in and to decide what "
        "it may do.",
    ),
    HTTPStatus.NOT_FOUND: ("Nothing is here", "The address may be mistyped, or out of date."),
    HTTPStatus.METHOD_NOT_ALLOWED: (
        "That cannot be done here",
        "This address does not take what the browser sent.",
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        "Something went wrong here",
        "It is our fault, not yours. The server's log says more; try again in a moment.",
    ),
}


def refusal(status: int, text: str) -> Problem:
    found = HTTPStatus(status)
    title, said = _REFUSALS.get(found, (found.phrase, text))
    return Problem(found, title, said)


STALE = Problem(
    HTTPStatus.FORBIDDEN,
    "This page was out of date",
    "This page was out of date, so nothing was done. Look it over and send it again.",
)
ELSEWHERE = Problem(
    HTTPStatus.FORBIDDEN,
    "This was sent from another site",
    "This was sent from another site, so nothing was done. If it was you, send it from here.",
)
UNSAFE = Problem(
    HTTPStatus.FORBIDDEN,
    "Signing in needs HTTPS",
    "This server's address is plain http, so a password would cross the network in clear. Put TLS "
    "in front of it and set public_url to the https address, or use it on its own machine at "
    "http://localhost.",
)


def _sentence(error: RememberdError) -> str:
    """Developers' descriptions of OAuth errors have no capital and no full stop."""
    text = error.message
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
