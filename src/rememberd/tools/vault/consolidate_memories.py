"""consolidate_memories: check out the oldest unconsolidated memories for reflection."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rememberd.clock import isoformat
from rememberd.engine import consolidate
from rememberd.engine.engine import Engine
from rememberd.model import REFLECT, Principal
from rememberd.tools.base import Arguments, Output, Recalled, Tool, needs

DESCRIPTION = """\
Check out the oldest memories that no reflection covers yet. They are held for you for 15 minutes. \
Read all of them, follow reflection_contract to the letter, and send what you wrote with \
commit_reflections. Use it when the user says "consolidate my memories", or agrees after a result \
said consolidation_available. If you do not commit in time nothing is lost: the memories return to \
the pool."""


class ConsolidateArguments(Arguments):
    tier: Annotated[
        Literal[1, 2] | None,
        Field(
            description="1: raw memories become reflections. 2: reflections become high-level "
            "reflections. Leave out for the tier with most to do."
        ),
    ] = None


class Source(Output):
    id: str
    text: str
    date: str = Field(description="When it happened, else when it was stored; UTC.")
    importance: int | None = None


class ConsolidateOut(Recalled):
    batch_id: str | None = Field(
        default=None, description="Absent when there is nothing to consolidate."
    )
    lease_expires_at: str | None = None
    tier: Literal[1, 2] | None = Field(
        default=None, description="Tier of the memories checked out."
    )
    reflection_contract: str
    memories: list[Source]


async def run(
    engine: Engine, principal: Principal, arguments: ConsolidateArguments
) -> ConsolidateOut:
    batch = await consolidate.checkout(engine, principal, arguments.tier)
    if isinstance(batch, consolidate.Nothing):
        return ConsolidateOut(reflection_contract=_why(batch), memories=[])
    return ConsolidateOut(
        batch_id=batch.id,
        lease_expires_at=isoformat(batch.expires_at),
        tier=1 if batch.tier == 1 else 2,
        reflection_contract=consolidate.CONTRACT,
        memories=[
            Source(
                id=memory.id,
                text=memory.text,
                date=isoformat(memory.at),
                importance=memory.importance,
            )
            for memory in batch.memories
        ],
    )


def _why(nothing: consolidate.Nothing) -> str:
    if nothing.until is None:
        return "There is nothing to consolidate: a reflection covers every memory."
    are = "memory is" if nothing.held == 1 else "memories are"
    return (
        f"There is nothing to consolidate now: {nothing.held} {are} held by another batch, until "
        f"{isoformat(nothing.until)} at most; a reflection covers every other one."
    )


TOOL = Tool(
    name="consolidate_memories",
    title="Check out memories to consolidate",
    description=DESCRIPTION + needs(REFLECT),
    scope=REFLECT,
    input=ConsolidateArguments,
    output=ConsolidateOut,
    read_only=False,
    destructive=False,
    idempotent=False,
    run=run,
)
