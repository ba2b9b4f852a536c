"""What went wrong, as a status and one JSON shape: `{"error": code, "error_description": text}`.

Every refusal outside JSON-RPC has this body, unknown paths included: clients that look for OAuth
documents parse whatever a 404 holds. It must never tell an unexpected error's text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from rememberd.errors import (
    Conflict,
    Denied,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    RememberdError,
    StorageError,
    Unauthenticated,
    UpstreamBusy,
)

# The first class that fits decides, so a subclass stands above its base.
_STATUS: tuple[tuple[type[RememberdError], HTTPStatus], ...] = (
    (InvalidInput, HTTPStatus.BAD_REQUEST),
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Denied, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (QuotaExceeded, HTTPStatus.PAYMENT_REQUIRED),
    (UpstreamBusy, HTTPStatus.TOO_MANY_REQUESTS),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (RememberdError, HTTPStatus.BAD_REQUEST),
)


# What the edge itself refuses: code, status, and when. docs/reference/errors.md is made from it.
REFUSALS: dict[str, tuple[int, str]] = {
    "unauthorized": (401, "No credential was sent. `WWW-Authenticate` says where to sign in."),
    "invalid_token": (
        401,
        "The key or access token is unknown, expired, revoked, or made for another mount.",
    ),
    "origin_not_allowed": (403, "This web origin may not call here (setting `allowed_origins`)."),
    "not_found": (404, "Nothing is served at this path."),
    "method_not_allowed": (405, "The path is served, but not with this method; `Allow` names its."),
    "content_too_large": (413, "The body is over the limit (setting `max_body_bytes`)."),
    "unsupported_media_type": (415, "An MCP mount takes `application/json` only."),
    "misdirected_request": (
        421,
        "This host name is not served here (settings `public_url`, `allowed_hosts`).",
    ),
    "head_too_large": (431, "Request line and headers have more than 64 KiB."),
    "temporarily_unavailable": (
        429,
        "Too many requests without a good credential; `Retry-After` says when to come back.",
    ),
    "server_error": (500, "Something that nobody foresaw; the server's log says more."),
}


class Refused(HTTPException):
    """Raised where a refusal cannot be returned. Same fields as `refuse`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(REFUSALS[code][0], text)
        self.code = code


def problem(
    status: int, code: str, text: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The one error body. `code` is a word for programs, `text` a sentence for people."""
    body = {"error": code, "error_description": text}
    return JSONResponse(body, status, headers=dict(headers or {}))


def refuse(code: str, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """One of REFUSALS, with its status and a text for this case."""
    return problem(REFUSALS[code][0], code, text, headers)


def internal() -> JSONResponse:
    return refuse("server_error", "Internal error; the server's log has more.")


def status_of(error: RememberdError) -> HTTPStatus:
    return next(status for kind, status in _STATUS if isinstance(error, kind))


async def on_domain_error(_: Request, error: Exception) -> JSONResponse:
    """Starlette exception handler for the tree of `errors.py`."""
    if not isinstance(error, RememberdError):
        return internal()
    headers: dict[str, str] = {}
    if isinstance(error, UpstreamBusy) and error.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after))
    return problem(status_of(error), error.code, error.message, headers)


async def on_http_error(_: Request, error: Exception) -> JSONResponse:
    """Starlette exception handler for its own refusals: no such path, wrong method, too large."""
    if not isinstance(error, HTTPException):
        return internal()
    status = HTTPStatus(error.status_code)
    code = error.code if isinstance(error, Refused) else status.name.lower()
    return problem(status, code, error.detail, error.headers)
