"""When keys and grants were last used; the first use of each day (UTC) goes into the audit chain.

Gathered in memory and written now and then: no call waits for a commit in control.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rememberd.clock import from_micros, to_micros
from rememberd.store import ledger
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Kind:
    """What is used: the queries that look up and write its last use, and the audit's word."""

    look: str
    touch: str
    action: str


KEY = Kind("key_use", "touch_key", "key.used")
GRANT = Kind("grant_use", "touch_grant", "grant.used")


def note(tx: Transaction, kind: Kind, used: str, at: datetime) -> None:
    """Write down one use, of a key or grant by its id."""
    row = tx.one(kind.look, id=used)
    if row is None:
        return
    last = row["last_used_at"]
    if last is None or from_micros(last).date() < at.date():
        ledger.record(
            tx, actor=used, action=kind.action, subject=row["vault_id"], detail={}, now=at
        )
    tx.run(kind.touch, id=used, at=to_micros(at))


class Uses:
    """`saw` as often as you like, `write` now and then."""

    def __init__(self, store: Store, kind: Kind) -> None:
        self._store = store
        self._kind = kind
        self._seen: dict[str, datetime] = {}

    def saw(self, used: str, at: datetime) -> None:
        self._seen[used] = at

    async def write(self) -> None:
        seen, self._seen = self._seen, {}
        if not seen:
            return

        def enter(tx: Transaction) -> None:
            for used, at in seen.items():
                note(tx, self._kind, used, at)

        await self._store.control.write(enter)
