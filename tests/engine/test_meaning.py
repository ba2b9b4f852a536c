"""Vectors follow the memories and the model: late ones are dropped, a new model takes over."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rememberd.engine import indexing
from rememberd.engine.dates import date_search
from rememberd.engine.forget import delete_memories, forget_all
from rememberd.engine.search import search_memories
from rememberd.engine.status import Status, status
from rememberd.errors import EmbedderUnavailable, InvalidInput, RememberdError, UpstreamBusy
from rememberd.inference.embed import Kind, Purpose
from rememberd.model import Filters, Principal
from rememberd.store.transaction import Transaction
from rememberd.tools.base import NoArguments
from rememberd.tools.vault import memory_status
from tests.engine.world import Models, World, world_on
from tests.fakes import WordHashEmbedder
from tests.store.world import until


async def found(world: World, who: Principal, query: str) -> list[str]:
    hits = (await search_memories(world.engine, who, query, Filters(), 10)).hits
    return [hit.memory.text for hit in hits]


async def vectors_of(world: World, who: Principal) -> dict[str, int]:
    """How many memories have vectors of each model."""

    def look(tx: Transaction) -> dict[str, int]:
        rows = tx.connection.execute(
            "SELECT identity, count(DISTINCT memory) FROM model LEFT JOIN vector "
            "ON vector.model = model.id GROUP BY identity"
        ).fetchall()
        return {str(row[0]): int(row[1]) for row in rows}  # pyright: ignore[reportArgumentType]

    async with world.store.vault(who.vault_id, "ro") as vault:
        return await vault.read(look)


async def seen(world: World, who: Principal) -> Status:
    await world.engine.meaning.current()  # the status does not load a model by itself
    return await status(world.engine, who)


async def told(world: World, who: Principal) -> tuple[str, str | None, str | None]:
    """What memory_status says of the search: by what, why not by more, where texts go."""
    search = (await memory_status.run(world.engine, who, NoArguments())).search
    return search.by, search.note, search.host


# -- late vectors ------------------------------------------------------------------------------


async def test_a_vector_that_comes_after_its_memory_was_deleted_is_dropped(
    world: World, alice: Principal
) -> None:
    model = await _held_up(world)
    gone = await world.keep(alice, "gone")
    stays = await world.keep(alice, "stays")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.settled())
        await until(lambda: bool(model.calls))
        await delete_memories(world.engine, alice, [gone.id])
        model.gate.set()
    assert await vectors_of(world, alice) == {"fake:32": 1}
    assert await found(world, alice, "stays") == [stays.text]
    assert (await seen(world, alice)).pending == 0


async def test_a_vector_that_comes_after_everything_was_forgotten_is_dropped(
    world: World, alice: Principal
) -> None:
    model = await _held_up(world)
    await world.keep(alice, "gone")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.settled())
        await until(lambda: bool(model.calls))
        await forget_all(world.engine, alice)
        await world.keep(alice, "new")  # takes the same place in its vault
        model.gate.set()
    await world.settled()
    assert await vectors_of(world, alice) == {"fake:32": 1}
    assert await found(world, alice, "gone") == ["new"]  # by meaning all there is comes up


async def _held_up(world: World) -> WordHashEmbedder:
    """The model, which from now on thinks until its gate is opened."""
    model = await world.engine.meaning.current()
    assert isinstance(model, WordHashEmbedder)
    model.gate.clear()
    return model


# -- another model -----------------------------------------------------------------------------


async def test_the_old_model_answers_until_the_new_one_covers_every_memory(
    data_dir: Path,
) -> None:
    models, old, new = Models(), WordHashEmbedder(32, "old"), WordHashEmbedder(24, "new")
    models.by_kind = {"bundled": old, "static": new}
    async with world_on(data_dir, models) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "pears and plums")
        await world.settled()
    async with world_on(data_dir, models, embedder="static") as world:
        new.gate.clear()
        await world.keep(alice, "figs and dates")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(world.settled())
            await until(lambda: bool(new.calls))
            during = tasks.create_task(_asked_by_old(world, alice, old))
            await until(lambda: len(new.calls) > 1)  # the query, first asked of the new model
            new.gate.set()
        assert during.result() == (True, 2)
        after = await seen(world, alice)
        assert (after.pending, after.answers_with_older_model) == (0, False)
        assert await vectors_of(world, alice) == {"new:24": 2}
        old.calls.clear()
        assert (await found(world, alice, "figs"))[0] == "figs and dates"
        assert old.calls == []


async def _asked_by_old(world: World, who: Principal, old: WordHashEmbedder) -> tuple[bool, int]:
    """Whether the old model was asked, and how many memories the new one still lacks."""
    old.calls.clear()
    before = await seen(world, who)
    assert before.answers_with_older_model
    assert (await found(world, who, "pears"))[0] == "pears and plums"
    return ("query", ("pears",)) in old.calls, before.pending


@pytest.mark.parametrize("before", ["static", "off"])
async def test_a_vault_that_nobody_writes_to_comes_to_a_new_model_by_being_searched(
    data_dir: Path, before: Kind
) -> None:
    """At the start no vault is opened that has no work noted; a search is what finds out."""
    models = Models()
    models.by_kind["static"] = WordHashEmbedder(24, "old")
    async with world_on(data_dir, models, embedder=before) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "pears and plums")
        await world.settled()
        assert world.store.dirty() == []
    async with world_on(data_dir, models) as world:
        await world.settled()
        assert "fake:32" not in await vectors_of(world, alice)
        assert await found(world, alice, "plums") == ["pears and plums"]
        await world.settled()
        assert await vectors_of(world, alice) == {"fake:32": 1}


async def test_an_old_model_that_cannot_be_had_any_more_leaves_the_words(data_dir: Path) -> None:
    models, new = Models(), WordHashEmbedder(24, "new")
    async with world_on(data_dir, models) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "pears and plums")
        await world.settled()
    models.by_kind = {"static": new}
    async with world_on(data_dir, models, embedder="static") as world:
        assert await found(world, alice, "plums") == ["pears and plums"]
        assert await found(world, alice, "elephants") == []  # by words alone, nothing comes up
        await world.keep(alice, "figs")
        await world.settled()
        assert await vectors_of(world, alice) == {"new:24": 2}
        assert len(await found(world, alice, "elephants")) == 2


async def test_going_back_to_the_old_model_half_way_leaves_nothing_of_the_new(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, new = Models(), WearyEmbedder(24, "new")
    models.by_kind = {"bundled": WordHashEmbedder(32, "old"), "static": new}
    async with world_on(data_dir, models) as world:
        alice = await world.vault("alice")
        for number in range(3):
            await world.keep(alice, f"fact {number}")
        await world.settled()
    monkeypatch.setattr(indexing, "BATCH", 2)
    async with world_on(data_dir, models, embedder="static") as world:
        await world.keep(alice, "fact 3")
        await world.settled()
        assert await vectors_of(world, alice) == {"old:32": 3, "new:24": 2}
    async with world_on(data_dir, models) as world:
        await world.settled()
        assert await vectors_of(world, alice) == {"old:32": 4}
        assert (await seen(world, alice)).pending == 0


class WearyEmbedder(WordHashEmbedder):
    """Answers once and is busy from then on."""

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        answer = await super().embed(texts, purpose)
        self.error = UpstreamBusy("wait", retry_after=3600)
        return answer


async def test_two_workers_that_embed_the_same_memory_leave_one_vector(
    world: World, alice: Principal
) -> None:
    model = await _held_up(world)
    await world.keep(alice, "word " * 100)  # several passages
    async with asyncio.TaskGroup() as tasks:
        for _ in range(2):
            tasks.create_task(indexing.embed_pending(world.engine, alice.vault_id))
        await until(lambda: len(model.calls) == 2)
        model.gate.set()
    passages = len(model.passages("word " * 100))

    def count(tx: Transaction) -> int:
        return tx.value("count_vectors")

    async with world.store.vault(alice.vault_id, "ro") as vault:
        assert await vault.read(count) == passages


# -- a model that fails ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [EmbedderUnavailable, InvalidInput, UpstreamBusy])
async def test_a_model_that_cannot_be_loaded_leaves_the_words(
    data_dir: Path, kind: type[RememberdError]
) -> None:
    models = Models()
    models.error = kind("the model is not to be had")
    async with world_on(data_dir, models) as world:
        alice = await world.vault("alice")
        await world.keep(alice, "pears and plums")
        await world.settled()
        assert await found(world, alice, "plums") == ["pears and plums"]
        meaning = (await seen(world, alice)).meaning
        assert (meaning.state, meaning.reason) == ("unavailable", "the model is not to be had")


async def test_a_model_that_fails_at_a_query_leaves_the_words(
    world: World, alice: Principal
) -> None:
    await world.keep(alice, "pears and plums")
    await world.settled()
    model = await world.engine.meaning.current()
    assert isinstance(model, WordHashEmbedder)
    model.error = EmbedderUnavailable("the host does not answer")
    assert await found(world, alice, "plums") == ["pears and plums"]
    assert await told(world, alice) == ("words", "the host does not answer", None)
    window = Filters(since=world.clock.now())
    page = await date_search(
        world.engine, alice, window, query="plums", cursor=None, max_tokens=100
    )
    assert [memory.text for memory in page.memories] == ["pears and plums"]
    model.error = None
    await found(world, alice, "pears")
    assert await told(world, alice) == ("words and meaning", None, None)


async def test_the_host_that_texts_go_to_is_named_before_and_after_it_was_first_asked(
    data_dir: Path,
) -> None:
    models, hosted = Models(), WordHashEmbedder()
    hosted.host = "embed.example:8080"
    address: dict[str, Any] = {
        "embedder_url": "http://me:pw@embed.example:8080/v1",
        "embedder_model": "m",
    }
    async with world_on(data_dir, models, embedder="openai", **address) as world:
        alice = await world.vault("alice")
        assert await told(world, alice) == ("words and meaning", None, hosted.host)
        await found(world, alice, "plums")
        assert await told(world, alice) == ("words", "openai is not here", hosted.host)
        models.by_kind["openai"] = hosted
        world.clock.move(minutes=1)
        await found(world, alice, "plums")
        assert await told(world, alice) == ("words and meaning", None, hosted.host)


async def test_work_that_a_busy_host_put_off_is_done_later_and_survives_a_crash(
    data_dir: Path, tmp_path: Path
) -> None:
    models, model = Models(), WordHashEmbedder()
    models.by_kind["bundled"] = model
    async with world_on(data_dir, models) as world:
        alice = await world.vault("alice")
        model.error = UpstreamBusy("wait a little", retry_after=3600)
        await world.keep(alice, "pears")
        await world.settled()
        assert world.store.dirty() == [alice.vault_id]
        assert await found_by_words(world, alice, "pears") == ["pears"]
        shutil.copytree(data_dir, tmp_path / "crashed")
    model.error = None
    async with world_on(tmp_path / "crashed", models) as world:
        assert world.store.dirty() == [alice.vault_id]
        await world.settled()
        assert world.store.dirty() == []
        assert await vectors_of(world, alice) == {"fake:32": 1}


async def found_by_words(world: World, who: Principal, query: str) -> list[str]:
    model = await world.engine.meaning.current()
    assert isinstance(model, WordHashEmbedder)
    error, model.error = model.error, EmbedderUnavailable("not now")
    try:
        return await found(world, who, query)
    finally:
        model.error = error


async def test_pending_counts_what_is_not_yet_searchable_by_meaning(
    world: World, alice: Principal
) -> None:
    for number in range(3):
        await world.keep(alice, f"fact {number}")
    assert (await seen(world, alice)).pending == 3
    await world.settled()
    assert (await seen(world, alice)).pending == 0
    await world.keep(alice, "fact 3")
    assert (await seen(world, alice)).pending == 1
