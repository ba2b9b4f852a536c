"""What was deleted is on the disk no more: in no page, no slack, no frame of the log.

Every test looks for its sentinels before the deletion too; without finding them it proves nothing.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rememberd.engine.forget import delete_memories, forget_all
from rememberd.errors import StorageError
from rememberd.model import Draft, Memory, Principal
from rememberd.store import analysis, lifecycle, memories
from rememberd.store.store import VaultHandle
from rememberd.store.transaction import Transaction
from tests.engine.world import Models, World, world_on
from tests.fakes import WordHashEmbedder
from tests.store.pages import on_disk

SECRET = "Vulcanising marmalade with 秘密基地計画 for ORCHID-7419 🦑 café"
LONG = "Jellyfishlamp " + "and so on and on " * 1_500  # fills overflow pages


class Disk:
    """What stands on the disk of a world, decrypted with every key its vaults ever had."""

    def __init__(self, world: World, scratch: Path) -> None:
        self._world = world
        self._scratch = scratch / "scan"
        self._keys: set[bytes] = set()

    def learn(self, vault_id: str) -> None:
        ring = self._world.store.keyring
        held = [ring.get(vault_id, version) for version in ring.versions(vault_id)]
        self._keys.update(key for key in held if key is not None)

    def read(self, root: Path | None = None) -> bytes:
        return on_disk(root or self._world.store.directory.root, self._keys, self._scratch)

    def found(self, sentinels: dict[str, bytes], root: Path | None = None) -> list[str]:
        everything = self.read(root)
        return [name for name, data in sentinels.items() if data in everything]


@asynccontextmanager
async def world_and_disk(tmp_path: Path) -> AsyncGenerator[tuple[World, Disk, Principal]]:
    async with world_on(tmp_path / "data") as world:
        alice = await world.vault("alice")
        disk = Disk(world, tmp_path)
        disk.learn(alice.vault_id)
        await world.keep(alice, "Something else that stays, with common words", tags=("other",))
        yield world, disk, alice


async def keep_secret(world: World, who: Principal, text: str = SECRET) -> Memory:
    memory = await world.keep(who, text, tags=("Kryptonitetag",), source_context="Xylophonecontext")
    await world.settled()
    return memory


async def sentinels(world: World, who: Principal, memory: Memory) -> dict[str, bytes]:
    """Byte strings that stand on the disk for this memory alone."""
    async with world.store.vault(who.vault_id, "ro") as vault:
        rows = await vault.read(lambda tx: _vectors(tx, memory.seq))
    assert rows
    plain = {
        "the text": memory.text[:40],
        "its end": memory.text[-12:],
        "the tag": "Kryptonitetag",
        "the thread": "Xylophonecontext",
        "the terms": analysis.index_terms(memory.text)[:30],
        "a term of the tag": "kryptonitetag",
        "a term of the text": analysis.index_terms(memory.text).split()[0],
        "the id": memory.id,
    }
    found = {name: text.encode() for name, text in plain.items()}
    return found | {f"vector {number}": data for number, data in enumerate(rows)}


def _vectors(tx: Transaction, seq: int) -> list[bytes]:
    sql = "SELECT data FROM vector WHERE memory = ?"
    return [bytes(row[0]) for row in tx.connection.execute(sql, (seq,))]  # pyright: ignore


ALLOWED = ["the id"]  # the audit chain says which memory was deleted


@pytest.mark.parametrize("text", [SECRET, LONG])
async def test_a_deleted_memory_is_gone_from_the_disk(tmp_path: Path, text: str) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        memory = await keep_secret(world, alice, text)
        secret = await sentinels(world, alice, memory)
        assert disk.found(secret) == list(secret)
        await delete_memories(world.engine, alice, [memory.id])
        assert disk.found(secret) == ALLOWED
        other = {"what stays": b"Something else that stays"}
        assert disk.found(other) == list(other)


@pytest.mark.parametrize("text", [SECRET, LONG])
async def test_a_memory_that_was_in_the_file_for_long_is_gone_too(
    tmp_path: Path, text: str
) -> None:
    """After a restart it stands in the database's pages, not in the log."""
    async with world_and_disk(tmp_path) as (world, disk, alice):
        memory = await keep_secret(world, alice, text)
    async with world_on(tmp_path / "data") as world:
        disk = Disk(world, tmp_path)
        disk.learn(alice.vault_id)
        secret = await sentinels(world, alice, memory)
        assert disk.found(secret) == list(secret)
        await delete_memories(world.engine, alice, [memory.id])
        assert disk.found(secret) == ALLOWED


async def test_forgetting_all_leaves_no_byte_under_the_old_key_or_the_new(tmp_path: Path) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        secret = await sentinels(world, alice, await keep_secret(world, alice))
        assert disk.found(secret) == list(secret)
        await forget_all(world.engine, alice)
        disk.learn(alice.vault_id)
        assert disk.found(secret) == []


async def test_an_erased_vault_leaves_no_byte(tmp_path: Path) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        secret = await sentinels(world, alice, await keep_secret(world, alice))
        assert disk.found(secret) == list(secret)
        await lifecycle.erase(world.store, alice.vault_id, "owner")
        assert disk.found(secret) == []
        assert list(world.store.directory.vaults.glob(f"{alice.vault_id}*")) == []


