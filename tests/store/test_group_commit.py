"""Writes share commits, and still every one of them keeps its own promise."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rememberd.errors import NotFound, StorageError
from rememberd.model import Draft, Memory
from rememberd.store import memories
from rememberd.store.place import DataDirectory
from rememberd.store.store import Store, VaultHandle
from rememberd.store.transaction import Transaction
from rememberd.store.writer import Job, Writer
from tests.store.world import FEW_THREADS, StillClock, new_vault, opened, remember, texts, until


@asynccontextmanager
async def held_up(store: Store, vault: VaultHandle) -> AsyncGenerator[None]:
    """While inside, the vault's writer thread is busy, so what is asked of it gathers up."""
    go_on, started = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(tx: Transaction) -> None:
        loop.call_soon_threadsafe(started.set)
        go_on.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(vault.write(wait))
        await started.wait()
        try:
            yield
        finally:
            go_on.set()


def keep(store: Store, text: str, also: str | None = None):
    def work(tx: Transaction) -> Memory:
        memory = memories.insert(tx, Draft(text=text), store.clock)
        if also == "fail":
            raise NotFound("this operation fails by itself")
        if also == "dangle":
            tx.connection.execute("PRAGMA defer_foreign_keys = on").fetchall()
            tx.run("add_vector", model=99, memory=memory.seq, passage=0, data=b"")
        if also == "fill the disk":
            pages = tx.connection.pragma("page_count")
            tx.connection.pragma("max_page_count", pages)
            memories.insert(tx, Draft(text="long " * 100_000), store.clock)
        return memory

    return work


async def outcomes(vault: VaultHandle, store: Store, *works: object) -> list[str]:
    """What came of these writes, asked for at once: `stored` or the kind of error."""
    async with asyncio.TaskGroup() as tasks, held_up(store, vault):
        asked = [tasks.create_task(_outcome(vault, work)) for work in works]
        await _queued(vault, len(works))
    return [task.result() for task in asked]


async def _outcome(vault: VaultHandle, work: object) -> str:
    try:
        await vault.write(work)  # pyright: ignore[reportArgumentType]
    except StorageError:
        return "StorageError"
    except NotFound:
        return "NotFound"
    return "stored"


async def _queued(vault: VaultHandle, count: int) -> None:
    queue = vault._database._writer._queue  # pyright: ignore[reportPrivateUsage]
    await until(lambda: queue.qsize() >= count)


async def test_writes_that_wait_together_are_committed_together(store: Store, alice: str) -> None:
    async with store.vault(alice, "rw") as vault:
        before = await vault.read(lambda tx: tx.connection.pragma("data_version"))
        works = [keep(store, f"fact {number}") for number in range(50)]
        assert await outcomes(vault, store, *works) == ["stored"] * 50
        after = await vault.read(lambda tx: tx.connection.pragma("data_version"))
    assert len(await texts(store, alice)) == 50
    assert after - before <= 2  # the one that held the others up, and one for all fifty


async def test_an_operation_that_fails_takes_no_other_along(store: Store, alice: str) -> None:
    async with store.vault(alice, "rw") as vault:
        found = await outcomes(
            vault, store, keep(store, "one"), keep(store, "two", "fail"), keep(store, "three")
        )
    assert found == ["stored", "NotFound", "stored"]
    assert await texts(store, alice) == ["one", "three"]


async def test_a_commit_that_fails_fails_everything_in_it(store: Store, alice: str) -> None:
    async with store.vault(alice, "rw") as vault:
        found = await outcomes(
            vault, store, keep(store, "one"), keep(store, "two", "dangle"), keep(store, "three")
        )
    assert found == ["StorageError"] * 3
    assert await texts(store, alice) == []
    await remember(store, alice, "four")
    assert await texts(store, alice) == ["four"]


async def test_a_full_disk_acknowledges_nothing_and_leaves_the_vault_usable(
    store: Store, alice: str
) -> None:
    await remember(store, alice, "before")
    async with store.vault(alice, "rw") as vault:
        found = await outcomes(vault, store, keep(store, "one"), keep(store, "x", "fill the disk"))
        kept = ["one"] if found[0] == "stored" else []
        assert found[1] == "StorageError"
        assert await texts(store, alice) == ["before", *kept]
        await vault.write(lambda tx: tx.connection.pragma("max_page_count", 1 << 30))
    await remember(store, alice, "after")
    assert await texts(store, alice) == ["before", *kept, "after"]


def test_a_disk_that_is_really_full_loses_nothing_that_was_acknowledged(data_dir: Path) -> None:
    """Statements, commits and checkpoints fail; once there is room again, writing goes on."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.full_disk", str(data_dir)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


async def test_closing_finishes_what_is_queued(data_dir: Path) -> None:
    store = await Store.open(DataDirectory(data_dir), FEW_THREADS, StillClock())
    alice = await new_vault(store)
    async with store.vault(alice, "rw") as vault, asyncio.TaskGroup() as tasks:
        async with held_up(store, vault):
            for number in range(20):
                tasks.create_task(vault.write(keep(store, f"fact {number}")))
            await _queued(vault, 20)
            closing = tasks.create_task(store.close())
            await asyncio.sleep(0)
        await closing
    async with opened(data_dir) as store:
        assert len(await texts(store, alice)) == 20


async def test_a_write_after_the_close_is_refused_and_never_left_without_an_answer(
    data_dir: Path,
) -> None:
    store = await Store.open(DataDirectory(data_dir), FEW_THREADS, StillClock())
    alice = await new_vault(store)
    async with store.vault(alice, "rw") as vault:
        await store.close()
        with pytest.raises(StorageError):
            await asyncio.wait_for(vault.write(keep(store, "late")), 5)


def test_a_job_that_comes_while_the_writer_closes_is_refused_or_done() -> None:
    """Queued behind the end it would wait for ever."""
    writer, go_on, started = Writer("closing"), threading.Event(), threading.Event()

    def hold(target: object) -> None:
        started.set()
        go_on.wait()

    writer.submit(Job(None, "rw", hold, alone=True))
    assert started.wait(5)
    closing = threading.Thread(target=writer.close)
    closing.start()
    while writer._queue.empty():  # pyright: ignore[reportPrivateUsage]
        pass
    try:
        future = writer.submit(Job(None, "rw", lambda target: "done", alone=True))
    except StorageError:
        future = None
    go_on.set()
    closing.join(5)
    assert future is None or future.result(timeout=5) == "done"


async def test_a_writer_who_goes_away_does_not_undo_the_write(store: Store, alice: str) -> None:
    async with store.vault(alice, "rw") as vault, held_up(store, vault):
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(_outcome(vault, keep(store, "kept")))
            await _queued(vault, 1)
            task.cancel()
        assert store.writes(alice) == 0  # it goes on being counted as in flight
        assert not await store.settle(alice, 0)
    async with store.alone(alice):
        pass
    assert await texts(store, alice) == ["kept"]
