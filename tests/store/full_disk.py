"""Fills the disk under a store, as far as a limit on file sizes can play that; run as a program.

The limit holds for the whole process, so it must not be the test run itself.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from rememberd.errors import StorageError
from tests.store.world import new_vault, opened, remember, texts


def limit(data_dir: Path | None) -> None:
    """No file may grow past the largest that is here by more than 20 kB; None lifts the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = hard
    if data_dir is not None:
        soft = max(file.stat().st_size for file in data_dir.rglob("*")) + 20_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def fill(store_dir: Path) -> None:
    async with opened(store_dir) as store:
        alice = await new_vault(store)
        await remember(store, alice, "before")
        kept = ["before"]
        limit(store_dir)
        refused = 0
        for number in range(30):
            text = f"fact {number} " + "word " * 1_000
            try:
                await remember(store, alice, text)
            except StorageError:
                refused += 1
            else:
                kept.append(text)
        assert refused > 10
        assert await texts(store, alice) == kept
        limit(None)
        await remember(store, alice, "after")
        assert await texts(store, alice) == [*kept, "after"]
    async with opened(store_dir) as store:
        assert await texts(store, alice) == [*kept, "after"]


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))
