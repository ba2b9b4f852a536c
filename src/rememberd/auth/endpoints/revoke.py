"""`/revoke` (RFC 7009): always 200 for a client that proved itself, whatever the token was."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rememberd.auth.clients import Clients
from rememberd.auth.endpoints.replies import NO_STORE, form, refusal
from rememberd.auth.errors import OAuthError
from rememberd.auth.grants import Grants
from rememberd.errors import StorageError


class Revoke:
    def __init__(self, clients: Clients, grants: Grants) -> None:
        self._clients = clients
        self._grants = grants

    async def answer(self, request: Request) -> Response:
        try:
            params = await form(request)
            client = await self._clients.authenticate(params, request.headers)
            if "token" not in params:
                raise OAuthError("invalid_request", "token is missing")
            await self._grants.revoke_token(client, params["token"])
        except OAuthError as error:
            return refusal(error, self._clients.challenge_for(error, request.headers))
        except StorageError:
            return refusal(OAuthError("temporarily_unavailable", "try again in a moment"))
        return Response(status_code=200, headers=NO_STORE)
