"""Tokens are metered as they are stored, refused over the allowance, and rolled up once."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rememberd.engine.forget import delete_memories, forget_all
from rememberd.engine.search import search_memories
from rememberd.engine.status import status
from rememberd.errors import QuotaExceeded, ReadOnly
from rememberd.model import READ, Filters, Principal
from rememberd.store import control
from tests.engine.world import World, principal, world_on
from tests.store.world import StillClock


async def used(world: World, who: Principal) -> tuple[str, int, int | None]:
    usage = (await status(world.engine, who)).usage
    return usage.month, usage.tokens, usage.allowance


async def rolled_up(world: World, who: Principal) -> dict[str, int]:
    return await world.store.control.read(lambda tx: control.usage_by_month(tx, who.vault_id))


async def test_over_the_allowance_storing_is_refused_and_reading_goes_on(data_dir: Path) -> None:
    async with world_on(data_dir, embedder="off", monthly_token_allowance=10) as world:
        alice, bob = await world.vault("alice"), await world.vault("bob")
        await world.keep(alice, "pear " * 6)  # 30 characters, 8 tokens
        with pytest.raises(QuotaExceeded, match="allowance of 10 tokens for 2026-11") as caught:
            await world.keep(alice, "plum " * 2)  # 3 tokens
        assert "plum" not in caught.value.message
        assert await used(world, alice) == ("2026-11", 8, 10)
        await world.keep(alice, "fig fig")  # 2 tokens fit exactly
        assert await used(world, alice) == ("2026-11", 10, 10)
        found = await search_memories(world.engine, alice, "pear", Filters(), 5)
        assert len(found.hits) == 1
        await world.keep(bob, "each vault has its own")


async def test_texts_count_and_what_stands_beside_them_does_not(
    world: World, alice: Principal
) -> None:
    await world.keep(alice, "pear", tags=("fruit",) * 32, source_context="a long talk " * 40)
    assert await used(world, alice) == ("2026-11", 1, None)


async def test_a_new_month_begins_with_a_full_allowance(data_dir: Path) -> None:
    clock = StillClock(datetime(2026, 11, 30, 23, 59, 59, 999_999, tzinfo=UTC))
    async with world_on(data_dir, clock=clock, embedder="off", monthly_token_allowance=5) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "x" * 20)
        with pytest.raises(QuotaExceeded):
            await world.keep(alice, "x")
        clock.move(microseconds=1)
        assert await used(world, alice) == ("2026-12", 0, 5)
        await world.keep(alice, "x" * 20)
        await world.settled()
        assert await rolled_up(world, alice) == {"2026-11": 5, "2026-12": 5}


async def test_neither_deleting_nor_forgetting_gives_tokens_back(
    world: World, alice: Principal
) -> None:
    memory = await world.keep(alice, "x" * 20)
    await delete_memories(world.engine, alice, [memory.id])
    await forget_all(world.engine, alice)
    assert (await used(world, alice))[1] == 5
    await world.settled()
    await world.keep(alice, "x" * 8)
    await world.settled()
    assert await rolled_up(world, alice) == {"2026-11": 7}


async def test_a_roll_up_that_a_crash_cut_short_counts_everything_once(
    data_dir: Path, tmp_path: Path
) -> None:
    """Whatever control had already: the vault's own sequence says what is new."""
    async with world_on(data_dir, embedder="off") as world:
        alice = await world.vault("alice")
        await world.keep(alice, "x" * 20)
        await world.settled()
        await world.keep(alice, "x" * 20)
        shutil.copytree(data_dir, tmp_path / "crashed")
        await world.settled()
        assert await rolled_up(world, alice) == {"2026-11": 10}
    async with world_on(tmp_path / "crashed", embedder="off") as world:
        for _ in range(3):
            await world.settled()
            assert await rolled_up(world, alice) == {"2026-11": 10}


async def test_who_may_only_read_stores_nothing_and_uses_nothing(
    world: World, alice: Principal
) -> None:
    reader = principal(alice.vault_id, READ)
    with pytest.raises(ReadOnly):
        await world.keep(reader, "planted")
    with pytest.raises(ReadOnly):
        await delete_memories(world.engine, reader, ["mem_0"])
    with pytest.raises(ReadOnly):
        await forget_all(world.engine, reader)
    assert (await used(world, alice))[1] == 0
