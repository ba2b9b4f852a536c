"""Calls of the vault's own tools on a real vault: what they say in so many words."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Implementation

from rememberd.mcp.catalog import Catalog
from rememberd.mcp.server import McpServer
from rememberd.model import Principal
from rememberd.tools import VAULT
from tests.engine.world import World, world_on
from tests.mcp.small_world import METADATA
from tests.mcp.talk import call


@pytest.fixture
async def world(data_dir: Path) -> AsyncGenerator[World]:
    async with world_on(data_dir, embedder="off") as world:
        yield world


async def use(world: World, who: Principal, tool: str, **arguments: Any) -> Any:
    """The structured result of a call that must succeed."""
    server = McpServer(
        Catalog(VAULT.tools, VAULT.resources),
        engine=world.engine,
        info=Implementation(name="rememberd", version="1"),
        instructions=VAULT.instructions,
        resource_metadata=METADATA,
    )
    return (await call(server, tool, arguments, who)).result["structuredContent"]


async def test_an_empty_batch_says_how_much_is_held_and_until_when(world: World) -> None:
    alice = await world.vault("alice")
    for text in ("The harbour light is green.", "The lighthouse is white."):
        await use(world, alice, "store_memory", content=text)
    held = await use(world, alice, "consolidate_memories")
    empty = await use(world, alice, "consolidate_memories")
    assert "batch_id" not in empty
    assert "2 memories are held by another batch" in empty["reflection_contract"]
    assert f"until {held['lease_expires_at']}" in empty["reflection_contract"]
