"""Where a memory comes from and what was built from it: one step in each direction.

Sources lie one tier below, reflections one above, so repeating the step reaches the raw words.
"""

from __future__ import annotations

from dataclasses import dataclass

from rememberd.engine.engine import Engine
from rememberd.errors import NotFound
from rememberd.model import Memory, Principal
from rememberd.store import memories
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Lineage:
    """`memory.lost_sources` says how many of its sources were deleted since."""

    memory: Memory
    sources: tuple[Memory, ...]
    reflections: tuple[Memory, ...]
    supersedes: tuple[Memory, ...]


async def inspect(engine: Engine, principal: Principal, memory_id: str) -> Lineage:
    """Raises NotFound, also for a memory of another vault."""

    def look(tx: Transaction) -> Lineage:
        memory = memories.get(tx, memory_id)
        if memory is None:
            raise NotFound(
                f"There is no memory {memory_id} in this vault. It may have been deleted; ids come "
                "from search results."
            )
        return Lineage(
            memory,
            tuple(memories.sources(tx, memory)),
            tuple(memories.built_from(tx, memory)),
            tuple(memories.superseded(tx, memory)),
        )

    async with engine.open(principal, "ro") as vault:
        return await vault.read(look)
