"""A vault is marked dirty before its first write and clean only when nothing is left to do."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from rememberd.store import control
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import new_vault, opened, remember, texts


async def durably_dirty(store: Store) -> list[str]:
    return await store.control.read(control.dirty_vaults)


async def test_a_vault_is_dirty_before_its_first_write_is_on_disk(store: Store, alice: str) -> None:
    assert await durably_dirty(store) == []

    def look(tx: Transaction) -> list[str]:
        return store.control.read_here(control.dirty_vaults)

    async with store.vault(alice, "rw") as vault:
        assert await vault.write(look) == [alice]
    assert store.dirty() == [alice]


async def test_a_dirty_vault_is_still_dirty_after_a_crash(
    store: Store, alice: str, tmp_path: Path
) -> None:
    bob = await new_vault(store, "bob")
    await remember(store, alice, "hello")
    await texts(store, bob)
    shutil.copytree(store.directory.root, tmp_path / "crashed")
    async with opened(tmp_path / "crashed") as again:
        assert again.dirty() == [alice]


async def test_a_vault_is_clean_once_all_its_writes_were_looked_at(
    store: Store, alice: str
) -> None:
    await remember(store, alice, "hello")
    assert await store.settle(alice, store.writes(alice))
    assert store.dirty() == await durably_dirty(store) == []
    await remember(store, alice, "again")
    assert store.dirty() == await durably_dirty(store) == [alice]


async def test_a_write_that_was_still_going_on_when_the_worker_looked_keeps_it_dirty(
    store: Store, alice: str
) -> None:
    """The worker looked, then the write was committed and ended: it has not seen that memory."""
    async with store.writing(alice):
        looked = store.writes(alice)
        assert not await store.settle(alice, looked)
    assert not await store.settle(alice, looked)
    assert await durably_dirty(store) == [alice]
    assert await store.settle(alice, store.writes(alice))


async def test_a_write_that_begins_while_it_is_called_clean_marks_it_dirty_again(
    store: Store, alice: str
) -> None:
    await remember(store, alice, "hello")
    for number in range(20):
        settling = store.settle(alice, store.writes(alice))
        storing = remember(store, alice, f"fact {number}")
        await asyncio.gather(settling, storing)
        assert await durably_dirty(store) == store.dirty() == [alice]
