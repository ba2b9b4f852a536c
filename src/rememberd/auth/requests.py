"""Authorization requests (RFC 6749 §4.1.1, OAuth 2.1 §4.1.1): read, checked, answered. Pure.

Nothing is ever sent to a redirect URI before client and URI were found to belong together; what is
wrong before that is shown to the person instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote_plus, urlencode

from rememberd.auth import policy, scopes
from rememberd.auth.errors import Code, OAuthError
from rememberd.model import READ, SCOPES, Client

LONGEST_STATE = 4_096


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A request that may be put before a person."""

    client_id: str
    redirect_uri: str  #: where the answer goes
    redirect_in_request: str | None  #: as sent; the token request has to repeat it
    state: str | None
    scopes: frozenset[str]
    resource: str
    challenge: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"scopes": scopes.ordered(self.scopes)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AuthorizationRequest:
        fields: dict[str, Any] = {**plain, "scopes": frozenset(plain["scopes"])}
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Shown:
    """Wrong in a way that only the person may be told: nothing may be redirected."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SentBack:
    """Wrong in a way that the client is told, at its redirect URI."""

    redirect_uri: str
    state: str | None
    error: Code
    description: str


def single(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Parameters by name; an empty one counts as left out (RFC 6749 §3.1).

    Raises OAuthError for one sent twice.
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    for name, value in pairs:
        if name in seen:
            raise OAuthError("invalid_request", f"the parameter {name[:64]} was sent twice")
        seen.add(name)
        if value:
            found[name] = value
    return found


def check_redirect(params: Mapping[str, str], client: Client) -> str | Shown:
    """The URI that answers may go to."""
    found = policy.find_redirect(client.redirect_uris, params.get("redirect_uri"))
    if found is None:
        return Shown(
            "This app sent a wrong return address",
            "The address that the app wants to return to is not one that it registered. Nothing "
            "was sent there. Remove the connection in the app and add it again.",
        )
    return found


def may_be_sent(client: Client, sent_back: SentBack) -> bool:
    """Whether a browser may be sent to the redirect URI before anybody said yes.

    Anybody may register any address, so a link to us could lead there (OAuth 2.1 §7.12.2): only
    where somebody let the client in before, or to a program on the person's own computer.
    """
    redirect = policy.read_redirect(sent_back.redirect_uri)
    is_loopback = not isinstance(redirect, policy.Refused) and redirect.kind == "loopback"
    return client.used_at is not None or is_loopback


def check(
    params: Mapping[str, str], client: Client, redirect_uri: str, resources: Mapping[str, str]
) -> AuthorizationRequest | SentBack:
    """Everything else. `resources` maps each served resource to the default one for none."""
    state = params.get("state")

    def refuse(error: Code, description: str) -> SentBack:
        return SentBack(redirect_uri, state, error, description)

    if state is not None and len(state) > LONGEST_STATE:
        return SentBack(redirect_uri, None, "invalid_request", "state is too long")
    if params.get("response_type") != "code":
        named = "response_type" in params
        return refuse(
            "unsupported_response_type" if named else "invalid_request",
            "response_type must be code",
        )
    if params.get("response_mode", "query") != "query":
        return refuse("invalid_request", "response_mode must be query")
    challenge = params.get("code_challenge")
    if challenge is None or not policy.challenge_is_valid(
        challenge, params.get("code_challenge_method")
    ):
        return refuse("invalid_request", "code_challenge with code_challenge_method S256 is needed")
    resource = policy.resource_of(params.get("resource"), resources, resources[""])
    if resource is None:
        return refuse("invalid_target", f"resource must be {resources['']}")
    return AuthorizationRequest(
        client.id,
        redirect_uri,
        params.get("redirect_uri"),
        state,
        asked_scopes(params.get("scope")),
        resource,
        challenge,
    )


def asked_scopes(scope: str | None) -> frozenset[str]:
    """Known scopes that are asked for; reading alone by default.

    Unknown ones and offline_access are passed over: the consent page decides, and the token
    response says what was granted (RFC 6749 §3.3).
    """
    known = frozenset((scope or "").split()) & frozenset(SCOPES)
    return known or frozenset({READ})


def with_code(request: AuthorizationRequest, code: str, issuer: str) -> str:
    """Where a yes goes."""
    return _append(request.redirect_uri, [("code", code)], request.state, issuer)


def with_error(sent_back: SentBack, issuer: str) -> str:
    """Where a no goes, also with `iss` (RFC 9207 §2)."""
    pairs = [("error", sent_back.error), ("error_description", sent_back.description)]
    return _append(sent_back.redirect_uri, pairs, sent_back.state, issuer)


def denied(request: AuthorizationRequest, issuer: str) -> str:
    sent_back = SentBack(
        request.redirect_uri, request.state, "access_denied", "the request was denied"
    )
    return with_error(sent_back, issuer)


def _append(uri: str, pairs: list[tuple[str, str]], state: str | None, issuer: str) -> str:
    """The URI's own query stays (RFC 6749 §4.1.2), but no parameter of ours may be in it twice,
    however it is spelled.
    """
    base, _, query = uri.partition("?")
    if state is not None:
        pairs = [*pairs, ("state", state)]
    pairs = [*pairs, ("iss", issuer)]
    ours = {name for name, _ in pairs}
    kept = [part for part in query.split("&") if part and _name(part) not in ours]
    return f"{base}?{'&'.join([*kept, urlencode(pairs)])}"


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0]).strip()
