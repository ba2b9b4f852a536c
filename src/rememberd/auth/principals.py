"""From a presented key to a Principal, with one indexed look-up; and the life of keys.

Whatever is unknown, revoked or belongs to a vault that is gone answers None, all alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rememberd.auth import keys, scopes
from rememberd.auth.uses import KEY, Uses
from rememberd.clock import Clock
from rememberd.errors import InvalidInput
from rememberd.model import READ, WRITE, Key, Principal
from rememberd.store import control, ledger
from rememberd.store.control import ListedKey
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

COMMAND_LINE = "command line"  #: who acts there is not known by name


@dataclass(frozen=True, slots=True)
class NewKey:
    """The only moment at which the secret exists outside its owner's hands."""

    key: Key
    secret: str


class Keys:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._uses = Uses(store, KEY)

    async def verify(self, token: str) -> Principal | None:
        """Who a presented key stands for, and how far it reaches; None when it is worth nothing.

        Effective scopes are what the key was given, narrowed by its prefix and suffix.
        """
        presented = keys.read(token)
        if presented is None:
            return None
        # A look-up by primary key takes microseconds, less than handing it to a thread would.
        match = self._store.control.read_here(lambda tx: control.match_key(tx, presented.digest))
        if match is None or not match.usable:
            return None
        self._uses.saw(match.id, self._clock.now())
        return Principal(
            vault_id=match.vault_id,
            scopes=match.scopes & presented.ceiling,
            client=match.id,
            client_name=match.name,
        )

    async def create(
        self,
        vault_id: str,
        *,
        read_only: bool = False,
        scope_names: Iterable[str] = (),
        name: str = "",
        actor: str = COMMAND_LINE,
    ) -> NewKey:
        """Mint a key: read and write unless told otherwise. Raises InvalidInput."""
        granted = scopes.parse(scope_names) or (frozenset({READ}) if read_only else _USUAL)
        if read_only and granted != frozenset({READ}):
            raise InvalidInput(
                "A read-only key carries memories:read alone. Leave out --read-only, or the other "
                "scopes.",
                field="scope",
            )
        secret = keys.mint(read_only=read_only)
        key = Key(
            id=self._clock.new_id("key"),
            vault_id=vault_id,
            name=name or "key",
            hint=keys.hint(secret),
            scopes=granted,
            created_at=self._clock.now(),
        )

        def enter(tx: Transaction) -> None:
            control.add_key(tx, key, keys.digest(secret))
            self._record(tx, actor, "key.created", key)

        await self._store.control.write(enter)
        return NewKey(key, secret)

    async def list(self) -> list[ListedKey]:
        return await self._store.control.read(control.keys)

    async def revoke(self, key_id: str, actor: str = COMMAND_LINE) -> ListedKey:
        """Works at once. Raises NotFound."""

        def end(tx: Transaction) -> ListedKey:
            listed = control.revoke_key(tx, key_id, self._clock.now())
            self._record(tx, actor, "key.revoked", listed.key)
            return listed

        return await self._store.control.write(end)

    def _record(self, tx: Transaction, actor: str, action: str, key: Key) -> None:
        detail = {"vault": key.vault_id, "scopes": scopes.ordered(key.scopes)}
        now = self._clock.now()
        ledger.record(tx, actor=actor, action=action, subject=key.id, detail=detail, now=now)

    async def note_use(self) -> None:
        """Write down when keys were last used; a worker calls this now and then."""
        await self._uses.write()


_USUAL = frozenset({READ, WRITE})
