"""forget_all_memories: empty the whole vault, with proof."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rememberd.engine.engine import Engine
from rememberd.engine.forget import forget_all
from rememberd.model import DELETE, Principal
from rememberd.tools.base import Arguments, Output, Tool, needs

DESCRIPTION = """\
Delete every memory in this vault, for good. There is no undo. Tell the user how many memories \
would go (memory_status) and get an explicit yes before you call. The connection keeps working on \
the empty vault. To delete only some memories use delete_memories."""


class ForgetArguments(Arguments):
    confirmation: Annotated[
        Literal["DELETE ALL MEMORIES"],
        Field(description="The words DELETE ALL MEMORIES, after the user agreed."),
    ]


class Counts(Output):
    primary: int | None = Field(description="Memories.")
    mirror: int | None = Field(description="Rows of the text index and vectors.")


class ForgetOut(Output):
    forgotten: bool
    before: Counts
    after: Counts
    certificate_id: str = Field(description="Of the erasure certificate that proves it.")
    exported_keys_remain: bool = Field(
        description="True when an earlier key export can still open old copies of the file."
    )


async def run(engine: Engine, principal: Principal, arguments: ForgetArguments) -> ForgetOut:
    proof = await forget_all(engine, principal)
    return ForgetOut(
        forgotten=True,
        before=Counts(primary=proof.memories_before, mirror=proof.mirror_before),
        after=Counts(primary=proof.memories_after, mirror=proof.mirror_after),
        certificate_id=proof.id,
        exported_keys_remain=bool(proof.exported_key_versions),
    )


TOOL = Tool(
    name="forget_all_memories",
    title="Forget all memories",
    description=DESCRIPTION + needs(DELETE),
    scope=DELETE,
    input=ForgetArguments,
    output=ForgetOut,
    read_only=False,
    destructive=True,
    idempotent=True,
    confirmation="DELETE ALL MEMORIES",
    run=run,
)
