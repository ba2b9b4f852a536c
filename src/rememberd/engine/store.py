"""Stores one memory: counted, committed with its words, and left for the worker to embed."""

from __future__ import annotations

from rememberd.engine.engine import Engine
from rememberd.model import Draft, Memory, Principal, count_tokens
from rememberd.store import ledger, memories
from rememberd.store.transaction import Transaction


async def store_memory(engine: Engine, principal: Principal, draft: Draft) -> Memory:
    """Durable when this returns, and found by its words. Never deduplicated.

    Raises QuotaExceeded when the month's allowance does not cover it, ReadOnly for a principal
    that may not write.
    """

    def insert(tx: Transaction) -> Memory:
        allowance = engine.limits.monthly_token_allowance
        ledger.meter(tx, count_tokens(draft.text), allowance, engine.clock.now())
        return memories.insert(tx, draft, engine.clock)

    async with engine.open(principal, "rw") as vault:
        return await vault.write(insert)
