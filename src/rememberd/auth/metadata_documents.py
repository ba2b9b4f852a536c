"""Clients that are a URL: the documents at these URLs, fetched, kept and fetched again.

A document is first fetched for somebody who has signed in, never at a stranger's request. The last
good one is kept in control; what fails never takes its place.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rememberd.auth import document_rules
from rememberd.auth.answers import Fetched, Unfetched
from rememberd.auth.errors import OAuthError
from rememberd.auth.fetch import Fetcher
from rememberd.auth.limits import Window
from rememberd.auth.policy import Refused
from rememberd.clock import Clock
from rememberd.model import Client
from rememberd.store import oauth
from rememberd.store.store import Store

LONGEST_DOCUMENT = 5 * 1024  # bytes; what the draft recommends (§6.6)
KEYS_OUTLIVE = timedelta(days=7)
_PAUSE = 300  # seconds between two attempts to renew a document at the token endpoint


class MetadataDocuments:
    def __init__(self, store: Store, clock: Clock, fetcher: Fetcher) -> None:
        self._store = store
        self._clock = clock
        self._fetcher = fetcher
        self._renewals = Window(1, _PAUSE, clock)

    async def for_authorization(self, client_id: str, requester: str) -> Client:
        """The client as its document says now, give or take what HTTP caching allows.

        Raises OAuthError `invalid_client`, or `temporarily_unavailable` when it may work later.
        """
        known = await self._known(client_id)
        if known is not None and self._is_fresh(known):
            return known
        renewed = await self._renew(client_id, known, requester)
        if isinstance(renewed, Client):
            return renewed
        code = "temporarily_unavailable" if renewed.passing else "invalid_client"
        raise OAuthError(code, f"The document at the client_id cannot be used: {renewed.reason}.")

    async def for_token(self, client_id: str) -> Client | None:
        """The client if its document was ever used here, newly fetched when that is due and works.

        Else the last good document goes on counting (docs/decisions/stale-client-documents.md).
        Raises OAuthError `temporarily_unavailable` when it is too old for that.
        """
        known = await self._known(client_id)
        if known is None or self._is_fresh(known):
            return known
        if self._renewals.take(client_id) is None:
            renewed = await self._renew(client_id, known, requester=client_id)
            if isinstance(renewed, Client):
                return renewed
        if self._is_outlived(known):
            raise OAuthError(
                "temporarily_unavailable", "The document at the client_id cannot be fetched."
            )
        return known

    async def _known(self, client_id: str) -> Client | None:
        return await self._store.control.read(lambda tx: oauth.client(tx, client_id))

    def _is_fresh(self, client: Client) -> bool:
        fetched, stale = client.fetched_at, client.stale_at
        return fetched is not None and stale is not None and fetched <= self._clock.now() < stale

    def _is_outlived(self, client: Client) -> bool:
        """A public client proves nothing by its document, so an old one takes nothing away. Keys
        may have been replaced for a reason.
        """
        if client.auth_method == "none" or client.stale_at is None:
            return False
        return self._clock.now() >= client.stale_at + KEYS_OUTLIVE

    async def _renew(
        self, client_id: str, known: Client | None, requester: str
    ) -> Client | Unfetched:
        place = document_rules.read_client_id(client_id)
        if isinstance(place, Refused):
            return Unfetched(place.reason)
        outcome = await self._fetcher.get(client_id, requester=requester, limit=LONGEST_DOCUMENT)
        if isinstance(outcome, Unfetched):
            return outcome
        client = self._client(client_id, outcome)
        if isinstance(client, Refused):
            return Unfetched(client.reason)
        await self._store.control.write(lambda tx: oauth.put_client(tx, client))
        if known is None:
            return client
        return replace(client, created_at=known.created_at, used_at=known.used_at)

    def _client(self, client_id: str, fetched: Fetched) -> Client | Refused:
        described = document_rules.read_document(client_id, fetched.document)
        if isinstance(described, Refused):
            return described
        now = self._clock.now()
        return Client(
            id=client_id,
            kind="document",
            name=described.name,
            redirect_uris=described.redirect_uris,
            auth_method=described.auth_method,
            metadata=described.metadata,
            jwks=described.keys.jwks,
            jwks_uri=described.keys.jwks_uri,
            created_at=now,
            fetched_at=now,
            stale_at=now + fetched.fresh_for,
        )
