"""delete_memories: delete some memories for good."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rememberd.engine.engine import Engine
from rememberd.engine.forget import delete_memories
from rememberd.model import DELETE, Principal
from rememberd.tools.base import Arguments, Output, Tool, needs
from rememberd.tools.vault.shapes import MemoryId

DESCRIPTION = """\
Delete memories for good, by id. Show the user the texts that will go and get a yes before you \
call. Ids come from search_memories, date_search_memories or inspect_memory; a receipt of \
store_memory is not an id. Reflections that were built from a deleted memory stay; the answer \
names them, so offer to delete those too. Backups made earlier keep what was deleted until they \
expire."""


class DeleteArguments(Arguments):
    memory_ids: Annotated[
        list[MemoryId], Field(min_length=1, max_length=100, description="What to delete.")
    ]
    confirmation: Annotated[
        Literal["DELETE"], Field(description="The word DELETE, after the user agreed.")
    ]


class Outcome(Output):
    id: str
    result: Literal["deleted", "not found"]


class DeleteOut(Output):
    results: list[Outcome]
    deleted: int
    surviving_reflections: list[str] = Field(
        description="Ids of reflections built from what was deleted; they may quote it."
    )


async def run(engine: Engine, principal: Principal, arguments: DeleteArguments) -> DeleteOut:
    done = await delete_memories(engine, principal, arguments.memory_ids)
    gone = set(done.deleted)
    return DeleteOut(
        results=[
            Outcome(id=memory_id, result="deleted" if memory_id in gone else "not found")
            for memory_id in dict.fromkeys(arguments.memory_ids)
        ],
        deleted=len(done.deleted),
        surviving_reflections=list(done.surviving_reflections),
    )


TOOL = Tool(
    name="delete_memories",
    title="Delete memories",
    description=DESCRIPTION + needs(DELETE),
    scope=DELETE,
    input=DeleteArguments,
    output=DeleteOut,
    read_only=False,
    destructive=True,
    idempotent=True,
    confirmation="DELETE",
    run=run,
)
