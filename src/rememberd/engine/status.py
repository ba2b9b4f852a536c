"""What a vault holds, what it owes in reflection and what it has used."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rememberd.engine.engine import Engine
from rememberd.engine.meaning import MeaningState
from rememberd.engine.reflection import consolidation_available
from rememberd.model import Memory, Principal, TierDebt
from rememberd.store import ledger, memories, vectors
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens stored this calendar month (UTC); `allowance` is None without a limit."""

    month: str
    tokens: int
    allowance: int | None


@dataclass(frozen=True, slots=True)
class Status:
    vault_ref: str
    totals: dict[int, TierDebt]  #: memories and tokens by tier
    debt: dict[int, TierDebt]
    pending: int  #: memories not yet searchable by meaning
    usage: Usage
    consolidation_available: bool
    meaning: MeaningState
    answers_with_older_model: bool

    @property
    def memories(self) -> int:
        return sum(held.memories for held in self.totals.values())

    @property
    def tokens(self) -> int:
        return sum(held.tokens for held in self.totals.values())


def vault_ref(vault_id: str) -> str:
    """An opaque, stable name of a vault for clients; says nothing about the vault itself."""
    return "vault-" + hashlib.sha256(f"vault-ref:{vault_id}".encode()).hexdigest()[:12]


async def status(engine: Engine, principal: Principal) -> Status:
    """The caller's vault as it is now."""
    embedder = await engine.meaning.current() if engine.meaning.is_loaded else None

    def look(tx: Transaction) -> Status:
        active = vectors.active_model(tx)
        wanted = vectors.model_of(tx, embedder.identity) if embedder else active
        now = engine.clock.now()
        usage = Usage(
            ledger.month_of(now),
            ledger.used_this_month(tx, now),
            engine.limits.monthly_token_allowance,
        )
        return Status(
            vault_ref=vault_ref(principal.vault_id),
            totals=memories.totals(tx),
            debt=memories.debt(tx),
            pending=0 if engine.meaning.is_off else vectors.count_pending(tx, wanted),
            usage=usage,
            consolidation_available=consolidation_available(tx, engine),
            meaning=engine.meaning.state(),
            answers_with_older_model=bool(
                embedder and active and active.identity != embedder.identity
            ),
        )

    async with engine.open(principal, "ro") as vault:
        return await vault.read(look)


async def recent(engine: Engine, principal: Principal, limit: int) -> list[Memory]:
    """The memories stored last, newest first."""
    async with engine.open(principal, "ro") as vault:
        return await vault.read(lambda tx: memories.recent(tx, limit))
