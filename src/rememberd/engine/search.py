"""Search by words and meaning together, over all tiers or some, in one vault.

Opens the vault read-only. Works without an embedding model: then words and neighbours decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rememberd.engine.engine import Engine
from rememberd.engine.reflection import consolidation_available
from rememberd.errors import EmbedderUnavailable
from rememberd.inference.embed import Embedder
from rememberd.model import Filters, Memory, Principal
from rememberd.store import analysis, memories, search, vectors
from rememberd.store.store import VaultHandle
from rememberd.store.transaction import Transaction

if TYPE_CHECKING:
    from rememberd.store.mirror import Outline

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
    """A query with its vector, and the embedder that made it; both None without a model."""

    text: str
    embedder: Embedder | None = None
    vector: Any = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Seqs of the memories that pass the filters, best first, and the score shown for each."""

    seqs: list[int]
    scores: list[float]


class OtherModel(Exception):
    """The vault's vectors were made by another model than the query's."""

    def __init__(self, identity: str) -> None:
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
            return Found(tuple(hits), consolidation_available(tx, engine.limits))

        return await ask(engine, vault, query, find)


async def ask(
    engine: Engine, vault: VaultHandle, query: str, find: Callable[[Transaction, Asked], T]
) -> T:
    """Run `find` in a read transaction with a query vector that fits this vault's vectors."""
    embedder = await engine.meaning.current()
    for _ in range(2):
        asked = await _asked(query, embedder)
        try:
            return await vault.read(lambda tx, asked=asked: find(tx, asked))
        except OtherModel as other:
            embedder = await engine.meaning.of(other.identity)
    return await vault.read(lambda tx: find(tx, Asked(query)))


async def _asked(query: str, embedder: Embedder | None) -> Asked:
    if embedder is None:
        return Asked(query)
    try:
        [vector] = await embedder.embed([query], "query")
    except EmbedderUnavailable:
        return Asked(query)  # words go on
    return Asked(query, embedder, vector)


def rank(
    tx: Transaction,
    vault: VaultHandle,
    engine: Engine,
    asked: Asked,
    filters: Filters,
    limit: int | None,
) -> Ranked:
    """Order what passes the filters. Raises OtherModel when the vector does not fit."""
    # numpy costs 0.1 s at start-up and a server may run for days before its first search.
    from rememberd.engine.order import order  # noqa: PLC0415
    from rememberd.store.mirror import Mirror  # noqa: PLC0415

    model = vectors.active_model(tx)
    if asked.embedder and model and model.identity != asked.embedder.identity:
        raise OtherModel(model.identity)
    outline = vault.cached(Mirror).outline(tx, model if asked.embedder else None)
    vault.trim_cache()
    words = search.match(tx, asked.text, len(outline.seqs))
    author = _asked_author(asked.text, outline) if engine.limits.author_boost else None
    likeness = asked.embedder.likeness if asked.embedder else (0.0, 1.0)
    return Ranked(*order(outline, words, asked.vector, likeness, filters, author, limit))


def _asked_author(query: str, outline: Outline) -> int | None:
    """The one author that the query names, as an index; None when it names none or several."""
    asked = set(analysis.query_terms(query))
    named = [
        number
        for number, name in enumerate(outline.author_names)
        if asked.issuperset(analysis.query_terms(name))
    ]
    return named[0] if len(named) == 1 else None
