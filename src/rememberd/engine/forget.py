"""Deletes memories one by one, or all of them with proof. Gone means gone from the disk.

A deletion is acknowledged only after the log that held the old bytes was emptied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rememberd.engine.engine import Engine
from rememberd.errors import Denied, ReadOnly
from rememberd.model import READ, Certificate, Principal
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
    """Delete what is here of these ids, in one transaction, and let no byte of them remain.

    Goes on to its end when the caller goes away. Raises StorageError when the log could not be
    emptied: then the memories are gone, and the same call again finishes the work.
    """
    return await asyncio.shield(_delete(engine, principal, memory_ids))


async def _delete(engine: Engine, principal: Principal, memory_ids: Sequence[str]) -> Deletion:
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
        await vault.scrub()  # also when nothing was here: an earlier try may have failed at this
    return deletion


def _survivors(tx: Transaction, memory_ids: Sequence[str]) -> tuple[str, ...]:
    """Reflections, however far up, built from these memories and not deleted with them."""
    going = set(memory_ids)
    found: dict[str, None] = {}
    layer = {memory.id: memory for i in memory_ids if (memory := memories.get(tx, i))}
    while layer:
        above = (above for memory in layer.values() for above in memories.built_from(tx, memory))
        layer = {memory.id: memory for memory in above}
        found.update(dict.fromkeys(memory_id for memory_id in layer if memory_id not in going))
    return tuple(found)


async def forget_all(engine: Engine, principal: Principal) -> Certificate:
    """Empty the vault under a new key and prove it; grants and keys keep working.

    Raises Denied unless the caller's account owns the vault, ReadOnly for one who may only read.
    """
    if not principal.scopes - {READ}:
        raise ReadOnly
    if principal.role != "owner":
        raise Denied(
            f"Only owners of a vault can forget all of it; this connection's account is "
            f"{principal.role}. Nothing was deleted."
        )
    return await lifecycle.forget_all(engine.store, principal.vault_id, principal.client)
