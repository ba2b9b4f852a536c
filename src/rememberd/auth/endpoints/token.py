"""`/token`: codes and refresh tokens into access tokens (RFC 6749 §4.1.3 and §6, OAuth 2.1).

A fault of ours is never told as a fault of the client: clients throw their credentials away over
`invalid_grant` and `invalid_client`.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from rememberd.auth import scopes
from rememberd.auth.clients import Clients
from rememberd.auth.endpoints.replies import form, refusal, reply
from rememberd.auth.errors import OAuthError
from rememberd.auth.grants import Grants, Issued
from rememberd.errors import StorageError
from rememberd.model import SCOPES, Client


class Token:
    def __init__(self, clients: Clients, grants: Grants) -> None:
        self._clients = clients
        self._grants = grants

    async def answer(self, request: Request) -> Response:
        try:
            params = await form(request)
            client = await self._clients.authenticate(params, request.headers)
            return reply(_body(await self._grant(client, params)))
        except OAuthError as error:
            return refusal(error, self._clients.challenge_for(error, request.headers))
        except StorageError:
            return refusal(OAuthError("temporarily_unavailable", "try again in a moment"))

    async def _grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        match params.get("grant_type"):
            case "authorization_code":
                return await self._grants.exchange(
                    client,
                    _required(params, "code"),
                    params.get("code_verifier"),
                    params.get("redirect_uri"),
                    params.get("resource"),
                )
            case "refresh_token":
                return await self._grants.refresh(
                    client,
                    _required(params, "refresh_token"),
                    _narrowed(params.get("scope")),
                    params.get("resource"),
                )
            case None:
                raise OAuthError("invalid_request", "grant_type is missing")
            case _:
                raise OAuthError(
                    "unsupported_grant_type", "use authorization_code or refresh_token"
                )


def _required(params: Mapping[str, str], name: str) -> str:
    if name not in params:
        raise OAuthError("invalid_request", f"{name} is missing")
    return params[name]


def _narrowed(scope: str | None) -> frozenset[str] | None:
    """None: all that was granted. offline_access and unknown names mean nothing here."""
    if scope is None:
        return None
    return frozenset(scope.split()) & frozenset(SCOPES) or None


def _body(issued: Issued) -> dict[str, object]:
    """RFC 6749 §5.1; `scope` always, since a person may have granted less than was asked for."""
    return {
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "refresh_token": issued.refresh_token,
        "scope": " ".join(scopes.ordered(issued.scopes)),
    }
