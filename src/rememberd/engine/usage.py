"""Rolls a vault's usage up into control, each delta once, however often this is repeated."""

from __future__ import annotations

from rememberd.engine.engine import Engine
from rememberd.store import control, ledger


async def roll_up(engine: Engine, vault_id: str) -> None:
    """Carry over what control does not have yet. A crash half-way only means doing it again."""
    store = engine.store
    done = await store.control.read(lambda tx: control.rolled_up_to(tx, vault_id))
    while True:
        after = done
        async with store.vault(vault_id, "ro") as vault:
            deltas = await vault.read(lambda tx, after=after: ledger.usage_since(tx, after))
        if not deltas:
            return
        await store.control.write(lambda tx, deltas=deltas: control.roll_up(tx, vault_id, deltas))
        done = deltas[-1].seq
