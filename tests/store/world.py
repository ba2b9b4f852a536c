"""A store on a directory of its own, a clock that stands still, and a few ways to talk to both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rememberd.clock import SystemClock
from rememberd.model import Draft, Memory, Vault
from rememberd.store import control, lifecycle, memories
from rememberd.store.place import DataDirectory
from rememberd.store.store import Store, StoreOptions


class StillClock:
    """Stands still until it is told to move; ids still sort in the order they were made."""

    def __init__(self, at: datetime = datetime(2026, 11, 30, 12, tzinfo=UTC)) -> None:
        self.at = at
        self._ids = SystemClock()

    def now(self) -> datetime:
        return self.at

    def new_id(self, prefix: str) -> str:
        return self._ids.new_id(prefix)

    def move(self, **by: float) -> None:
        self.at += timedelta(**by)


FEW_THREADS = StoreOptions(writer_threads=2, reader_threads=2)


@asynccontextmanager
async def opened(
    root: Path, options: StoreOptions = FEW_THREADS, clock: StillClock | None = None
) -> AsyncGenerator[Store]:
    """A store as the server opens it: what was cut short is finished first."""
    store = await Store.open(DataDirectory(root), options, clock or StillClock())
    try:
        await lifecycle.resume(store)
        yield store
    finally:
        await store.close()


async def until(ready: Callable[[], bool]) -> None:
    """Give others their turn until this is so; fails after ten seconds."""
    async with asyncio.timeout(10):
        while not ready():  # noqa: ASYNC110 - nothing tells us when: that is the point of asking
            await asyncio.sleep(0)


async def new_vault(store: Store, name: str = "alice") -> str:
    return (await lifecycle.create(store, name)).id


async def remember(store: Store, vault_id: str, text: str) -> Memory:
    async with store.vault(vault_id, "rw") as vault:
        return await vault.write(lambda tx: memories.insert(tx, Draft(text=text), store.clock))


async def texts(store: Store, vault_id: str) -> list[str]:
    """Everything in a vault, in order of arrival."""
    async with store.vault(vault_id, "ro") as vault:
        found = await vault.read(lambda tx: memories.recent(tx, 10_000))
    return [memory.text for memory in reversed(found)]


async def registered(store: Store, vault_id: str) -> Vault:
    """What control says of a vault."""
    return await store.control.read(lambda tx: control.vault(tx, vault_id))


def vault_file(store: Store, vault_id: str, generation: int = 1) -> Path:
    return store.directory.vault(vault_id, generation)


class Failing:
    """Stands in for a function and fails the next so many times."""

    def __init__(self, real: Any, times: int = 1) -> None:
        self.real = real
        self.times = times

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.times > 0:
            self.times -= 1
            raise OSError(5, "the disk went away")
        return self.real(*args, **kwargs)
