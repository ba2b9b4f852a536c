"""date_search_memories: memories of a time window, in order or ranked, page by page."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import Field, model_validator

from rememberd.engine import cursors
from rememberd.engine.dates import date_search
from rememberd.engine.engine import Engine
from rememberd.errors import InvalidInput
from rememberd.model import READ, Filters, Principal
from rememberd.tools.base import Arguments, Recalled, Tool
from rememberd.tools.vault.shapes import (
    LEFT_OUT_IF_EMPTY,
    Importance,
    MemoryRow,
    Query,
    Tiers,
    filtered_tiers,
    row,
)

DESCRIPTION = """\
List the memories of a time window. Turn relative words ("lately", "last month", "yesterday") into \
concrete dates before calling.
Without query: everything in the window in time order, for a review. With query: the same window \
ranked by relevance.
A memory's time is when it happened, else when it was stored; a reflection spans its sources' \
dates. `to` is exclusive for a time and includes the whole day for a date. Without a zone, times \
are UTC.
When next_from is in the answer there is more: call again with from=next_from, to=next_to and the \
same other arguments. For "most important things last month": tiers [3], importance 8."""


class DateSearchArguments(Arguments):
    from_: Annotated[
        str,
        Field(
            alias="from",
            min_length=1,
            max_length=100_000,
            description="Start: an ISO 8601 date or time, or a next_from from the page before.",
        ),
    ]
    to: Annotated[
        str | None,
        Field(max_length=64, description="End: an ISO 8601 date (whole day) or time (exclusive)."),
        LEFT_OUT_IF_EMPTY,
    ] = None
    query: Query | None = None
    tiers: Tiers | None = None
    importance: Importance | None = None
    max_tokens: Annotated[
        int,
        Field(
            ge=1_000,
            le=200_000,
            description="Most tokens of text in one page (characters / 4), but at least one "
            "memory: 8,000 for a look, 50,000 and more for a thorough review.",
        ),
    ] = 8_000

    @model_validator(mode="after")
    def _rated(self) -> DateSearchArguments:
        filtered_tiers(self.tiers, self.importance)
        return self


class DateSearchOut(Recalled):
    memories: list[MemoryRow]
    next_from: str | None = Field(
        default=None,
        description="There is more: pass as `from`, unchanged. Absent on the last page.",
    )
    next_to: str | None = Field(default=None, description="Pass as `to` together with next_from.")
    consolidation_available: bool


async def run(
    engine: Engine, principal: Principal, arguments: DateSearchArguments
) -> DateSearchOut:
    cursor = arguments.from_ if cursors.is_cursor(arguments.from_) else None
    since = None if cursor else moment(arguments.from_, "from")
    before = moment(arguments.to, "to", end=True) if arguments.to else None
    if since and before and since >= before:
        raise InvalidInput("to must be later than from", field="to")
    page = await date_search(
        engine,
        principal,
        Filters(
            tiers=filtered_tiers(arguments.tiers, arguments.importance),
            importance=arguments.importance,
            since=since,
            before=before,
        ),
        query=arguments.query,
        cursor=cursor,
        max_tokens=arguments.max_tokens,
    )
    scores = page.scores or (None,) * len(page.memories)
    return DateSearchOut(
        memories=[row(memory, score) for memory, score in zip(page.memories, scores, strict=True)],
        next_from=page.next_from,
        next_to=arguments.to if page.next_from else None,
        consolidation_available=page.consolidation_available,
    )


def moment(text: str, field: str, *, end: bool = False) -> datetime:
    """An ISO 8601 date or time, UTC when it names no zone; as an `end`, a date includes its day.

    Raises InvalidInput.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return _time(text, field)
    try:
        start = datetime.combine(day, time(tzinfo=UTC))
        return start + timedelta(days=1) if end else start
    except OverflowError:
        raise InvalidInput(f"{field} is out of range (years 1 to 9999)", field=field) from None


def _time(text: str, field: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{field} must be an ISO 8601 date or time such as 2026-11-30 or "
            "2026-11-30T09:30:00Z (years 1 to 9999)",
            field=field,
        ) from None


TOOL = Tool(
    name="date_search_memories",
    title="Search memories by date",
    description=DESCRIPTION,
    scope=READ,
    input=DateSearchArguments,
    output=DateSearchOut,
    read_only=True,
    destructive=False,
    idempotent=True,
    run=run,
)
