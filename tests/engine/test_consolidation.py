"""Reflection under a lease: oldest first, nothing lost, nothing twice, and every link kept."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from rememberd.engine import consolidate
from rememberd.engine.consolidate import Committed, Entry, Nothing
from rememberd.engine.forget import delete_memories
from rememberd.engine.lineage import inspect
from rememberd.engine.status import status
from rememberd.errors import InvalidInput, LeaseLost, NotFound, QuotaExceeded, RememberdError
from rememberd.model import READ, Batch, Memory, Principal, Tier, TierDebt
from rememberd.store import memories
from tests.engine.world import World, principal, world_on


async def facts(world: World, who: Principal, count: int, words: int = 1) -> list[Memory]:
    return [await world.keep(who, f"fact {number} " + "word " * words) for number in range(count)]


async def checkout(world: World, who: Principal, tier: int | None = None) -> Batch:
    batch = await consolidate.checkout(world.engine, who, tier)  # pyright: ignore
    assert isinstance(batch, Batch)
    return batch


async def nothing(world: World, who: Principal, tier: Tier | None = None) -> Nothing:
    found = await consolidate.checkout(world.engine, who, tier)
    assert isinstance(found, Nothing)
    return found


def entries(*sources: list[Memory] | None, importance: int = 5) -> list[Entry]:
    """One reflection for each list of sources; None leaves them out."""
    return [
        Entry(f"reflection {number}", importance, _ids(behind))
        for number, behind in enumerate(sources)
    ]


def _ids(behind: list[Memory] | None) -> tuple[str, ...] | None:
    return None if behind is None else tuple(memory.id for memory in behind)


async def commit(
    world: World, who: Principal, batch: Batch, entries_: list[Entry] | None = None
) -> Committed:
    usual = entries(*[None] * min(5, len(batch.memories)))
    return await consolidate.commit(world.engine, who, batch.id, entries_ or usual)


async def debt(world: World, who: Principal) -> dict[int, TierDebt]:
    return (await status(world.engine, who)).debt


# -- checking out ------------------------------------------------------------------------------


async def test_the_oldest_free_memories_are_checked_out_first(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 6)
    batch = await checkout(world, alice)
    assert [memory.id for memory in batch.memories] == [memory.id for memory in kept]
    assert batch.expires_at == world.clock.now() + timedelta(minutes=15)
    assert batch.tier == 1


async def test_nothing_is_checked_out_twice_while_it_is_held(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 3)
    first = await checkout(world, alice)
    assert await nothing(world, alice, 1) == Nothing(held=3, until=first.expires_at)
    later = await world.keep(alice, "later")
    second = await checkout(world, alice)
    assert [memory.id for memory in second.memories] == [later.id]


async def test_two_who_check_out_at_once_share_nothing(tmp_path: Path) -> None:
    async with world_on(tmp_path / "data", batch_memories=2) as world:
        alice = await world.vault("alice")
        kept = await facts(world, alice, 8)
        batches = await asyncio.gather(*(checkout(world, alice) for _ in range(4)))
        taken = [memory.id for batch in batches for memory in batch.memories]
        assert sorted(taken) == sorted(memory.id for memory in kept)


async def test_a_batch_keeps_within_both_its_limits(tmp_path: Path) -> None:
    async with world_on(tmp_path / "data", batch_memories=3, batch_tokens=8_000) as world:
        alice = await world.vault("alice")
        await facts(world, alice, 5)
        assert len((await checkout(world, alice)).memories) == 3
        bob = await world.vault("bob")
        await facts(world, bob, 3, words=2_500)  # about 3,100 tokens each
        batch = await checkout(world, bob)
        assert len(batch.memories) == 2
        carol = await world.vault("carol")
        await world.keep(carol, "long " * 8_000)
        await world.keep(carol, "short")
        assert len((await checkout(world, carol)).memories) == 1  # alone, however long


async def test_the_tier_with_most_debt_is_taken_unless_one_is_named(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    await commit(world, alice, await checkout(world, alice))
    await world.keep(alice, "x")  # 1 token in tier 1, 20 in tier 2
    assert (await checkout(world, alice)).tier == 2
    assert (await checkout(world, alice, 1)).tier == 1


async def test_the_tier_is_chosen_by_what_is_free(world: World, alice: Principal) -> None:
    await facts(world, alice, 5)
    await commit(world, alice, await checkout(world, alice))
    await facts(world, alice, 5, words=100)
    assert (await checkout(world, alice)).tier == 1
    assert (await checkout(world, alice)).tier == 2  # tier 1 owes more, and somebody is at it
    assert (await nothing(world, alice)).held == 10
    assert (await nothing(world, alice, 2)).held == 5


async def test_with_nothing_to_consolidate_there_is_no_batch(
    world: World, alice: Principal
) -> None:
    assert await nothing(world, alice) == Nothing(held=0, until=None)
    assert await nothing(world, alice, 2) == Nothing(held=0, until=None)


# -- leases ------------------------------------------------------------------------------------


async def test_an_expired_lease_returns_its_memories(world: World, alice: Principal) -> None:
    await facts(world, alice, 5)
    first = await checkout(world, alice)
    world.clock.move(minutes=14, seconds=59)
    await nothing(world, alice, 1)
    world.clock.move(seconds=1)
    second = await checkout(world, alice)
    assert [m.id for m in second.memories] == [m.id for m in first.memories]
    assert second.id != first.id


async def test_an_expired_batch_still_commits_while_nobody_took_its_memories(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    world.clock.move(days=30)
    done = await commit(world, alice, batch)
    assert (done.entries_created, done.sources_consolidated) == (5, 5)
    assert (await debt(world, alice)).keys() == {2}


async def test_a_batch_whose_memories_were_leased_again_is_refused_naming_them(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 5)
    old = await checkout(world, alice)
    world.clock.move(minutes=15)
    new = await checkout(world, alice)
    with pytest.raises(LeaseLost) as caught:
        await commit(world, alice, old)
    assert all(memory.id in caught.value.message for memory in kept)
    assert "Nothing was stored" in caught.value.message
    assert (await commit(world, alice, new)).entries_created == 5
    with pytest.raises(LeaseLost):
        await commit(world, alice, old)  # consolidated by another batch since


async def test_a_batch_whose_member_was_deleted_is_refused_and_loses_nothing(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 6)
    batch = await checkout(world, alice)
    await delete_memories(world.engine, alice, [kept[2].id])
    with pytest.raises(LeaseLost, match=kept[2].id):
        await commit(world, alice, batch)
    assert (await debt(world, alice))[1].memories == 5
    world.clock.move(minutes=15)
    assert len((await checkout(world, alice)).memories) == 5


# -- committing --------------------------------------------------------------------------------


async def test_committing_stores_reflections_one_tier_up_and_pays_the_debt(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 7)
    before = await debt(world, alice)
    assert before == {1: TierDebt(memories=7, tokens=sum(memory.tokens for memory in kept))}
    done = await commit(world, alice, await checkout(world, alice))
    assert (done.tier, done.committed, done.already_committed) == (2, True, False)
    assert (done.entries_created, done.sources_consolidated) == (5, 7)
    assert done.debt == TierDebt()
    found = await status(world.engine, alice)
    assert found.totals[2].memories == 5
    assert found.debt == {2: TierDebt(memories=5, tokens=found.totals[2].tokens)}


async def test_the_same_batch_again_answers_the_same_and_stores_nothing(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    first = await commit(world, alice, batch)
    world.clock.move(days=1)
    again = await commit(world, alice, batch, entries(None))  # whatever it says now
    assert again.already_committed
    assert (again.tier, again.entries_created, again.sources_consolidated) == (2, 5, 5)
    assert (await status(world.engine, alice)).totals[2].memories == first.entries_created


async def test_two_commits_of_a_batch_at_once_store_it_once(world: World, alice: Principal) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    done = await asyncio.gather(*(commit(world, alice, batch) for _ in range(6)))
    assert sorted(item.already_committed for item in done) == [False] + [True] * 5
    assert (await status(world.engine, alice)).totals[2].memories == 5


async def test_a_commit_after_its_memories_were_deleted_still_answers_what_it_did(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 5)
    batch = await checkout(world, alice)
    await commit(world, alice, batch)
    await delete_memories(world.engine, alice, [kept[0].id])
    assert (await commit(world, alice, batch)).already_committed


@pytest.mark.parametrize(
    "members, count, fits",
    [(7, 4, False), (7, 5, True), (7, 10, True), (7, 11, False), (3, 2, False), (3, 3, True)],
)
async def test_five_to_ten_reflections_are_taken_and_fewer_only_of_a_small_batch(
    world: World, alice: Principal, members: int, count: int, fits: bool
) -> None:
    await facts(world, alice, members)
    batch = await checkout(world, alice)
    sent = entries(*[None] * count)
    if fits:
        assert (await commit(world, alice, batch, sent)).entries_created == count
    else:
        with pytest.raises(InvalidInput, match="entries"):
            await commit(world, alice, batch, sent)
        assert (await status(world.engine, alice)).totals.keys() == {1}


async def test_foreign_sources_are_refused_and_nothing_is_stored(
    world: World, alice: Principal
) -> None:
    bob = await world.vault("bob")
    elsewhere = await world.keep(bob, "of another vault")
    kept = await facts(world, alice, 5)
    batch = await checkout(world, alice)
    beside = await world.keep(alice, "not in the batch")
    for foreign in (elsewhere, beside):
        sent = entries([kept[0]], [kept[1]], [kept[2]], [kept[3]], [kept[4], foreign])
        with pytest.raises(NotFound, match=foreign.id):
            await commit(world, alice, batch, sent)
    assert (await status(world.engine, alice)).totals.keys() == {1}
    assert (await commit(world, alice, batch)).entries_created == 5  # the lease still holds


async def test_a_batch_of_another_vault_is_as_unknown_as_one_that_never_was(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    bob = await world.vault("bob")
    said: list[str] = []
    for batch_id in (batch.id, "bat_0"):
        with pytest.raises(NotFound) as caught:
            await consolidate.commit(world.engine, bob, batch_id, entries(*[None] * 5))
        said.append(caught.value.message)
    assert said[0] == said[1]


async def test_a_commit_over_the_allowance_is_refused_whole(tmp_path: Path) -> None:
    async with world_on(tmp_path / "data", monthly_token_allowance=30) as world:
        alice = await world.vault("alice")
        await facts(world, alice, 5)  # 5 x 3 tokens
        batch = await checkout(world, alice)
        long = [Entry("a long reflection " * 9, 5, None) for _ in range(5)]
        with pytest.raises(QuotaExceeded):
            await commit(world, alice, batch, long)
        found = await status(world.engine, alice)
        assert (found.totals.keys(), found.usage.tokens) == ({1}, 15)
        assert (await commit(world, alice, batch)).entries_created == 5  # 5 x 3 tokens fit
        assert (await status(world.engine, alice)).usage.tokens == 30


async def test_who_may_only_read_checks_nothing_out_and_commits_nothing(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    reader = principal(alice.vault_id, READ)
    for attempt in (
        consolidate.checkout(world.engine, reader, 1),
        consolidate.commit(world.engine, reader, batch.id, entries(*[None] * 5)),
    ):
        with pytest.raises(RememberdError) as caught:
            await attempt
        assert caught.value.code == "read_only"


# -- lineage -----------------------------------------------------------------------------------


async def reflections(world: World, who: Principal, memory: Memory) -> list[str]:
    return [above.text for above in (await inspect(world.engine, who, memory.id)).reflections]


async def test_reflections_link_to_the_sources_they_name(world: World, alice: Principal) -> None:
    kept = await facts(world, alice, 5)
    batch = await checkout(world, alice)
    await commit(world, alice, batch, entries(*([memory] for memory in kept)))
    for number, memory in enumerate(kept):
        assert await reflections(world, alice, memory) == [f"reflection {number}"]


async def test_a_reflection_without_sources_links_to_the_whole_batch(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 6)
    batch = await checkout(world, alice)
    await commit(world, alice, batch, entries(None, [kept[0]], [kept[1]], [kept[2]], [kept[3]]))
    assert await reflections(world, alice, kept[0]) == ["reflection 0", "reflection 1"]
    assert await reflections(world, alice, kept[5]) == ["reflection 0"]


async def test_members_that_no_reflection_names_link_to_every_one(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 7)
    batch = await checkout(world, alice)
    sent = entries(*([kept[number], kept[number]] for number in range(5)))  # one named twice
    await commit(world, alice, batch, sent)
    everyone = [f"reflection {number}" for number in range(5)]
    assert await reflections(world, alice, kept[0]) == ["reflection 0"]
    assert await reflections(world, alice, kept[5]) == everyone
    assert await reflections(world, alice, kept[6]) == everyone


async def test_lineage_leads_from_tier_three_down_to_the_words(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 6)
    await commit(world, alice, await checkout(world, alice))
    second = await commit(world, alice, await checkout(world, alice, 2))
    assert second.tier == 3
    top = await _top(world, alice)
    middle = (await inspect(world.engine, alice, top.id)).sources
    assert {memory.tier for memory in middle} == {2}
    raw = (await inspect(world.engine, alice, middle[0].id)).sources
    assert [memory.text for memory in raw] == [memory.text for memory in kept]
    assert (await debt(world, alice)) == {}  # nothing lies above tier 3
    assert (await nothing(world, alice)).until is None


async def _top(world: World, who: Principal) -> Memory:
    async with world.store.vault(who.vault_id, "ro") as vault:
        [top, *_] = await vault.read(lambda tx: memories.recent(tx, 1))
    assert top.tier == 3
    return top


async def test_a_reflection_spans_the_dates_of_its_sources(world: World, alice: Principal) -> None:
    days = [world.clock.now() - timedelta(days=days) for days in (9, 3, 30, 5, 4)]
    for number, day in enumerate(days):
        await world.keep(alice, f"fact {number}", occurred_at=day)
    await commit(world, alice, await checkout(world, alice))
    await commit(world, alice, await checkout(world, alice, 2))
    top = await _top(world, alice)
    assert (top.occurred_at, top.until) == (min(days), max(days))
    assert top.importance == 5


async def test_deleting_the_only_reflection_sends_its_sources_back(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 5)
    sent = entries(*([memory] for memory in kept))
    await commit(world, alice, await checkout(world, alice), sent)
    [above] = (await inspect(world.engine, alice, kept[1].id)).reflections
    await delete_memories(world.engine, alice, [above.id])
    assert (await debt(world, alice))[1] == TierDebt(memories=1, tokens=kept[1].tokens)
    again = await checkout(world, alice, 1)
    assert [memory.id for memory in again.memories] == [kept[1].id]


async def test_deleting_a_source_is_remembered_by_what_was_built_from_it(
    world: World, alice: Principal
) -> None:
    kept = await facts(world, alice, 5)
    await commit(world, alice, await checkout(world, alice))
    await commit(world, alice, await checkout(world, alice, 2))
    done = await delete_memories(world.engine, alice, [kept[0].id, kept[1].id])
    assert len(done.surviving_reflections) == 10  # five of each tier above
    assert len(set(done.surviving_reflections)) == 10
    [*_, above] = (await inspect(world.engine, alice, kept[2].id)).reflections
    assert above.lost_sources == 2
    assert above.id in done.surviving_reflections


# -- when reflection is suggested --------------------------------------------------------------


@pytest.mark.parametrize("count, tokens, suggested", [(2, 1, False), (3, 1, True), (1, 9, True)])
async def test_reflection_is_suggested_from_either_threshold_on(
    tmp_path: Path,
    count: int,
    tokens: int,
    suggested: bool,
) -> None:
    async with world_on(tmp_path / "data", reflection_memories=3, reflection_tokens=9) as world:
        alice = await world.vault("alice")
        for _ in range(count):
            await world.keep(alice, "x" * tokens * 4)
        assert (await status(world.engine, alice)).consolidation_available is suggested


async def test_reflection_is_not_suggested_while_somebody_is_at_it(tmp_path: Path) -> None:
    async with world_on(tmp_path / "data", reflection_memories=3) as world:
        alice = await world.vault("alice")
        await facts(world, alice, 3)
        await checkout(world, alice)
        assert not (await status(world.engine, alice)).consolidation_available
        await facts(world, alice, 3)
        assert (await status(world.engine, alice)).consolidation_available
        await checkout(world, alice)
        world.clock.move(minutes=15)
        assert (await status(world.engine, alice)).consolidation_available


async def test_debt_counts_what_is_leased_until_it_is_committed(
    world: World, alice: Principal
) -> None:
    await facts(world, alice, 5)
    batch = await checkout(world, alice)
    assert (await debt(world, alice))[1].memories == 5
    await commit(world, alice, batch)
    assert 1 not in await debt(world, alice)
