"""Calls of the vault's own tools: what each refuses and in which words, on a real vault."""

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
from tests.mcp.talk import Said, call

INVALID_PARAMS = -32602
REFLECTION = {"text": "Alice prefers tea.", "importance": 5}


@pytest.fixture
async def world(data_dir: Path) -> AsyncGenerator[World]:
    async with world_on(data_dir, batch_memories=3, reflection_memories=3) as world:
        yield world


@pytest.fixture
async def alice(world: World) -> Principal:
    return await world.vault("alice")


async def use(world: World, who: Principal, tool: str, **arguments: Any) -> Said:
    server = McpServer(
        Catalog(VAULT.tools, VAULT.resources),
        engine=world.engine,
        info=Implementation(name="rememberd", version="1"),
        instructions=VAULT.instructions,
        resource_metadata=METADATA,
    )
    return await call(server, tool, arguments, who)


# --- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool, arguments, said",
    [
        ("search_memories", {"query": "x" * 4_001}, "query must have at most 4000 characters"),
        ("search", {"query": "x" * 4_001}, "query must have at most 4000 characters"),
        ("inspect_memory", {"memory_id": "x" * 129}, "memory_id must have at most 128 characters"),
        ("store_memory", {"content": "x" * 32_001}, "content must have at most 32000 characters"),
        (
            "store_memory",
            {"content": "x", "tags": ["a", "x" * 65]},
            "tags[1] must have at most 64 characters",
        ),
        (
            "store_memory",
            {"content": "x", "tags": ["a"] * 33},
            "tags must have at most 32 entries",
        ),
        (
            "store_memory",
            {"content": "x", "source_context": "x" * 513},
            "source_context must have at most 512 characters",
        ),
        (
            "commit_reflections",
            {"batch_id": "bat_1", "entries": [REFLECTION] * 11},
            "entries must have at most 10 entries",
        ),
        (
            "commit_reflections",
            {"batch_id": "bat_1", "entries": [REFLECTION | {"text": "x" * 32_001}]},
            "entries[0].text must have at most 32000 characters",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_too_long_is_told_in_its_own_unit(
    world: World, alice: Principal, tool: str, arguments: dict[str, Any], said: str
) -> None:
    answer = await use(world, alice, tool, **arguments)
    assert answer.code == INVALID_PARAMS
    assert answer.error["message"] == f"Invalid arguments for {tool}: {said}."
