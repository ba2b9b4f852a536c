"""A world with one vault, Alice's, for the tests that need no more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from rememberd.model import Principal
from tests.engine.world import World, world_on


@pytest.fixture
async def world(data_dir: Path) -> AsyncGenerator[World]:
    async with world_on(data_dir) as world:
        yield world


@pytest.fixture
async def alice(world: World) -> Principal:
    return await world.vault("alice")