async def test_the_key_of_an_erased_vault_is_gone_from_the_key_store(tmp_path: Path) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        ring = world.store.keyring._database  # pyright: ignore[reportPrivateUsage]
        wrapped = ring.read_here(
            lambda tx: tx.value("wrapped_key", vault_id=alice.vault_id, version=1)
        )
        key = {"the wrapped key": bytes(wrapped)}
        assert disk.found(key) == list(key)
        await lifecycle.erase(world.store, alice.vault_id, "owner")
        assert disk.found(key) == []


async def test_vectors_of_the_old_model_are_gone_after_the_switch(tmp_path: Path) -> None:
    models = Models()
    async with world_on(tmp_path / "data", models) as world:
        alice = await world.vault("alice")
        memory = await keep_secret(world, alice)
        async with world.store.vault(alice.vault_id, "ro") as vault:
            rows = await vault.read(lambda tx: _vectors(tx, memory.seq))
        old = {f"old vector {number}": data for number, data in enumerate(rows)}
        disk = Disk(world, tmp_path)
        disk.learn(alice.vault_id)
        assert disk.found(old) == list(old)
    models.by_kind["bundled"] = WordHashEmbedder(24, "newer")
    async with world_on(tmp_path / "data", models) as world:
        await world.keep(alice, "makes the vault dirty")
        await world.settled()
        disk = Disk(world, tmp_path)
        disk.learn(alice.vault_id)
        assert disk.found(old) == []


async def test_a_deletion_waits_for_readers_and_then_leaves_nothing(tmp_path: Path) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        memory = await keep_secret(world, alice)
        secret = await sentinels(world, alice, memory)

        async def keep_reading() -> None:
            async with world.store.vault(alice.vault_id, "ro") as vault:
                for _ in range(50):
                    await vault.read(lambda tx: memories.recent(tx, 10))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(keep_reading())
            await delete_memories(world.engine, alice, [memory.id])
            assert disk.found(secret) == ALLOWED


async def test_a_deletion_that_could_not_be_finished_is_finished_by_the_same_call_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(vault: VaultHandle) -> None:
        raise StorageError("the log could not be emptied")

    async with world_and_disk(tmp_path) as (world, disk, alice):
        memory = await keep_secret(world, alice)
        secret = await sentinels(world, alice, memory)
        with monkeypatch.context() as patch:
            patch.setattr(VaultHandle, "scrub", fail)
            with pytest.raises(StorageError):
                await delete_memories(world.engine, alice, [memory.id])
        assert "the text" in disk.found(secret)
        done = await delete_memories(world.engine, alice, [memory.id])
        assert done.not_found == (memory.id,)
        assert disk.found(secret) == ALLOWED


async def test_a_deletion_that_a_crash_cut_short_is_finished_when_the_vault_opens_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the commit, before the log was emptied; the vault is dirty, so it is opened."""
    crashed = tmp_path / "crashed"

    async def die(vault: VaultHandle) -> None:
        shutil.copytree(tmp_path / "data", crashed)

    async with world_and_disk(tmp_path) as (world, disk, alice):
        memory = await keep_secret(world, alice)
        secret = await sentinels(world, alice, memory)
        monkeypatch.setattr(VaultHandle, "scrub", die)
        await delete_memories(world.engine, alice, [memory.id])
        assert "the text" in disk.found(secret, crashed)
    async with world_on(crashed) as world:
        assert world.store.dirty() == [alice.vault_id]
        await world.settled()
        assert disk.found(secret, crashed) == ALLOWED


@pytest.mark.parametrize(
    "rows", [400, pytest.param(4_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
async def test_of_many_memories_half_are_deleted_and_that_half_is_gone(
    tmp_path: Path, rows: int
) -> None:
    async with world_and_disk(tmp_path) as (world, disk, alice):
        ids = await many(world, alice, rows)
        await world.settled()
        numbers = set(range(rows))
        assert words_on(disk.read()) == numbers
        gone = {number for number in numbers if number * 7 % 10 < 5}
        async with world.store.vault(alice.vault_id, "ro") as vault:
            before = await vault.read(lambda tx: _all_vectors(tx, 0, rows))
        order = sorted(gone, key=lambda number: number * 2_654_435_761 % 4_096)
        for start in range(0, len(order), 100):
            batch = [ids[number] for number in order[start : start + 100]]
            await delete_memories(world.engine, alice, batch)
        left = disk.read()
        assert words_on(left) == numbers - gone
        assert terms_on(left) == numbers - gone
        found = {number for number in list(numbers)[:200] if before[number] in left}
        assert found == {number for number in found if number not in gone}
        assert len(found) > 50


async def many(world: World, who: Principal, rows: int) -> list[str]:
    def insert(tx: Transaction) -> list[str]:
        return [
            memories.insert(
                tx,
                Draft(text=f"Fact Zebrafish{number:05}x about {number % 17} things"),
                world.clock,
            ).id
            for number in range(rows)
        ]

    async with world.store.vault(who.vault_id, "rw") as vault:
        return await vault.write(insert)


def _all_vectors(tx: Transaction, first: int, rows: int) -> list[bytes]:
    sql = "SELECT data FROM vector ORDER BY memory LIMIT -1 OFFSET 1"  # but for what stays
    return [bytes(row[0]) for row in tx.connection.execute(sql)]  # pyright: ignore


def words_on(disk: bytes) -> set[int]:
    return {int(number) for number in re.findall(rb"Zebrafish(\d{5})x", disk)}


def terms_on(disk: bytes) -> set[int]:
    return {int(number) for number in re.findall(rb"zebrafish(\d{5})x", disk)}
