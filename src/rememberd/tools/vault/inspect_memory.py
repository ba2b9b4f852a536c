"""inspect_memory: one memory, what it was built from, and what was built from it."""

from __future__ import annotations

from pydantic import Field

from rememberd.engine.engine import Engine
from rememberd.engine.lineage import inspect
from rememberd.model import READ, Memory, Principal
from rememberd.tools.base import Arguments, Recalled, Tool
from rememberd.tools.vault.shapes import MemoryId, MemoryRow, row, when

DESCRIPTION = """\
Show one memory with its receipts: for a reflection the memories one tier below that it was built \
from, and the reflections that were built from it. Repeat on a source to go from tier 3 down to \
the raw words. Use it when the user asks "why do you believe that?", or when the exact wording \
matters. Ids come from search results."""


class InspectArguments(Arguments):
    memory_id: MemoryId


class MemoryDetail(MemoryRow):
    """A memory with everything known about where it came from."""

    tokens: int
    tags: list[str]
    source_context: str | None = None
    app: str | None = Field(default=None, description="The client that it came through.")
    consolidated_at: str | None = Field(default=None, description="When it went into a reflection.")
    valid_until: str | None = None


class InspectOut(Recalled):
    memory: MemoryDetail
    sources: list[MemoryRow] = Field(description="What it was built from, one tier below.")
    built_from_it: list[MemoryRow] = Field(description="Reflections that it went into.")
    superseded_by: str | None = Field(
        default=None, description="Id of the memory that replaced it."
    )
    supersedes: list[MemoryRow] = Field(description="Memories that it replaced.")
    sources_note: str | None = Field(default=None, description="Set when sources were deleted.")


async def run(engine: Engine, principal: Principal, arguments: InspectArguments) -> InspectOut:
    found = await inspect(engine, principal, arguments.memory_id)
    memory = found.memory
    return InspectOut(
        memory=_detail(memory),
        sources=[row(source) for source in found.sources],
        built_from_it=[row(reflection) for reflection in found.reflections],
        superseded_by=memory.superseded_by,
        supersedes=[row(older) for older in found.supersedes],
        sources_note=_lost(memory.lost_sources),
    )


def _detail(memory: Memory) -> MemoryDetail:
    return MemoryDetail(
        **row(memory).model_dump(),
        tokens=memory.tokens,
        tags=list(memory.tags),
        source_context=memory.source_context,
        app=memory.app,
        consolidated_at=when(memory.consolidated_at),
        valid_until=when(memory.valid_until),
    )


def _lost(count: int) -> str | None:
    if count == 0:
        return None
    return "A source was deleted." if count == 1 else f"{count} sources were deleted."


TOOL = Tool(
    name="inspect_memory",
    title="Inspect a memory",
    description=DESCRIPTION,
    scope=READ,
    input=InspectArguments,
    output=InspectOut,
    read_only=True,
    destructive=False,
    idempotent=True,
    run=run,
)
