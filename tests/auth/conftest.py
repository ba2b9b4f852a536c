"""A store, a clock that stands still, and a web server of somebody else's."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from rememberd.store.store import Store
from tests.auth.origin import Origin, origin
from tests.store.world import StillClock, opened


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def store(data_dir: Path, clock: StillClock) -> AsyncGenerator[Store]:
    async with opened(data_dir, clock=clock) as store:
        yield store


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Origin]:
    async with origin(tmp_path) as site:
        yield site
