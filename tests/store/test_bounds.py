"""Open files, threads and cached bytes stay within their bounds, and nobody is cut off for it."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from rememberd.errors import StorageError
from rememberd.store import lifecycle, memories
from rememberd.store.cache import VaultCache
from rememberd.store.database import IDLE_READERS, Database
from rememberd.store.store import Store, StoreOptions
from rememberd.store.transaction import Transaction
from tests.store.world import new_vault, opened, remember, texts, until

PER_VAULT = 3 + 2 * (IDLE_READERS + 1)  # file, log and shared memory; file and log for each other


def bounded(open_vaults: int) -> StoreOptions:
    return StoreOptions(writer_threads=2, reader_threads=2, open_vaults=open_vaults)


def open_files(data_dir: Path) -> Counter[str]:
    """How often each vault's files are open in this process, by vault id."""
    found: Counter[str] = Counter()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = Path(os.readlink(link))
        except OSError:
            continue  # the one that listed this folder
        if target.parent == data_dir / "vaults":
            found[target.name.split(".")[0]] += 1
    return found


def check_bounds(data_dir: Path, open_vaults: int) -> None:
    found = open_files(data_dir)
    assert len(found) <= open_vaults
    assert max(found.values(), default=0) <= PER_VAULT


async def visit(store: Store, vault_id: str) -> None:
    await remember(store, vault_id, "hello")
    assert (await texts(store, vault_id))[-1] == "hello"


@pytest.mark.parametrize("vaults, limit", [(24, 3), pytest.param(300, 8, marks=pytest.mark.slow)])
async def test_only_so_many_vaults_are_open_at_once(
    data_dir: Path, vaults: int, limit: int
) -> None:
    async with opened(data_dir, bounded(limit)) as store:
        ids = [await new_vault(store, f"vault {number}") for number in range(vaults)]
        for vault_id in ids:
            await visit(store, vault_id)
            check_bounds(data_dir, limit)
        await asyncio.gather(*(visit(store, vault_id) for vault_id in ids))
        check_bounds(data_dir, limit)
        for vault_id in ids:
            assert await texts(store, vault_id) == ["hello", "hello"]
    assert open_files(data_dir) == Counter()


async def test_one_vault_too_many_waits_for_another_to_be_left(data_dir: Path) -> None:
    async with opened(data_dir, bounded(2)) as store:
        alice, bob, carol = [await new_vault(store, name) for name in ("alice", "bob", "carol")]
        async with asyncio.TaskGroup() as tasks, store.vault(alice, "ro") as reading:
            async with store.vault(bob, "rw"):
                waiting = tasks.create_task(visit(store, carol))
                for _ in range(50):
                    await asyncio.sleep(0.001)
                assert not waiting.done()
                check_bounds(data_dir, 2)
            await waiting
            assert await reading.read(lambda tx: tx.value("count_memories")) == 0


async def test_no_file_is_closed_under_those_who_use_it(data_dir: Path) -> None:
    """Readers and writers of a dozen vaults, three of which may be open."""
    limit = 3
    async with opened(data_dir, bounded(limit)) as store:
        ids = [await new_vault(store, f"vault {number}") for number in range(8)]
        dice = random.Random(7)
        stored: Counter[str] = Counter()

        async def work() -> None:
            for _ in range(8):
                vault_id = dice.choice(ids)
                async with store.vault(vault_id, "rw") as vault:
                    await asyncio.sleep(0)
                    await vault.read(lambda tx: memories.recent(tx, 5))
                    await remember(store, vault_id, "hello")
                    stored[vault_id] += 1
                    await asyncio.sleep(0)
                    assert len(await vault.read(lambda tx: memories.recent(tx, 99))) > 0
                check_bounds(data_dir, limit)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(work())
        for vault_id in ids:
            assert len(await texts(store, vault_id)) == stored[vault_id]


