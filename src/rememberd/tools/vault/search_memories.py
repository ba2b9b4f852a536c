"""search_memories: find memories by words and meaning, with filters."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from rememberd.engine.engine import Engine
from rememberd.engine.search import search_memories
from rememberd.model import READ, Filters, Principal
from rememberd.tools.base import Arguments, Recalled, Tool
from rememberd.tools.vault.shapes import Importance, MemoryRow, Query, Tiers, filtered_tiers, row

DESCRIPTION = """\
Search the user's memories by meaning and by words. Match the filters to the question:
- A specific topic ("find the decision about X"): query alone. Leave tiers and importance out, so \
that raw memories and reflections are searched together; a high importance hides the detail.
- The most important things ("most important things we've done"): tiers [3], importance 8 or \
higher, a large limit such as 250. For "... last month" use date_search_memories with the same \
filters.
- The big picture ("what do you know about this area"): tiers [3], no importance.
- Meaningful events without raw noise: tiers [2] or [2, 3].
- Exact words: find the thread with tiers [3], then go down with inspect_memory to the reflections \
and raw memories beneath; tiers [1] directly when you know the wording.
Every row carries its tier; reflections carry importance. If nothing fits, try other words, then \
memory_status to see whether this is the expected vault. When consolidation_available is true, \
offer to consolidate."""


class SearchArguments(Arguments):
    query: Query
    limit: Annotated[
        int,
        Field(
            ge=1,
            le=250,
            description="Most rows: 5 to 10 for a fact, 20 to 50 for a topic, 250 for an overview.",
        ),
    ] = 10
    tiers: Tiers | None = None
    importance: Importance | None = None

    @model_validator(mode="after")
    def _rated(self) -> SearchArguments:
        filtered_tiers(self.tiers, self.importance)
        return self


class SearchOut(Recalled):
    memories: list[MemoryRow] = Field(description="Best first.")
    consolidation_available: bool = Field(
        description="True when reflecting on the memories is worth suggesting to the user."
    )


async def run(engine: Engine, principal: Principal, arguments: SearchArguments) -> SearchOut:
    filters = Filters(
        tiers=filtered_tiers(arguments.tiers, arguments.importance),
        importance=arguments.importance,
    )
    found = await search_memories(engine, principal, arguments.query, filters, arguments.limit)
    return SearchOut(
        memories=[row(hit.memory, hit.score) for hit in found.hits],
        consolidation_available=found.consolidation_available,
    )


TOOL = Tool(
    name="search_memories",
    title="Search memories",
    description=DESCRIPTION,
    scope=READ,
    input=SearchArguments,
    output=SearchOut,
    read_only=True,
    destructive=False,
    idempotent=True,
    run=run,
)
