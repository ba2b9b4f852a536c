"""`/register` (RFC 7591): a client describes itself and gets an id. Limited per address and hour.

Only registrations that were made count against the limit, and it shares no bucket with anything
else: hosted platforms reach us from few addresses.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rememberd.auth.clients import Clients
from rememberd.auth.endpoints.replies import refusal, reply
from rememberd.auth.errors import OAuthError
from rememberd.auth.limits import Window, address_key
from rememberd.errors import StorageError


class Register:
    def __init__(self, clients: Clients, limit: Window) -> None:
        self._clients = clients
        self._limit = limit

    async def answer(self, request: Request) -> Response:
        key = address_key(request.client.host if request.client else "")
        wait = self._limit.take(key)  # counted before it is made, or many at once would pass
        if wait is not None:
            text = f"at most {self._limit.most} registrations an hour from one address"
            error = OAuthError("temporarily_unavailable", text)
            response = refusal(error, {"Retry-After": str(wait.seconds)})
            response.status_code = 429
            return response
        try:
            content_type = request.headers.get("content-type", "")
            made = await self._clients.register(await request.body(), content_type)
        except OAuthError as error:
            self._limit.give_back(key)
            return refusal(error)
        except StorageError:
            self._limit.give_back(key)
            return refusal(OAuthError("temporarily_unavailable", "try again in a moment"))
        return reply(made, 201)
