"""Which client an id names: one that registered here, or one whose id is the URL of a document.

Everything that takes a client_id asks here, so both kinds follow the same rules on every leg.
"""

from __future__ import annotations

from typing import NoReturn

from rememberd.auth import document_rules
from rememberd.auth.errors import OAuthError
from rememberd.auth.metadata_documents import MetadataDocuments
from rememberd.model import Client
from rememberd.store import oauth
from rememberd.store.store import Store

_LONGEST_ID = 2_000


class KnownClients:
    """`documents` is None where the setting `client_documents` is off."""

    def __init__(self, store: Store, documents: MetadataDocuments | None) -> None:
        self._store = store
        self._documents = documents

    def is_document(self, client_id: str) -> bool:
        """Whether looking the client up may send a request out."""
        return self._documents is not None and document_rules.is_url(client_id)

    async def for_authorization(self, client_id: str, requester: str) -> Client:
        """Raises OAuthError `invalid_client`, or `temporarily_unavailable` if it may work later."""
        _check(client_id)
        if self.is_document(client_id) and self._documents:
            return await self._documents.for_authorization(client_id, requester)
        return await self._registered(client_id)

    async def for_token(self, client_id: str) -> Client:
        """Raises OAuthError as above."""
        _check(client_id)
        if self.is_document(client_id) and self._documents:
            return await self._documents.for_token(client_id) or _unknown()
        return await self._registered(client_id)

    async def _registered(self, client_id: str) -> Client:
        found = await self._store.control.read(lambda tx: oauth.client(tx, client_id))
        return found or _unknown()


def _check(client_id: str) -> None:
    if len(client_id) > _LONGEST_ID:
        _unknown()


def _unknown() -> NoReturn:
    # Claude registers anew on exactly this error (fastmcp #1762).
    raise OAuthError("invalid_client", "This client is not known here. It has to register again.")
