"""Reflection debt: how much unconsolidated material a vault carries, and when that is enough."""

from __future__ import annotations

from typing import cast

from rememberd.engine.engine import Engine, Limits
from rememberd.model import Tier, TierDebt
from rememberd.store import batches, memories
from rememberd.store.transaction import Transaction


def over_threshold(debt: TierDebt, limits: Limits) -> bool:
    return debt.memories >= limits.reflection_memories or debt.tokens >= limits.reflection_tokens


def consolidation_available(tx: Transaction, engine: Engine) -> bool:
    """Does a tier hold enough that reflecting on it is worth suggesting? What somebody is at work
    on does not count.
    """
    debt = memories.debt(tx)
    if not any(over_threshold(owed, engine.limits) for owed in debt.values()):
        return False
    return any(over_threshold(owed, engine.limits) for owed in _free(tx, debt, engine).values())


def _free(tx: Transaction, debt: dict[int, TierDebt], engine: Engine) -> dict[int, TierDebt]:
    """The debt without what live leases hold."""
    held = batches.held(tx, engine.clock.now())
    return {
        tier: _without(owed, held[tier].debt) if tier in held else owed
        for tier, owed in debt.items()
    }


def _without(owed: TierDebt, held: TierDebt) -> TierDebt:
    return TierDebt(memories=owed.memories - held.memories, tokens=owed.tokens - held.tokens)


def total(debt: dict[int, TierDebt]) -> TierDebt:
    """All tiers together."""
    return TierDebt(
        memories=sum(held.memories for held in debt.values()),
        tokens=sum(held.tokens for held in debt.values()),
    )


def most_indebted(tx: Transaction, engine: Engine) -> Tier:
    """The tier with most tokens that can be checked out; raw memories when there are none."""
    free = _free(tx, memories.debt(tx), engine)
    if not free:
        return 1
    return cast("Tier", max(free, key=lambda tier: (free[tier].tokens, -tier)))
