"""store_memory: keep one statement."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rememberd.engine.engine import Engine
from rememberd.engine.store import store_memory
from rememberd.model import WRITE, Draft, Principal
from rememberd.tools.base import Arguments, Output, Tool, needs
from rememberd.tools.vault.date_search_memories import moment
from rememberd.tools.vault.shapes import LEFT_OUT_IF_EMPTY, Text

DESCRIPTION = """\
Keep one statement in the user's vault, so that any of their AI apps can find it later. Store \
facts, decisions, preferences, corrections and commitments as one self-contained statement each: \
name people and things in full and turn "yesterday" or "next week" into dates. Store when the user \
asks you to remember something, or when they say something that a later conversation will need. Do \
not store secrets such as passwords.
The memory is found by its words at once and by meaning shortly after. Never store twice: nothing \
is deduplicated; to check that it arrived, search. The receipt is not an id for deletion."""


Tag = Annotated[Text, Field(min_length=1, max_length=64)]


class StoreArguments(Arguments):
    content: Annotated[
        Text, Field(min_length=1, max_length=32_000, description="The statement, self-contained.")
    ]
    tags: Annotated[
        list[Tag] | None, Field(max_length=32, description="Short labels, found like words.")
    ] = None
    source_context: Annotated[
        Text | None,
        Field(
            max_length=512,
            description="Where it comes from, such as the conversation. Memories with equal "
            "source_context form a thread and help each other to be found.",
        ),
        LEFT_OUT_IF_EMPTY,
    ] = None
    occurred_at: Annotated[
        str | None,
        Field(
            max_length=64,
            description="When it happened, ISO 8601, if not now. Without a zone it is UTC.",
        ),
        LEFT_OUT_IF_EMPTY,
    ] = None


class StoreOut(Output):
    status: Literal["queued"] = Field(
        description="Stored for good; found by words now, by meaning when its vector is there."
    )
    receipt_id: str = Field(description="Proof that it was taken. Not a deletion handle.")


async def run(engine: Engine, principal: Principal, arguments: StoreArguments) -> StoreOut:
    occurred = arguments.occurred_at
    await store_memory(
        engine,
        principal,
        Draft(
            text=arguments.content,
            tags=tuple(dict.fromkeys(arguments.tags or ())),
            source_context=arguments.source_context,
            occurred_at=moment(occurred, "occurred_at") if occurred else None,
            app=principal.client_name,
        ),
    )
    return StoreOut(status="queued", receipt_id=engine.clock.new_id("rcp"))


TOOL = Tool(
    name="store_memory",
    title="Store a memory",
    description=DESCRIPTION + needs(WRITE),
    scope=WRITE,
    input=StoreArguments,
    output=StoreOut,
    read_only=False,
    destructive=False,
    idempotent=False,
    run=run,
)
