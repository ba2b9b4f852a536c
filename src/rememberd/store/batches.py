"""Batches: memories checked out for reflection, and what came of them.

A lease ends when its time has passed; nothing has to run for that to happen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from rememberd.clock import Clock, from_micros, to_micros
from rememberd.model import Batch, Memory, Tier, TierDebt
from rememberd.store import memories
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Member:
    """One memory of a batch, as it stands now."""

    memory_id: str
    seq: int
    present: bool  #: not deleted since
    held: bool  #: not checked out by another batch since, not consolidated
    at: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class BatchState:
    id: str
    tier: Tier
    expires_at: datetime
    result: dict[str, Any] | None  #: what the first commit answered
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """What live leases hold of a tier."""

    debt: TierDebt
    until: datetime  #: when the last of them ends


def held(tx: Transaction, now: datetime) -> dict[int, Held]:
    """By tier; tiers of which nothing is held are missing."""
    return {
        row["tier"]: Held(
            TierDebt(memories=row["memories"], tokens=row["tokens"]), from_micros(row["until"])
        )
        for row in tx.all("held", now=to_micros(now))
    }


def checkout(
    tx: Transaction, tier: Tier, clock: Clock, lease: timedelta, most: int, most_tokens: int
) -> Batch | None:
    """Lease the oldest free memories of a tier, within both limits; None when there are none.

    The first memory is always taken, however long it is.
    """
    now = clock.now()
    rows = tx.all("checkout", tier=tier, now=to_micros(now), limit=most)
    taken = _within([memories.from_row(row) for row in rows], most_tokens)
    if not taken:
        return None
    batch = Batch(id=clock.new_id("bat"), tier=tier, expires_at=now + lease, memories=tuple(taken))
    tx.run(
        "add_batch",
        id=batch.id,
        tier=tier,
        created_at=to_micros(now),
        expires_at=to_micros(batch.expires_at),
    )
    for memory in taken:
        tx.run("add_member", batch_id=batch.id, memory_id=memory.id, seq=memory.seq)
        tx.run("lease", batch_id=batch.id, seq=memory.seq)
    return batch


def _within(candidates: Sequence[Memory], most_tokens: int) -> list[Memory]:
    taken: list[Memory] = []
    tokens = 0
    for memory in candidates:
        tokens += memory.tokens
        if taken and tokens > most_tokens:
            break
        taken.append(memory)
    return taken


def state(tx: Transaction, batch_id: str) -> BatchState | None:
    row = tx.one("batch", id=batch_id)
    if row is None:
        return None
    members = tuple(
        Member(
            memory_id=member["memory_id"],
            seq=member["member_seq"],
            present=bool(member["exists_still"]),
            held=member["batch_id"] == batch_id and member["consolidated_at"] is None,
            at=from_micros(member["at"]) if member["at"] is not None else None,
            until=from_micros(member["until"]) if member["until"] is not None else None,
        )
        for member in tx.all("members", batch_id=batch_id)
    )
    return BatchState(
        id=batch_id,
        tier=cast("Tier", row["tier"]),
        expires_at=from_micros(row["expires_at"]),
        result=json.loads(row["result"]) if row["result"] else None,
        members=members,
    )


def finish(tx: Transaction, batch: BatchState, result: dict[str, Any], now: datetime) -> None:
    """Mark the members consolidated and remember what was answered, for the next time."""
    at = to_micros(now)
    tx.many("consolidate", [{"seq": member.seq, "now": at} for member in batch.members])
    tx.run("finish_batch", id=batch.id, now=at, result=json.dumps(result))
