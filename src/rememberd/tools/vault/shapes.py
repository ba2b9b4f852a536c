"""Arguments and rows that several vault tools share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from rememberd.clock import isoformat
from rememberd.engine.texts import can_be_seen, clean
from rememberd.model import Memory
from rememberd.tools.base import Output


def _cleaned(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


def _visible(text: str) -> str:
    if not can_be_seen(text):
        raise ValueError("must hold a character that can be seen")
    return text


def _left_out(value: object) -> object:
    """Models fill in "" where they mean nothing."""
    return None if isinstance(value, str) and not value.strip() else value


def _distinct(tiers: list[int]) -> list[int]:
    return sorted(set(tiers))


Text = Annotated[str, BeforeValidator(_cleaned), AfterValidator(_visible)]
#: Put last into the `Annotated` of an optional text: an empty one is as good as left out.
LEFT_OUT_IF_EMPTY = BeforeValidator(_left_out)

Query = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=4_000,
        description="What to look for, in plain words: a question, a topic, a name, an identifier.",
    ),
]

Tiers = Annotated[
    list[Literal[1, 2, 3]],
    AfterValidator(_distinct),
    Field(
        min_length=1,
        max_length=3,
        description="Only these tiers: 1 raw verbatim memories, 2 reflections on specific events, "
        "3 high-level reflections (identity, principles, what matters most). Leave out to search "
        "all three together.",
    ),
]

Importance = Annotated[
    int,
    Field(
        ge=1,
        le=10,
        description="Least importance. Only reflections are rated, so this leaves tiers 2 and 3. "
        "Leave out for specific questions: a high value hides the detail being sought.",
    ),
]

MemoryId = Annotated[
    str,
    BeforeValidator(_cleaned),
    Field(min_length=1, max_length=128, description="A memory's id, as search results show it."),
]


def filtered_tiers(tiers: list[Literal[1, 2, 3]] | None, importance: int | None) -> frozenset[int]:
    """The tiers to search; importance leaves the rated ones. Raises ValueError for raw alone."""
    chosen = frozenset[int](tiers or (1, 2, 3))
    if importance is None:
        return chosen
    rated = chosen & {2, 3}
    if not rated:
        raise ValueError(
            "importance: raw memories (tier 1) carry no importance; leave out importance, or add "
            "tier 2 or 3"
        )
    return rated


class MemoryRow(Output):
    """One memory in a list of results."""

    id: str = Field(description="For inspect_memory and delete_memories.")
    tier: Literal[1, 2, 3]
    text: str
    importance: int | None = Field(default=None, description="1 to 10; reflections only.")
    created_at: str = Field(description="When it was stored, UTC.")
    occurred_at: str | None = Field(
        default=None, description="When it happened, UTC; a reflection starts here."
    )
    until: str | None = Field(default=None, description="End of the time that a reflection spans.")
    source: Literal["user_stated", "agent_inferred", "third_party"] = Field(
        description="Who vouches for it."
    )
    score: float | None = Field(
        default=None,
        description="How far its own words and meaning speak to the query, 0 to 1; below 0.2 "
        "probably not. The order also weighs its thread, so scores need not fall from row to row.",
    )
    superseded: bool | None = Field(
        default=None, description="True when a later memory replaced it."
    )
    lost_sources: int | None = Field(
        default=None, description="How many of the memories it was built from were deleted since."
    )


def when(moment: datetime | None) -> str | None:
    return isoformat(moment) if moment else None


def row(memory: Memory, score: float | None = None) -> MemoryRow:
    return MemoryRow(
        id=memory.id,
        tier=memory.tier,
        text=memory.text,
        importance=memory.importance,
        created_at=isoformat(memory.created_at),
        occurred_at=when(memory.occurred_at),
        until=when(memory.until),
        source=memory.source.value,
        score=None if score is None else round(score, 3),
        superseded=True if memory.superseded_by else None,
        lost_sources=memory.lost_sources or None,
    )
