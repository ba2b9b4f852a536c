"""Dynamic client registration (RFC 7591): a client describes itself and gets an id.

Anybody may register, so what is said proves nothing, and registrations that nobody ever used are
few and short-lived. Never fetches anything.
"""

from __future__ import annotations

from typing import Any

from rememberd.auth import tokens
from rememberd.auth.client_metadata import SHARED_SECRETS
from rememberd.auth.registration_request import GRANT_TYPES, read_registration
from rememberd.clock import Clock
from rememberd.model import Client
from rememberd.store import oauth
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

MOST_NEVER_USED = 1_000  # the oldest make room for new ones


class Registrations:
    """Clients that come by `/register`. Limits per address are the endpoint's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def register(self, body: bytes, content_type: str | None) -> dict[str, Any]:
        """Enter a client; the answer is the JSON of RFC 7591 §3.2.1, for a 201.

        Raises OAuthError `invalid_redirect_uri` or `invalid_client_metadata`.
        """
        metadata = read_registration(body, content_type)
        client, secret = self._client(metadata)

        def enter(tx: Transaction) -> None:
            oauth.make_room_for_client(tx, MOST_NEVER_USED, client.created_at)
            oauth.put_client(tx, client)

        await self._store.control.write(enter)
        return response(client, secret)

    def _client(self, metadata: dict[str, Any]) -> tuple[Client, str | None]:
        # RFC 7591 §2 has a shared secret as the default. Whoever leaves the method out is nearly
        # always an app on somebody's computer, so it is `none`, and the answer says so.
        method = metadata.get("token_endpoint_auth_method", "none")
        secret = tokens.mint("mcs_") if method in SHARED_SECRETS else None
        client = Client(
            id=self._clock.new_id("clt"),
            kind="registered",
            name=metadata.get("client_name", "Unnamed app"),
            redirect_uris=tuple(metadata["redirect_uris"]),
            auth_method=method,
            secret_digest=tokens.digest(secret) if secret else None,
            jwks=metadata.get("jwks"),
            jwks_uri=metadata.get("jwks_uri"),
            metadata=metadata,
            created_at=self._clock.now(),
        )
        return client, secret


def response(client: Client, secret: str | None) -> dict[str, Any]:
    """All that was registered, defaults too; no nulls and no floats (claude-code #52565)."""
    answer: dict[str, Any] = {
        "client_id": client.id,
        "client_id_issued_at": int(client.created_at.timestamp()),
        "grant_types": list(GRANT_TYPES),
        "response_types": ["code"],
        **client.metadata,
        "token_endpoint_auth_method": client.auth_method,
    }
    if secret is not None:
        answer |= {"client_secret": secret, "client_secret_expires_at": 0}  # 0: never
    return answer
