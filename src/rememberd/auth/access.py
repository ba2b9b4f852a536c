"""From a presented access token to a Principal, with one indexed look-up.

Scopes and role are looked at anew on every call: what was narrowed, widened, revoked or left takes
effect at once. A token is worth something at the one resource it was made for (RFC 8707).
"""

from __future__ import annotations

from rememberd.auth import roles, tokens
from rememberd.auth.principals import Keys
from rememberd.auth.uses import GRANT, Uses
from rememberd.clock import Clock
from rememberd.model import Principal
from rememberd.store import oauth
from rememberd.store.oauth import TokenMatch
from rememberd.store.store import Store


class Access:
    """Keys and tokens alike."""

    def __init__(self, store: Store, clock: Clock, keys: Keys) -> None:
        self._store = store
        self._clock = clock
        self._keys = keys
        self._uses = Uses(store, GRANT)

    async def verify(self, token: str, resource: str) -> Principal | None:
        """Who asks at `resource`; None for whatever is unknown, ended, revoked or for elsewhere."""
        if not tokens.is_whole(token, "mat_"):
            return await self._keys.verify(token)
        digest, now = tokens.digest(token), self._clock.now()
        # A look-up by primary key takes microseconds, less than handing it to a thread would.
        match = self._store.control.read_here(lambda tx: oauth.match_access_token(tx, digest, now))
        if match is None or not match.is_live or match.resource != resource:
            return None
        principal = _principal(match)
        if principal is not None:
            self._uses.saw(match.grant_id, now)
        return principal

    async def last_held(self, token: str, resource: str) -> frozenset[str]:
        """What a token was good for that ran out while its grant goes on; nothing for any other.

        A client that signs in anew asks for what the challenge names, and would lose the rest.
        """
        if not tokens.is_whole(token, "mat_"):
            return frozenset()
        digest, now = tokens.digest(token), self._clock.now()
        match = self._store.control.read_here(lambda tx: oauth.match_access_token(tx, digest, now))
        if match is None or match.resource != resource:
            return frozenset()
        return match.scopes & roles.scopes_of(roles.role_of(match.standing))

    async def note_use(self) -> None:
        """Write down when grants and keys were last used; a worker calls this now and then."""
        await self._keys.note_use()
        await self._uses.write()


def _principal(match: TokenMatch) -> Principal | None:
    """None once the account behind the grant has no role in the vault any more."""
    role = roles.role_of(match.standing)
    if role is None:
        return None
    return Principal(
        vault_id=match.vault_id,
        scopes=match.scopes & roles.scopes_of(role),
        client=match.client_id,
        account_id=match.account_id,
        client_name=match.client_name,
        role=role,
        grant_id=match.grant_id,
    )
