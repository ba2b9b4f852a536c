"""Reflection debt: how much unconsolidated material a vault carries, and when that is enough."""

from __future__ import annotations

from typing import cast

from rememberd.engine.engine import Limits
from rememberd.model import Tier, TierDebt
from rememberd.store import memories
from rememberd.store.transaction import Transaction


def over_threshold(debt: TierDebt, limits: Limits) -> bool:
    return debt.memories >= limits.reflection_memories or debt.tokens >= limits.reflection_tokens


def consolidation_available(tx: Transaction, limits: Limits) -> bool:
    """Does a tier hold enough that reflecting on it is worth suggesting?"""
    return any(over_threshold(held, limits) for held in memories.debt(tx).values())


def total(debt: dict[int, TierDebt]) -> TierDebt:
    """All tiers together."""
    return TierDebt(
        memories=sum(held.memories for held in debt.values()),
        tokens=sum(held.tokens for held in debt.values()),
    )


def most_indebted(tx: Transaction) -> Tier:
    """The tier with most unconsolidated tokens; raw memories when there is no debt."""
    debt = memories.debt(tx)
    if not debt:
        return 1
    return cast("Tier", max(debt, key=lambda tier: (debt[tier].tokens, -tier)))
