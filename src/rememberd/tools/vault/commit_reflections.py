"""commit_reflections: store the reflections written from a batch, with lineage."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rememberd.engine import consolidate
from rememberd.engine.engine import Engine
from rememberd.model import REFLECT, Principal
from rememberd.tools.base import Arguments, Output, Tool, needs
from rememberd.tools.vault.memory_status import Debt
from rememberd.tools.vault.shapes import MemoryId, Text

DESCRIPTION = """\
Send the 5 to 10 reflections that you wrote from a batch of consolidate_memories. They are stored \
one tier up and linked to their sources. Sending the same batch again is safe: it returns the \
first result and stores nothing twice. If the batch can no longer be committed the answer says \
why; check out a new one."""


class EntryIn(Arguments):
    text: Annotated[
        Text, Field(min_length=1, max_length=32_000, description="Stands alone; plain prose.")
    ]
    importance: Annotated[
        int, Field(ge=1, le=10, description="1 trivia, 10 defines the person or the project.")
    ]
    source_ids: Annotated[
        list[MemoryId] | None,
        Field(
            min_length=1,
            max_length=1_000,
            description="Ids of the batch's memories it was built from; left out: all of them.",
        ),
    ] = None


class CommitArguments(Arguments):
    batch_id: Annotated[str, Field(min_length=1, max_length=128)]
    entries: Annotated[
        list[EntryIn],
        Field(
            min_length=1,
            max_length=10,
            description="5 to 10; fewer only when the batch held fewer than 5 memories.",
        ),
    ]


class CommitOut(Output):
    tier: Literal[2, 3] = Field(description="Tier of the reflections.")
    committed: bool
    entries_created: int
    already_committed: bool = Field(description="True when this batch was committed before.")
    sources_consolidated: int
    debt: Debt = Field(description="What is left in the batch's tier.")


async def run(engine: Engine, principal: Principal, arguments: CommitArguments) -> CommitOut:
    entries = [
        consolidate.Entry(
            entry.text, entry.importance, tuple(entry.source_ids) if entry.source_ids else None
        )
        for entry in arguments.entries
    ]
    done = await consolidate.commit(engine, principal, arguments.batch_id, entries)
    return CommitOut(
        tier=2 if done.tier == 2 else 3,
        committed=done.committed,
        entries_created=done.entries_created,
        already_committed=done.already_committed,
        sources_consolidated=done.sources_consolidated,
        debt=Debt(memories=done.debt.memories, tokens=done.debt.tokens),
    )


TOOL = Tool(
    name="commit_reflections",
    title="Commit reflections",
    description=DESCRIPTION + needs(REFLECT),
    scope=REFLECT,
    input=CommitArguments,
    output=CommitOut,
    read_only=False,
    destructive=False,
    idempotent=True,
    run=run,
)
