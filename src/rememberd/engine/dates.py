"""Memories of a time window: in time order, or ranked by a query within the window; in pages.

No page loses or repeats a memory, also when others are stored in between: in time order a cursor is
the place (time, seq) to go on after; ranked, it names what was shown already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from rememberd.clock import to_micros
from rememberd.engine import cursors
from rememberd.engine.engine import Engine
from rememberd.engine.reflection import consolidation_available
from rememberd.engine.search import Asked, Hit, ask, rank
from rememberd.model import Filters, Memory, Principal
from rememberd.store import memories
from rememberd.store.store import VaultHandle
from rememberd.store.transaction import Transaction

BEGINNING = datetime.min.replace(tzinfo=UTC)
# Rows read at a time while a page fills: each time twice as many, since a page may take few.
_READ_FIRST, _READ_MOST = 50, 800


@dataclass(frozen=True, slots=True)
class Page:
    """One page; `next_from` is set when more follow. Scores are None in time order."""

    memories: tuple[Memory, ...]
    scores: tuple[float, ...] | None
    next_from: str | None
    consolidation_available: bool


async def date_search(
    engine: Engine,
    principal: Principal,
    filters: Filters,
    *,
    query: str | None,
    cursor: str | None,
    max_tokens: int,
) -> Page:
    """One page of at most `max_tokens`, but at least one memory. `filters.since` starts the window
    of the first page; a cursor carries the start of its own.

    Raises InvalidInput for a cursor that is damaged or belongs to the other kind of search.
    """
    async with engine.open(principal, "ro") as vault:
        if query is None:
            return await _in_time_order(engine, vault, filters, cursor, max_tokens)
        return await _ranked(engine, vault, filters, query, cursor, max_tokens)


async def _in_time_order(
    engine: Engine, vault: VaultHandle, filters: Filters, cursor: str | None, max_tokens: int
) -> Page:
    place = cursors.read_place(cursor) if cursor else None
    since = place.since if place else filters.since or BEGINNING
    window = replace(filters, since=since)

    def take(tx: Transaction) -> Page:
        after = (place.at, place.seq) if place else (-memories.FOREVER, 0)
        taken, more = _fill(_following(tx, window, after), max_tokens)
        following = None
        if more:
            last = taken[-1]
            following = cursors.write_place(cursors.Place(since, to_micros(last.at), last.seq))
        return Page(tuple(taken), None, following, consolidation_available(tx, engine))

    return await vault.read(take)


def _following(tx: Transaction, filters: Filters, after: tuple[int, int]) -> Iterable[Memory]:
    limit = _READ_FIRST
    while rows := memories.window(tx, filters, after, limit):
        yield from rows
        after, limit = (to_micros(rows[-1].at), rows[-1].seq), min(2 * limit, _READ_MOST)


def _fill(candidates: Iterable[Memory], max_tokens: int) -> tuple[list[Memory], bool]:
    """What fits, and whether anything was left over. The first one always fits."""
    taken: list[Memory] = []
    tokens = 0
    for memory in candidates:
        tokens += memory.tokens
        if taken and tokens > max_tokens:
            return taken, True
        taken.append(memory)
    return taken, False


async def _ranked(
    engine: Engine,
    vault: VaultHandle,
    filters: Filters,
    query: str,
    cursor: str | None,
    max_tokens: int,
) -> Page:
    shown = cursors.read_shown(cursor, query) if cursor else None
    since = shown.since if shown else filters.since or BEGINNING
    window = replace(filters, since=since)

    def take(tx: Transaction, asked: Asked) -> Page:
        ranked = rank(tx, vault, engine, asked, window, None)
        newest = shown.newest if shown else max(ranked.seqs, default=0)
        past = shown.seqs if shown else frozenset[int]()
        left = [
            (seq, score)
            for seq, score in zip(ranked.seqs, ranked.scores, strict=True)
            if seq not in past and seq <= newest
        ]
        hits, more = _fill_hits(_hits(tx, left), max_tokens)
        following = None
        if more:
            seqs = past | {hit.memory.seq for hit in hits}
            following = cursors.write_shown(cursors.Shown(since, newest, seqs), query)
        return Page(
            tuple(hit.memory for hit in hits),
            tuple(hit.score for hit in hits),
            following,
            consolidation_available(tx, engine),
        )

    return await ask(engine, vault, query, take)


def _hits(tx: Transaction, left: list[tuple[int, float]]) -> Iterable[Hit]:
    start, limit = 0, _READ_FIRST
    while page := left[start : start + limit]:
        found = memories.by_seq(tx, [seq for seq, _ in page])
        yield from (Hit(found[seq], score) for seq, score in page if seq in found)
        start, limit = start + limit, min(2 * limit, _READ_MOST)


def _fill_hits(candidates: Iterable[Hit], max_tokens: int) -> tuple[list[Hit], bool]:
    scores: dict[int, float] = {}

    def remembered() -> Iterable[Memory]:
        for hit in candidates:
            scores[hit.memory.seq] = hit.score
            yield hit.memory

    taken, more = _fill(remembered(), max_tokens)
    return [Hit(memory, scores[memory.seq]) for memory in taken], more
