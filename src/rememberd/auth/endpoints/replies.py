"""What every endpoint of the authorization server says in the same way: forms in, JSON out.

No answer may be cached, and every refusal is JSON, since clients parse whatever comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse

from rememberd.auth.errors import OAuthError
from rememberd.auth.requests import single

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_MOST_FIELDS = 50


async def form(request: Request) -> dict[str, str]:
    """The form's fields. Raises OAuthError `invalid_request`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise OAuthError(
            "invalid_request", "Content-Type must be application/x-www-form-urlencoded"
        )
    return fields(await request.body())


def fields(body: bytes) -> dict[str, str]:
    """URL-encoded pairs, each once; of a body or a query. Raises OAuthError `invalid_request`."""
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except (UnicodeDecodeError, ValueError):
        raise OAuthError("invalid_request", "the parameters cannot be read") from None
    return single(pairs)


def reply(body: Mapping[str, Any], status: int = 200) -> JSONResponse:
    return JSONResponse(dict(body), status, headers=NO_STORE)


def refusal(error: OAuthError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """RFC 6749 §5.2: 401 for a client that did not prove itself, 503 for what may pass or 400."""
    status = {"invalid_client": 401, "temporarily_unavailable": 503}.get(error.error, 400)
    body = {"error": error.error, "error_description": error.description}
    return JSONResponse(body, status, headers={**NO_STORE, **(headers or {})})
