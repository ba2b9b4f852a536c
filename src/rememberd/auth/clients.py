"""OAuth clients as the endpoints see them: looked up, registered, authenticated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rememberd.auth import presented
from rememberd.auth.client_authentication import ClientAuthentication
from rememberd.auth.errors import OAuthError
from rememberd.auth.fetch import Fetcher, Network
from rememberd.auth.key_sets import KeySets
from rememberd.auth.known_clients import KnownClients
from rememberd.auth.metadata_documents import MetadataDocuments
from rememberd.auth.registration import Registrations
from rememberd.clock import Clock
from rememberd.model import Client
from rememberd.store.store import Store


class Clients:
    def __init__(
        self,
        known: KnownClients,
        registrations: Registrations,
        authentication: ClientAuthentication,
    ) -> None:
        self._known = known
        self._registrations = registrations
        self._authentication = authentication

    @classmethod
    def assemble(
        cls,
        store: Store,
        clock: Clock,
        issuer: str,
        network: Network | None = None,
        *,
        documents: bool = True,
    ) -> Clients:
        """Everything about clients, on one store. `network`: how their documents are fetched, if
        clients may be `documents` at all.
        """
        fetcher = Fetcher(clock, network)
        known = KnownClients(store, MetadataDocuments(store, clock, fetcher) if documents else None)
        authentication = ClientAuthentication(
            store,
            clock,
            known,
            KeySets(clock, fetcher),
            issuer=issuer,
            token_endpoint=f"{issuer}/token",
        )
        return cls(known, Registrations(store, clock), authentication)

    def needs_fetch(self, client_id: str) -> bool:
        """Whether looking it up may send a request out: only for people who have signed in."""
        return self._known.is_document(client_id)

    async def resolve(self, client_id: str, requester: str) -> Client:
        """The client, for consent. `requester` is who is signed in, or the address of the request:
        what they may cause to be fetched is limited.

        Raises OAuthError `invalid_client`, or `temporarily_unavailable` if it may work later.
        """
        return await self._known.for_authorization(client_id, requester)

    async def register(self, body: bytes, content_type: str | None) -> dict[str, Any]:
        """RFC 7591; the answer is the JSON of a 201.

        Raises OAuthError `invalid_redirect_uri` or `invalid_client_metadata`.
        """
        return await self._registrations.register(body, content_type)

    async def authenticate(self, form: Mapping[str, str], headers: Mapping[str, str]) -> Client:
        """The client that a request to the token or revocation endpoint is from. `form` has every
        name once; `headers` has names in lower case, or does not care.

        Raises OAuthError `invalid_client`, `invalid_request` or `temporarily_unavailable`.
        """
        return await self._authentication.authenticate(headers.get("authorization"), form)

    def challenge_for(self, error: OAuthError, headers: Mapping[str, str]) -> dict[str, str]:
        """`WWW-Authenticate`, due when a client tried the header and failed (RFC 6749 §5.2)."""
        if error.error != "invalid_client":
            return {}
        value = presented.challenge(headers.get("authorization"))
        return {"WWW-Authenticate": value} if value else {}