async def test_many_who_open_one_vault_at_once_share_it(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.close_alone(alice)
    opens: list[str] = []
    real = Database.open

    def spy(database: Database, identity: str) -> None:
        opens.append(identity)
        real(database, identity)

    monkeypatch.setattr(Database, "open", spy)
    await asyncio.gather(*(texts(store, alice) for _ in range(50)))
    assert opens == [alice]


async def test_a_vault_that_is_kept_from_others_is_not_closed_as_idle(data_dir: Path) -> None:
    """Forgetting and erasing use the file while nobody else is inside."""
    async with opened(data_dir, bounded(2)) as store:
        alice, bob, carol = [await new_vault(store, name) for name in ("alice", "bob", "carol")]
        async with store.alone(alice):
            database = await store.open_alone(alice)
            for vault_id in (bob, carol, bob):
                await visit(store, vault_id)
            assert not database.closed
            assert await database.read(lambda tx: tx.value("count_memories")) == 0


async def test_whoever_goes_away_while_a_vault_opens_leaves_no_file_behind(
    data_dir: Path,
) -> None:
    async with opened(data_dir, bounded(2)) as store:
        ids = [await new_vault(store, f"vault {number}") for number in range(6)]
        for round_ in range(12):
            task = asyncio.ensure_future(texts(store, ids[round_ % 6]))  # noqa: TID251
            for _ in range(round_ % 5):
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.wait([task])
        for vault_id in ids:
            await visit(store, vault_id)
            check_bounds(data_dir, 2)
        await lifecycle.erase(store, ids[0], "owner")
    assert open_files(data_dir) == Counter()


async def test_a_vault_that_fails_while_it_opens_is_closed_again(
    store: Store, alice: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.close_alone(alice)

    def fail(tx: Transaction) -> None:
        raise StorageError("no room to build the index anew")

    with monkeypatch.context() as patch:
        patch.setattr(memories, "reindex", fail)
        for _ in range(3):
            with pytest.raises(StorageError):
                await texts(store, alice)
    assert open_files(data_dir) == Counter()
    await visit(store, alice)


async def test_only_so_many_threads_read_at_once(store: Store, alice: str) -> None:
    seen: set[str] = set()
    inside, most, lock = 0, 0, threading.Lock()
    full = threading.Barrier(2)

    def look(tx: Transaction) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
            seen.add(threading.current_thread().name)
        full.wait(10)
        with lock:
            inside -= 1

    async with store.vault(alice, "ro") as vault:
        await asyncio.gather(*(vault.read(look) for _ in range(20)))
    assert most == 2
    assert len(seen) == 2
    assert open_files(store.directory.root)[alice] <= PER_VAULT


class Bytes:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_the_cache_drops_the_vaults_that_were_asked_for_least_recently() -> None:
    cache = VaultCache(100)
    for name in ("alice", "bob", "carol"):
        cache.get(name, lambda: Bytes(30))
    alice = cache.get("alice", lambda: Bytes(0))
    assert alice.nbytes == 30
    alice.nbytes = 60
    cache.trim()
    assert cache.get("alice", lambda: Bytes(1)).nbytes == 60
    assert cache.get("carol", lambda: Bytes(1)).nbytes == 30
    assert cache.get("bob", lambda: Bytes(1)).nbytes == 1


def test_an_entry_larger_than_the_whole_cache_is_not_kept() -> None:
    cache = VaultCache(100)
    cache.get("alice", lambda: Bytes(101))
    cache.trim()
    assert cache.get("alice", lambda: Bytes(1)).nbytes == 1


async def test_the_room_for_vaults_comes_from_the_limit_on_open_files(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda kind: (100 + PER_VAULT * 5, 0))  # pyright: ignore
    async with opened(data_dir, StoreOptions(writer_threads=1, reader_threads=1)) as store:
        ids = [await new_vault(store, f"vault {number}") for number in range(7)]
        for vault_id in ids:
            await visit(store, vault_id)
        assert len(open_files(data_dir)) == 5


async def test_a_write_that_nobody_waits_for_keeps_its_vault_from_closing(
    store: Store, alice: str
) -> None:
    go_on = threading.Event()

    def slow(tx: Transaction) -> None:
        go_on.wait(10)
        tx.run("set_meta", name="mark", value="made")

    async with store.vault(alice, "rw") as vault:
        task = asyncio.ensure_future(vault.write(slow))  # noqa: TID251
        await until(lambda: store._inflight[alice] == 1)  # pyright: ignore[reportPrivateUsage]
        task.cancel()
        await asyncio.wait([task])
    closing = asyncio.ensure_future(_close(store, alice))  # noqa: TID251
    await asyncio.sleep(0.01)
    assert not closing.done()
    go_on.set()
    await closing
    async with store.vault(alice, "ro") as vault:
        assert await vault.read(lambda tx: tx.value("get_meta", name="mark")) == "made"


async def _close(store: Store, vault_id: str) -> None:
    async with store.alone(vault_id):
        await store.close_alone(vault_id)
