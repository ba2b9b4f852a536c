"""Memories as rows: storing, reading, deleting, and who was built from whom.

Functions take an open transaction of one vault. Text and index change together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import cast

from rememberd.clock import Clock, from_micros, to_micros
from rememberd.model import Draft, Filters, Memory, Source, Tier, TierDebt, count_tokens
from rememberd.store import analysis
from rememberd.store.transaction import Row, Transaction

# Beyond any time that a datetime can say, in microseconds.
FOREVER = 1 << 62


def insert(tx: Transaction, draft: Draft, clock: Clock) -> Memory:
    """Store one memory and index its words."""
    now = clock.now()
    at = draft.occurred_at or now
    memory_id = clock.new_id("mem")
    tx.run(
        "insert_memory",
        id=memory_id,
        tier=draft.tier,
        importance=draft.importance,
        tokens=count_tokens(draft.text),
        source=str(draft.source),
        created_at=to_micros(now),
        occurred_at=to_micros(draft.occurred_at) if draft.occurred_at else None,
        at=to_micros(at),
        until=to_micros(draft.until or at),
        app=draft.app,
        source_context=draft.source_context,
        tags=json.dumps(draft.tags, ensure_ascii=False),
        text=draft.text,
    )
    seq = tx.last_rowid()
    tx.run("index_memory", seq=seq, terms=_terms(draft.text, draft.tags, at))
    return by_seq(tx, [seq])[seq]


def _terms(text: str, tags: Iterable[str], at: datetime) -> str:
    parts = (analysis.index_terms(text), *map(analysis.index_terms, tags), analysis.date_terms(at))
    return " ".join(part for part in parts if part)


def reindex(tx: Transaction) -> None:
    """Rebuild the text index when the analysis of text has changed since it was built."""
    current = str(analysis.ANALYSIS_VERSION)
    if tx.value("get_meta", name="analysis") == current:
        return
    tx.run("unindex_all")
    after = 0
    while rows := tx.all("all_texts", after=after, limit=500):
        tx.many("index_memory", [_indexed(row) for row in rows])
        after = rows[-1]["seq"]
    tx.run("set_meta", name="analysis", value=current)


def _indexed(row: Row) -> Row:
    terms = _terms(row["text"], json.loads(row["tags"]), from_micros(row["at"]))
    return {"seq": row["seq"], "terms": terms}


def get(tx: Transaction, memory_id: str) -> Memory | None:
    row = tx.one("memory_by_id", id=memory_id)
    return from_row(row) if row else None


def by_seq(tx: Transaction, seqs: Iterable[int]) -> dict[int, Memory]:
    rows = tx.all("memories_by_seq", seqs=json.dumps(list(seqs)))
    return {row["seq"]: from_row(row) for row in rows}


def recent(tx: Transaction, limit: int) -> list[Memory]:
    return [from_row(row) for row in tx.all("recent_memories", limit=limit)]


def window(tx: Transaction, filters: Filters, after: tuple[int, int], limit: int) -> list[Memory]:
    """The next memories in time order after the place `(at in microseconds, seq)`."""
    since, before = filters.since, filters.before
    rows = tx.all(
        "memories_in_window",
        after_at=after[0],
        after_seq=after[1],
        since=to_micros(since) if since else -FOREVER,
        before=to_micros(before) if before else FOREVER,
        tiers=sum(1 << tier for tier in filters.tiers),
        importance=filters.importance,
        limit=limit,
    )
    return [from_row(row) for row in rows]


def delete(tx: Transaction, memory_ids: Iterable[str]) -> dict[str, Memory | None]:
    """Remove memories with their index entries and vectors; None for an id that is not here.

    Reflections built from them stay and count a lost source. Memories that only a deleted
    reflection was built from can be consolidated again.
    """
    found: dict[str, Memory | None] = {}
    for memory_id in dict.fromkeys(memory_ids):
        found[memory_id] = memory = get(tx, memory_id)
        if memory is None:
            continue
        tx.run("release_sources", seq=memory.seq)
        tx.run("note_lost_source", seq=memory.seq)
        for name in ("delete_lineage", "delete_text", "delete_vectors", "delete_memory"):
            tx.run(name, seq=memory.seq)
    return found


def sources(tx: Transaction, memory: Memory) -> list[Memory]:
    return [from_row(row) for row in tx.all("sources_of", seq=memory.seq)]


def built_from(tx: Transaction, memory: Memory) -> list[Memory]:
    """The reflections that this memory went into."""
    return [from_row(row) for row in tx.all("built_from", seq=memory.seq)]


def superseded(tx: Transaction, memory: Memory) -> list[Memory]:
    """The memories that this one replaced."""
    return [from_row(row) for row in tx.all("superseded_by_this", id=memory.id)]


def link(tx: Transaction, reflection: Memory, sources: Iterable[int]) -> None:
    tx.many("link", [{"reflection": reflection.seq, "source": source} for source in sources])


def totals(tx: Transaction) -> dict[int, TierDebt]:
    """Memories and tokens by tier."""
    return _by_tier(tx.all("tier_counts"))


def debt(tx: Transaction) -> dict[int, TierDebt]:
    """Unconsolidated memories and tokens by tier; tier 3 has nothing above it."""
    return {tier: held for tier, held in _by_tier(tx.all("tier_debt")).items() if tier < 3}


def _by_tier(rows: list[Row]) -> dict[int, TierDebt]:
    return {row["tier"]: TierDebt(memories=row["memories"], tokens=row["tokens"]) for row in rows}


def from_row(row: Row) -> Memory:
    occurred, consolidated, valid = row["occurred_at"], row["consolidated_at"], row["valid_until"]
    return Memory(
        id=row["id"],
        seq=row["seq"],
        tier=cast("Tier", row["tier"]),
        text=row["text"],
        tokens=row["tokens"],
        source=Source(row["source"]),
        created_at=from_micros(row["created_at"]),
        occurred_at=from_micros(occurred) if occurred is not None else None,
        until=from_micros(row["until"]) if row["until"] != row["at"] else None,
        importance=row["importance"],
        tags=tuple(json.loads(row["tags"])),
        source_context=row["source_context"],
        app=row["app"],
        consolidated_at=from_micros(consolidated) if consolidated is not None else None,
        superseded_by=row["superseded_by"],
        valid_until=from_micros(valid) if valid is not None else None,
        lost_sources=row["lost_sources"],
    )
