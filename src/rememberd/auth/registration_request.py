"""The body of a registration (RFC 7591 §2 and §3.1): read member by member, or refused. Pure.

Members that we do not know are left out; a refusal names the member and, of a list, its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from rememberd.auth.client_metadata import (
    SHARED_SECRETS,
    read_algorithm,
    read_keys,
    read_name,
    read_redirects,
)
from rememberd.auth.errors import OAuthError
from rememberd.auth.https_url import read_url
from rememberd.auth.json_object import read_object
from rememberd.auth.policy import LOOPBACK, Redirect, Refused

LONGEST_BODY = 16_384
GRANT_TYPES = ("authorization_code", "refresh_token")
METHODS = ("none", *SHARED_SECRETS, "private_key_jwt")

_MEDIA_TYPE = re.compile(r"application/(?:[a-z0-9.-]+\+)?json", re.IGNORECASE)
_SCOPE = re.compile(r"[!#-\[\]-~]+(?: [!#-\[\]-~]+)*")  # RFC 6749 §3.3
_LABEL = re.compile(r"[ -~]{1,200}")


def read_registration(body: bytes, content_type: str | None) -> dict[str, Any]:
    """What is registered, with `redirect_uris` as they were sent.

    Raises OAuthError `invalid_redirect_uri` or `invalid_client_metadata`.
    """
    said = _read_body(body, content_type)
    if isinstance(said, Refused):
        raise OAuthError("invalid_client_metadata", said.reason)
    kept: dict[str, Any] = {"redirect_uris": _redirect_uris(said)}
    for name, read in _MEMBERS.items():
        value = read(said[name]) if name in said else None
        if isinstance(value, Refused):
            raise OAuthError("invalid_client_metadata", f"{name}: {value.reason}")
        if value is not None:
            kept[name] = value
    return kept | _keys(said, kept)


def _read_body(body: bytes, content_type: str | None) -> dict[str, Any] | Refused:
    media_type = (content_type or "application/json").partition(";")[0].strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        return Refused("the body must be of type application/json")
    if len(body) > LONGEST_BODY:
        return Refused(f"the body is longer than {LONGEST_BODY} bytes")
    said = read_object(body)
    return Refused(f"the body is {said.reason}") if isinstance(said, Refused) else said


def _redirect_uris(said: Mapping[str, Any]) -> list[str]:
    """All or nothing: a client that lost one of its URIs would not learn why sign-in fails."""
    redirects = read_redirects(said.get("redirect_uris"))
    if isinstance(redirects, Refused):
        raise OAuthError("invalid_redirect_uri", redirects.reason)
    for problem in redirects.refused:
        raise OAuthError("invalid_redirect_uri", problem.reason)
    # Only if said: OIDC's default is `web`, and native apps leave it out (claude-code #37747).
    if said.get("application_type") == "web" and not all(map(_is_on_the_web, redirects.accepted)):
        raise OAuthError(
            "invalid_redirect_uri", "redirect_uris: application_type web needs https everywhere"
        )
    return list(redirects.uris)


def _is_on_the_web(redirect: Redirect) -> bool:
    return redirect.kind == "web" and redirect.host not in LOOPBACK


def _keys(said: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    keys = read_keys(said)
    if isinstance(keys, Refused):
        raise OAuthError("invalid_client_metadata", keys.reason)
    if kept.get("token_endpoint_auth_method") == "private_key_jwt" and not keys:
        raise OAuthError("invalid_client_metadata", "private_key_jwt needs jwks or jwks_uri")
    named = {"jwks": keys.jwks, "jwks_uri": keys.jwks_uri}
    return {name: value for name, value in named.items() if value is not None}


# --- one member each: what is kept, None to leave it out, or why it is refused -------------------


def _name(value: object) -> str | Refused | None:
    return read_name(value) or None


def _one_of(*choices: str) -> Callable[[object], str | Refused]:
    def read(value: object) -> str | Refused:
        if isinstance(value, str) and value in choices:
            return value
        return Refused(f"only {', '.join(choices)} are supported")

    return read


def _needing(needed: str, *known: str) -> Callable[[object], list[str] | Refused]:
    """A list, from which unknown values are left out: others serve them (toolhive #6290)."""

    def read(value: object) -> list[str] | Refused:
        said = cast("list[object]", value) if isinstance(value, list) else []
        kept = [one for one in known if one in said]
        return kept if needed in kept else Refused(f"must hold {needed}")

    return read


def _scope(value: object) -> str | Refused | None:
    """Advisory: what a client may have is decided at consent (python-sdk #2216)."""
    if not isinstance(value, str) or len(value) > 1_000:
        return Refused("not a text of at most 1,000 characters")
    if not value.strip():
        return None
    return value if _SCOPE.fullmatch(value) else Refused("not scopes separated by single spaces")


def _link(value: object) -> str | None:
    """Only https is worth keeping; we show none of them."""
    return value if isinstance(value, str) and not isinstance(read_url(value), Refused) else None


def _label(value: object) -> str | None:
    return value if isinstance(value, str) and _LABEL.fullmatch(value) else None


_MEMBERS: dict[str, Callable[[object], Any]] = {
    "client_name": _name,
    "token_endpoint_auth_method": _one_of(*METHODS),
    "token_endpoint_auth_signing_alg": read_algorithm,
    "grant_types": _needing("authorization_code", *GRANT_TYPES),
    "response_types": _needing("code", "code"),
    "application_type": _one_of("native", "web"),
    "scope": _scope,
    "client_uri": _link,
    "logo_uri": _link,
    "tos_uri": _link,
    "policy_uri": _link,
    "software_id": _label,
    "software_version": _label,
}
