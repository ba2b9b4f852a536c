"""Date search in pages: nothing that was there is lost and nothing comes twice.

Hypothesis writes the stories: what is stored at which times, how large a page may be, and what is
stored and deleted while somebody reads page after page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememberd.engine.dates import Page, date_search
from rememberd.engine.forget import delete_memories
from rememberd.model import Draft, Filters, Memory, Principal
from rememberd.store import lifecycle, memories
from rememberd.store.transaction import Transaction
from tests.engine.world import World, world_on

START = datetime(2026, 11, 1, tzinfo=UTC)
HOURS = st.integers(0, 4)  # few, so that many memories share a time


@dataclass(frozen=True)
class Story:
    """What is there at first, what happens after each page, and what is asked for."""

    first: list[tuple[int, int]]  #: length in words, hour
    between: list[tuple[list[int], list[int]]]  #: hours stored, numbers deleted
    page: int  #: tokens
    window: tuple[int | None, int | None] = (0, None)  #: hours


stories = st.builds(
    Story,
    first=st.lists(st.tuples(st.integers(1, 30), HOURS), min_size=1, max_size=14),
    between=st.lists(
        st.tuples(st.lists(HOURS, max_size=2), st.lists(st.integers(0, 20), max_size=2)), max_size=6
    ),
    page=st.integers(1, 60),
    window=st.tuples(st.none() | st.integers(0, 2), st.none() | st.integers(3, 5)),
)


class Reader:
    """Runs stories in one world, each in a vault of its own."""

    def __init__(self, runner: asyncio.Runner, world: World) -> None:
        self.runner = runner
        self.world = world
        self.vaults = 0


@pytest.fixture(scope="module", params=["off", "bundled"])
def reader(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """Search by words alone, or also by meaning; every text holds the word that is asked for."""
    root: Path = tmp_path_factory.mktemp("paging") / "data"
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        world = runner.run(stack.enter_async_context(world_on(root, embedder=request.param)))
        yield Reader(runner, world)
        runner.run(stack.aclose())


@dataclass
class Told:
    """What was there before the first page, what went away, and what came up on the pages."""

    here: dict[str, Memory]
    gone: set[str] = field(default_factory=set[str])
    later: set[str] = field(default_factory=set[str])
    pages: list[Page] = field(default_factory=list[Page])

    @property
    def seen(self) -> list[Memory]:
        return [memory for page in self.pages for memory in page.memories]


def draft(size: int, hour: int) -> Draft:
    return Draft(text="pear " * size, occurred_at=START + timedelta(hours=hour))


async def store(world: World, who: Principal, drafts: list[Draft]) -> list[Memory]:
    def work(tx: Transaction) -> list[Memory]:
        return [memories.insert(tx, one, world.clock) for one in drafts]

    async with world.store.vault(who.vault_id, "rw") as vault:
        return await vault.write(work)


async def tell(reader: Reader, story: Story, query: str | None) -> Told:
    world = reader.world
    reader.vaults += 1
    alice = await world.vault(f"vault {reader.vaults}")
    told = Told({})
    try:
        first = await store(world, alice, [draft(*one) for one in story.first])
        told.here = {memory.id: memory for memory in first}
        await world.settled()
        since, before = story.window
        window = Filters(
            since=None if since is None else START + timedelta(hours=since),
            before=None if before is None else START + timedelta(hours=before),
        )
        cursor: str | None = None
        between = iter(story.between)
        while True:
            page = await date_search(
                world.engine, alice, window, query=query, cursor=cursor, max_tokens=story.page
            )
            told.pages.append(page)
            cursor = page.next_from
            if cursor is None:
                return told
            await _meanwhile(world, alice, told, *next(between, ([], [])))
    finally:
        await lifecycle.erase(world.store, alice.vault_id, "test")


async def _meanwhile(
    world: World, who: Principal, told: Told, hours: list[int], deleted: list[int]
) -> None:
    if hours:
        later = await store(world, who, [draft(3, hour) for hour in hours])
        told.later.update(memory.id for memory in later)
    doomed = [list(told.here)[number] for number in deleted if number < len(told.here)]
    if doomed:
        told.gone.update(doomed)
        await delete_memories(world.engine, who, doomed)


def inside(story: Story, memory: Memory) -> bool:
    since, before = story.window
    hour = (memory.at - START) / timedelta(hours=1)
    return (since is None or hour >= since) and (before is None or hour < before)


def check_pages(story: Story, told: Told) -> None:
    """What holds for pages of either kind."""
    ids = [memory.id for memory in told.seen]
    assert len(ids) == len(set(ids)), "a memory came twice"
    must = {i for i, memory in told.here.items() if inside(story, memory)} - told.gone
    assert must <= set(ids), "a memory was lost"
    assert all(inside(story, memory) for memory in told.seen)
    for page in told.pages:
        tokens = sum(memory.tokens for memory in page.memories)
        assert len(page.memories) == 1 or tokens <= story.page
    assert all(page.memories for page in told.pages[:-1])


SLOWLY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SLOWLY
@given(story=stories)
def test_pages_in_time_order_neither_lose_nor_repeat(reader: Reader, story: Story) -> None:
    told = reader.runner.run(tell(reader, story, None))
    check_pages(story, told)
    order = [(memory.at, memory.seq) for memory in told.seen]
    assert order == sorted(order)


@SLOWLY
@given(story=stories)
def test_ranked_pages_neither_lose_nor_repeat(reader: Reader, story: Story) -> None:
    told = reader.runner.run(tell(reader, story, "pear"))
    check_pages(story, told)
    assert not told.later & {memory.id for memory in told.seen}, "a later memory slipped in"


def test_a_memory_larger_than_a_page_has_a_page_of_its_own(reader: Reader) -> None:
    story = Story([(5, 0), (500, 1), (5, 2)], [], page=6)
    for query in (None, "pear"):
        told = reader.runner.run(tell(reader, story, query))
        assert sorted(len(page.memories) for page in told.pages) == [1, 1, 1]
        check_pages(story, told)


@pytest.mark.parametrize("page", [200, 10_000])
def test_a_page_may_take_more_than_is_read_at_once(reader: Reader, page: int) -> None:
    story = Story([(3, number % 5) for number in range(220)], [], page=page, window=(None, None))
    for query in (None, "pear"):
        told = reader.runner.run(tell(reader, story, query))
        assert len(told.seen) == 220
        check_pages(story, told)


async def test_a_reflection_is_in_every_window_that_its_span_meets(tmp_path: Path) -> None:
    async with world_on(tmp_path / "data", embedder="off") as world:
        alice = await world.vault("alice")
        spanning = Draft(
            text="pear", tier=2, importance=5, occurred_at=START, until=START + timedelta(days=9)
        )
        await store(world, alice, [spanning])
        for first, last, found in ((-5, 0, 0), (-5, 1, 1), (4, 5, 1), (9, 20, 1), (10, 20, 0)):
            window = Filters(
                since=START + timedelta(days=first), before=START + timedelta(days=last)
            )
            for query in (None, "pear"):
                page = await date_search(
                    world.engine, alice, window, query=query, cursor=None, max_tokens=100
                )
                assert len(page.memories) == found, (first, last, query)
