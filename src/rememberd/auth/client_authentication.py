"""Client authentication at the token and revocation endpoints: is the request from this client?

`invalid_client` makes clients throw their registration away, so it is for a wrong proof alone;
what may pass by itself is `temporarily_unavailable`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from rememberd.auth import assertions, tokens
from rememberd.auth.answers import Unfetched
from rememberd.auth.assertions import Assertion, Claimed
from rememberd.auth.client_metadata import SHARED_SECRETS
from rememberd.auth.errors import OAuthError
from rememberd.auth.key_sets import KeySets
from rememberd.auth.known_clients import KnownClients
from rememberd.auth.policy import Refused
from rememberd.auth.presented import Presented, read_presented
from rememberd.clock import Clock, to_micros
from rememberd.model import Client
from rememberd.store.store import Store


class ClientAuthentication:
    """`issuer` and `token_endpoint` are what an assertion may be addressed to."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        clients: KnownClients,
        key_sets: KeySets,
        *,
        issuer: str,
        token_endpoint: str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._clients = clients
        self._key_sets = key_sets
        # Some libraries write an issuer without a path with a slash (python-sdk #1919).
        self._audiences = frozenset({issuer, f"{issuer}/", token_endpoint})

    async def authenticate(self, authorization: str | None, form: Mapping[str, str]) -> Client:
        """The client that a request is from. `form` has every name once.

        Raises OAuthError: `invalid_client` (401, see `presented.challenge`), `invalid_request`
        (400) or `temporarily_unavailable` (503).
        """
        presented = read_presented(authorization, form)
        client = await self._clients.for_token(presented.client_id)
        check_method(client, presented)
        if presented.assertion is not None:
            await self._check_assertion(client, presented.assertion)
        elif client.secret_digest is not None:
            check_secret(client.secret_digest, presented.secret)
        return client

    async def _check_assertion(self, client: Client, assertion: Assertion) -> None:
        now = self._clock.now()
        claimed = assertions.check_claims(assertion.claims, client.id, self._audiences, now)
        if isinstance(claimed, Refused):
            raise _wrong(f"client_assertion: {claimed.reason}")
        algorithm = client.metadata.get("token_endpoint_auth_signing_alg", assertion.algorithm)
        if algorithm != assertion.algorithm:
            raise _wrong("client_assertion: signed with another algorithm than was registered")
        if not await self._is_signed(client, assertion):
            raise _wrong("client_assertion: not signed with a key of this client")
        await self._use_up(client, claimed)

    async def _is_signed(self, client: Client, assertion: Assertion) -> bool:
        """A second look at the published keys if none fits: they may just have been replaced."""
        from rememberd.auth import signatures  # noqa: PLC0415 - joserfc is large, few sign

        for look in (self._key_sets.of, self._key_sets.newest):
            keys = await look(client)
            if isinstance(keys, Unfetched):
                code = "temporarily_unavailable" if keys.passing else "invalid_client"
                raise OAuthError(code, f"The client's keys cannot be had: {keys.reason}.")
            fitting = signatures.candidates(assertion, keys)
            if signatures.signed_by_one_of(assertion, fitting):
                return True
            if fitting and assertion.key_id is not None:
                return False
        return False

    async def _use_up(self, client: Client, claimed: Claimed) -> None:
        """Every assertion counts once (RFC 7523 §3, jti)."""
        digest = hashlib.sha256(f"{client.id}\n{claimed.jti}".encode()).digest()
        until = to_micros(claimed.expires_at)
        is_new = await self._store.control.write(
            lambda tx: tx.run("remember_assertion", digest=digest, expires_at=until)
        )
        if not is_new:
            raise _wrong("client_assertion: used before; make a new one for each request")


def check_method(client: Client, presented: Presented) -> None:
    """Clients keep to the method they registered, where they registered one. Raises OAuthError.

    Who publishes keys may sign, also where `none` would do; and a stray secret of a client that
    never named a method proves nothing and spoils nothing.
    """
    registered, method = client.auth_method, presented.method
    if method == registered:
        return
    publishes_keys = client.jwks is not None or client.jwks_uri is not None
    if method == "private_key_jwt" and client.kind == "document" and publishes_keys:
        return
    said = "token_endpoint_auth_method" in client.metadata
    if method in SHARED_SECRETS and registered == "none" and not said:
        return
    raise _wrong(f"this client is registered for {registered}, not for {method}")


def check_secret(stored: bytes, presented: str) -> None:
    """Raises OAuthError."""
    if not hmac.compare_digest(tokens.digest(presented), stored):
        raise _wrong("the client secret is wrong")


def _wrong(reason: str) -> OAuthError:
    return OAuthError("invalid_client", f"Client authentication failed: {reason}.")
