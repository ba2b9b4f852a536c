"""OAuth errors as RFC 6749 §5.2 and its extensions name them, told apart by code."""

from __future__ import annotations

from typing import Literal

from rememberd.errors import RememberdError

Code = Literal[
    "access_denied",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "temporarily_unavailable",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
]


class OAuthError(RememberdError):
    """The authorization server refused; `error` is the code on the wire."""

    code = "oauth_error"

    def __init__(self, error: Code, description: str) -> None:
        super().__init__(description)
        self.error: Code = error
        self.description = description
