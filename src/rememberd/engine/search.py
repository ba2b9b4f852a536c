"""Search by words and meaning together, over all tiers or some, in one vault.

Opens the vault read-only. Works without an embedding model: then words and neighbours decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rememberd.engine.engine import Engine
from rememberd.engine.reflection import consolidation_available
from rememberd.errors import EmbedderUnavailable
from rememberd.inference.embed import Embedder
from rememberd.model import Filters, Memory, Principal
from rememberd.store import analysis, memories, search, vectors
from rememberd.store.store import VaultHandle
from rememberd.store.transaction import Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory and how far it speaks to the query, from 0 to 1."""

    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    hits: tuple[Hit, ...]
    consolidation_available: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with its vector, and the embedder that made it; both None without a model.

    `author` is the one author of the vault whom the query names. The vector is of `topic`, the
    query without such names: they are matched exactly, and would drown what is asked about them.
    """

    text: str
    topic: str
    author: str | None = None
    embedder: Embedder | None = None
    vector: Any = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Seqs of the memories that pass the filters, best first, and the score shown for each."""

    seqs: list[int]
    scores: list[float]


class OtherModel(Exception):
    """The vault's vectors were made by another model than the query's, or there are none."""

    def __init__(self, identity: str | None) -> None:
        super().__init__(identity)
        self.identity = identity


async def search_memories(
    engine: Engine, principal: Principal, query: str, filters: Filters, limit: int
) -> Found:
    """The `limit` memories that answer best. Raises what opening the vault raises."""
    async with engine.open(principal, "ro") as vault:

        def find(tx: Transaction, asked: Asked) -> Found:
            ranked = rank(tx, vault, engine, asked, filters, limit)
            found = memories.by_seq(tx, ranked.seqs)
            hits = [
                Hit(found[seq], score)
                for seq, score in zip(ranked.seqs, ranked.scores, strict=True)
                if seq in found
            ]
            return Found(tuple(hits), consolidation_available(tx, engine))

        return await ask(engine, vault, query, find)


async def ask(
    engine: Engine, vault: VaultHandle, query: str, find: Callable[[Transaction, Asked], T]
) -> T:
    """Run `find` in a read transaction with a query vector that fits this vault's vectors."""
    words = await _words(engine, vault, query)
    embedder = await engine.meaning.current()
    for _ in range(2):
        asked = await _with_vector(words, embedder)
        try:
            return await vault.read(lambda tx, asked=asked: find(tx, asked))
        except OtherModel as other:
            vault.ask_for_work()  # a vault that nobody writes to comes to a new model this way
            embedder = await engine.meaning.of(other.identity) if other.identity else None
    return await vault.read(lambda tx: find(tx, words))


async def _words(engine: Engine, vault: VaultHandle, query: str) -> Asked:
    """The query as yet without a vector."""
    if not engine.limits.author_boost:
        return Asked(query, query)
    # numpy costs 0.1 s at start-up and a server may run for days before its first search.
    from rememberd.store.mirror import Mirror  # noqa: PLC0415

    outline = await vault.read(lambda tx: vault.cached(Mirror).outline(tx, None))
    topic, named = analysis.without_authors(query, outline.author_numbers)
    return Asked(query, topic, named[0] if len(named) == 1 else None)


async def _with_vector(asked: Asked, embedder: Embedder | None) -> Asked:
    if embedder is None:
        return asked
    try:
        [vector] = await embedder.embed([asked.topic], "query")
    except EmbedderUnavailable:
        return asked  # words go on
    return replace(asked, embedder=embedder, vector=vector)


def rank(
    tx: Transaction,
    vault: VaultHandle,
    engine: Engine,
    asked: Asked,
    filters: Filters,
    limit: int | None,
) -> Ranked:
    """Order what passes the filters. Raises OtherModel when the vector does not fit."""
    from rememberd.engine.order import order  # noqa: PLC0415 - numpy, as above
    from rememberd.store.mirror import Mirror  # noqa: PLC0415

    model = vectors.active_model(tx)
    identity = model.identity if model else None
    if asked.embedder and asked.embedder.identity != identity:
        raise OtherModel(identity)
    outline = vault.cached(Mirror).outline(tx, model if asked.embedder else None)
    vault.trim_cache()
    words = search.match(tx, asked.text)
    likeness = asked.embedder.likeness if asked.embedder else (0.0, 1.0)
    return Ranked(*order(outline, words, asked.vector, likeness, filters, asked.author, limit))
