"""How a client says who it is at the token and revocation endpoints (RFC 6749 §2.3, RFC 7521 §4.2).

Pure: reads the request, believes nothing in it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_plus

from rememberd.auth import assertions
from rememberd.auth.assertions import Assertion
from rememberd.auth.errors import OAuthError
from rememberd.auth.policy import Refused

Method = Literal["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]


@dataclass(frozen=True, slots=True)
class Presented:
    """Who a request says it is from, and what it offers as proof."""

    client_id: str
    method: Method
    secret: str = ""
    assertion: Assertion | None = None


def challenge(authorization: str | None) -> str | None:
    """`WWW-Authenticate` for a 401, due if the client tried the header (RFC 6749 §5.2)."""
    return 'Basic realm="rememberd"' if _basic(authorization) is not None else None


def read_presented(authorization: str | None, form: Mapping[str, str]) -> Presented:
    """From the Authorization header and the form, in which every name stands once.

    Raises OAuthError `invalid_client`, or `invalid_request` for two ways at once.
    """
    basic = _basic(authorization)
    if "client_assertion" in form or "client_assertion_type" in form:
        found = _by_assertion(form)
    elif basic is not None:
        found = _by_header(basic)
    elif "client_id" in form:
        secret = form.get("client_secret", "")
        found = Presented(form["client_id"], "client_secret_post" if secret else "none", secret)
    else:
        raise OAuthError("invalid_client", "The request does not say which client it is from.")
    _check_agreement(found, basic, form)
    return found


def _check_agreement(found: Presented, basic: str | None, form: Mapping[str, str]) -> None:
    """Naming oneself twice is fine, proving oneself twice is not (RFC 6749 §2.3)."""
    ways = (found.assertion is not None, basic is not None, bool(form.get("client_secret")))
    if sum(ways) > 1:
        raise OAuthError("invalid_request", "Authenticate in one way only.")
    if form.get("client_id", found.client_id) != found.client_id:
        raise OAuthError("invalid_request", "client_id differs from the client authenticated.")


def _basic(authorization: str | None) -> str | None:
    """What follows `Basic`; None for no header, or another scheme, which is not for us."""
    scheme, _, rest = (authorization or "").strip().partition(" ")
    return rest.strip() if scheme.lower() == "basic" else None


def _by_header(basic: str) -> Presented:
    """Both halves are form-encoded before they are joined (RFC 6749 §2.3.1). An empty secret is
    none: public clients of some libraries name themselves like this (metamcp #342).
    """
    try:
        pair = base64.b64decode(basic, validate=True).decode("utf-8")
    except (ValueError, binascii.Error):
        raise OAuthError("invalid_client", "The Authorization header cannot be read.") from None
    client_id, _, secret = map(unquote_plus, pair.partition(":"))
    return Presented(client_id, "client_secret_basic" if secret else "none", secret)


def _by_assertion(form: Mapping[str, str]) -> Presented:
    if form.get("client_assertion_type") != assertions.TYPE:
        raise OAuthError("invalid_client", f"client_assertion_type must be {assertions.TYPE}.")
    assertion = assertions.read(form.get("client_assertion", ""))
    if isinstance(assertion, Refused):
        raise OAuthError("invalid_client", f"client_assertion: {assertion.reason}.")
    if assertion.client_id is None:
        raise OAuthError("invalid_client", "client_assertion: sub is missing.")
    return Presented(assertion.client_id, "private_key_jwt", assertion=assertion)
