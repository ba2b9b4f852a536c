"""The worker makes vectors at once, and gathers what costs a commit in control for a while."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rememberd import worker
from rememberd.store import control, vectors
from tests.engine.world import Models, World, world_on
from tests.store.world import until


async def pending(world: World, vault_id: str) -> int:
    async with world.store.vault(vault_id, "ro") as vault:
        return await vault.read(lambda tx: vectors.count_pending(tx, vectors.active_model(tx)))


async def has_vectors(world: World, vault_id: str) -> None:
    while await pending(world, vault_id):  # noqa: ASYNC110 - nothing tells us when
        await asyncio.sleep(0)


async def rolled_up(world: World, vault_id: str) -> int:
    return await world.store.control.read(lambda tx: control.rolled_up_to(tx, vault_id))


async def test_a_memory_gets_its_vector_at_once_and_its_vault_is_tidied_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "TIDY_SECONDS", 3600)
    async with world_on(tmp_path) as world:
        alice = await world.vault("alice")
        running = asyncio.get_running_loop().create_task(world.worker.run())
        await world.keep(alice, "Alice lives in Porto.")
        await asyncio.wait_for(has_vectors(world, alice.vault_id), 10)
        assert world.store.dirty() == [alice.vault_id]
        assert await rolled_up(world, alice.vault_id) == 0
        running.cancel()
        await world.settled()
        assert world.store.dirty() == []
        assert await rolled_up(world, alice.vault_id) == 1


async def test_a_vault_that_is_written_to_is_clean_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "TIDY_SECONDS", 0.01)
    async with world_on(tmp_path) as world:
        alice = await world.vault("alice")
        running = asyncio.get_running_loop().create_task(world.worker.run())
        for place in ("Porto", "Lisbon", "Faro"):
            await world.keep(alice, f"Alice lives in {place}.")
        await until(lambda: world.store.dirty() == [])
        assert await pending(world, alice.vault_id) == 0
        assert await rolled_up(world, alice.vault_id) == 3
        running.cancel()


async def test_a_vault_without_a_model_stays_dirty_and_is_clean_once_there_is_one(
    tmp_path: Path,
) -> None:
    models = Models()
    kept = models.by_kind.pop("bundled")
    async with world_on(tmp_path, models) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "Alice lives in Porto.")
        await world.settled()
        assert world.store.dirty() == [alice.vault_id]
        models.by_kind["bundled"] = kept
        world.clock.move(minutes=2)
        await world.settled()
        assert world.store.dirty() == []
