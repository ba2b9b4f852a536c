"""What is kept in memory for searching stays within its bound, and is right once dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from rememberd.engine.search import search_memories
from rememberd.model import Filters, Principal
from tests.engine.world import World, world_on


async def found(world: World, who: Principal, query: str) -> list[str]:
    hits = (await search_memories(world.engine, who, query, Filters(), 3)).hits
    return [hit.memory.text for hit in hits]


def cached(world: World) -> list[int]:
    """Bytes of each vault's entry."""
    entries = world.store.cache._entries  # pyright: ignore[reportPrivateUsage]
    return [entry.nbytes for entry in entries.values()]


@pytest.mark.parametrize("bound, kept", [(0, 0), (12_000, 2), (1_000_000, 5)])
async def test_only_so_many_bytes_are_kept_over_all_vaults(
    data_dir: Path, bound: int, kept: int
) -> None:
    async with world_on(data_dir, cache_bytes=bound) as world:
        people = [await world.vault(f"vault {number}") for number in range(5)]
        for number, who in enumerate(people):
            for fact in range(3):
                await world.keep(who, f"person{number} keeps fact {fact}")
        await world.settled()
        for _ in range(2):
            for number, who in enumerate(people):
                texts = await found(world, who, f"person{number}")
                assert len(texts) == 3
                assert all(text.startswith(f"person{number} ") for text in texts)
                assert sum(cached(world)) <= bound
        assert len(cached(world)) == kept


async def test_what_was_stored_since_the_last_search_is_found_by_the_next(
    world: World, alice: Principal
) -> None:
    for number in range(70):  # past the room that the arrays begin with
        await world.keep(alice, f"word{number} alone")
        if number % 10 == 0:
            await world.settled()
        assert f"word{number} alone" in await found(world, alice, f"word{number}")
