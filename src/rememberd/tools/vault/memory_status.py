"""memory_status: which vault this connection reaches, what it holds and what it owes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rememberd.auth import scopes
from rememberd.engine import reflection
from rememberd.engine.engine import Engine
from rememberd.engine.status import Status, status
from rememberd.model import READ, Principal, TierDebt
from rememberd.tools.base import NoArguments, Output, Tool

DESCRIPTION = """\
Show which vault this connection reaches and what is in it: number of memories and tokens, granted \
scopes, this month's usage, and reflection debt (memories not yet consolidated).
Call it when recall finds nothing, to check that this is the vault the user expects; before \
offering to consolidate; and when the user asks what is stored. It takes no arguments and changes \
nothing."""


class Debt(Output):
    memories: int
    tokens: int


class Reflection(Output):
    debt: Debt = Field(description="Unconsolidated memories of tiers 1 and 2 together.")
    tier_1: Debt
    tier_2: Debt
    threshold: Debt = Field(description="In one tier, from either of these on it is suggested.")
    consolidation_available: bool


class UsageOut(Output):
    month: str = Field(description="Calendar month, UTC.")
    tokens: int = Field(
        description="Stored this month, deleted or not. Texts count; tags and source_context do "
        "not."
    )
    allowance: int | None = Field(default=None, description="Absent: no limit.")


class Searching(Output):
    by: Literal["words and meaning", "words"]
    note: str | None = Field(default=None, description="Why not by meaning, or why partly.")
    host: str | None = Field(
        default=None, description="The host that texts are sent to for embedding; absent: none."
    )


class StatusOut(Output):
    connected: bool
    vault_ref: str = Field(serialization_alias="vaultRef", description="Opaque name of the vault.")
    storage: str
    total_memories: int = Field(serialization_alias="totalMemories")
    total_tokens: int = Field(serialization_alias="totalTokens")
    pending_index: int = Field(
        serialization_alias="pendingIndex",
        description="Stored, found by words, not yet by meaning.",
    )
    granted_scopes: list[str] = Field(serialization_alias="grantedScopes")
    usage: UsageOut
    reflection: Reflection
    search: Searching


async def run(engine: Engine, principal: Principal, arguments: NoArguments) -> StatusOut:
    found = await status(engine, principal)
    limits = engine.limits
    return StatusOut(
        connected=True,
        vault_ref=found.vault_ref,
        storage="SQLite, one encrypted file for this vault",
        total_memories=found.memories,
        total_tokens=found.tokens,
        pending_index=found.pending,
        granted_scopes=scopes.ordered(principal.scopes),
        usage=UsageOut(
            month=found.usage.month, tokens=found.usage.tokens, allowance=found.usage.allowance
        ),
        reflection=Reflection(
            debt=_debt(reflection.total(found.debt)),
            tier_1=_debt(found.debt.get(1, TierDebt())),
            tier_2=_debt(found.debt.get(2, TierDebt())),
            threshold=Debt(memories=limits.reflection_memories, tokens=limits.reflection_tokens),
            consolidation_available=found.consolidation_available,
        ),
        search=_searching(found),
    )


def _debt(held: TierDebt) -> Debt:
    return Debt(memories=held.memories, tokens=held.tokens)


def _searching(found: Status) -> Searching:
    meaning = found.meaning
    if meaning.state == "off":
        return Searching(by="words", note="The embedding model is turned off.")
    if meaning.state == "unavailable":
        return Searching(by="words", note=meaning.reason, host=meaning.host)
    note = None
    if found.answers_with_older_model:
        note = "The embedding model has changed; the older one answers until all is embedded anew."
    return Searching(by="words and meaning", note=note, host=meaning.host)


TOOL = Tool(
    name="memory_status",
    title="Check memory status",
    description=DESCRIPTION,
    scope=READ,
    input=NoArguments,
    output=StatusOut,
    read_only=True,
    destructive=False,
    idempotent=True,
    run=run,
)
