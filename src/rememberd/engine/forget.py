"""Deletes memories one by one, or all of them with proof. Gone means gone from the disk.

A deletion is acknowledged only after the log that held the old bytes was emptied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rememberd.engine.engine import Engine
from rememberd.model import Certificate, Principal
from rememberd.store import ledger, lifecycle, memories
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Deletion:
    """What became of each id, and which reflections quote what was deleted and still stand."""

    deleted: tuple[str, ...]
    not_found: tuple[str, ...]
    surviving_reflections: tuple[str, ...]


async def delete_memories(
    engine: Engine, principal: Principal, memory_ids: Sequence[str]
) -> Deletion:
    """Delete what is here of these ids, in one transaction."""

    def remove(tx: Transaction) -> Deletion:
        survivors = _survivors(tx, memory_ids)
        found = memories.delete(tx, memory_ids)
        deleted = tuple(memory_id for memory_id, memory in found.items() if memory)
        if deleted:
            ledger.record(
                tx,
                actor=principal.client,
                action="memories.deleted",
                subject=principal.vault_id,
                detail={"ids": list(deleted)},
                now=engine.clock.now(),
            )
        missing = tuple(memory_id for memory_id, memory in found.items() if memory is None)
        return Deletion(deleted, missing, survivors)

    async with engine.open(principal, "rw") as vault:
        deletion = await vault.write(remove)
        if deletion.deleted:
            await vault.scrub()
    return deletion


def _survivors(tx: Transaction, memory_ids: Sequence[str]) -> tuple[str, ...]:
    """Reflections, however far up, built from these memories and not deleted with them."""
    going = set(memory_ids)
    found: dict[str, None] = {}
    layer = [memory for memory_id in going if (memory := memories.get(tx, memory_id))]
    while layer:
        layer = [above for memory in layer for above in memories.built_from(tx, memory)]
        found.update(dict.fromkeys(above.id for above in layer if above.id not in going))
    return tuple(found)


async def forget_all(engine: Engine, principal: Principal) -> Certificate:
    """Empty the vault under a new key and prove it; grants and keys keep working."""
    return await lifecycle.forget_all(engine.store, principal.vault_id, principal.client)
