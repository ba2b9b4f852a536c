"""A store with one vault, Alice's, for the tests that need no more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from rememberd.store import key_exports
from rememberd.store.store import Store
from tests.store.world import StillClock, new_vault, opened


@pytest.fixture(autouse=True)
def cheap_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """An export costs a second of work on purpose, and a test has no secret to protect."""
    monkeypatch.setitem(key_exports._SCRYPT, "n", 2**10)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def store(data_dir: Path, clock: StillClock) -> AsyncGenerator[Store]:
    async with opened(data_dir, clock=clock) as store:
        yield store


@pytest.fixture
async def alice(store: Store) -> str:
    return await new_vault(store)
