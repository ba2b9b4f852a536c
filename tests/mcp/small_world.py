"""A catalog small enough to see whole: keep a note, find it, wipe all, and fail in every way.

It stands in for the vault's tools where a test is about the protocol. Alice may do all, Bob only
read, Charlie nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mcp_types import Implementation
from pydantic import Field, field_validator

from rememberd.errors import InvalidInput, NotFound, QuotaExceeded, UpstreamBusy
from rememberd.mcp.catalog import Catalog
from rememberd.mcp.server import McpServer
from rememberd.model import DELETE, READ, SCOPES, WRITE, Principal
from rememberd.tools.base import (
    Arguments,
    NoArguments,
    Output,
    Recalled,
    Resource,
    Tool,
)

METADATA = "https://memory.example/.well-known/oauth-protected-resource/mcp"


def principal(*scopes: str, client: str = "key_1") -> Principal:
    return Principal(vault_id="vlt_1", scopes=frozenset(scopes), client=client)


ALICE = principal(*SCOPES)
BOB = principal(READ)
CHARLIE = principal()


@dataclass
class Notes:
    """The engine: what was kept, and how often anything was asked of it."""

    kept: list[str] = field(default_factory=list[str])
    calls: int = 0


class Found(Recalled):
    notes: list[str]


class Count(Output):
    total_notes: int = Field(serialization_alias="totalNotes")
    newest: str | None = None


class Words(Arguments):
    query: str = Field(min_length=1, max_length=20, description="Words to look for.")
    limit: int = Field(10, ge=1, le=250)
    tiers: list[Literal[1, 2, 3]] | None = Field(None, min_length=1)
    near: float | None = Field(None, ge=0)

    @field_validator("query")
    @classmethod
    def _no_shouting(cls, query: str) -> str:
        if query.isupper():
            raise ValueError("must not be all capitals")
        return query


class Entry(Arguments):
    text: str = Field(min_length=1)
    importance: int = Field(ge=1, le=10)


class Keep(Arguments):
    entries: list[Entry] = Field(min_length=1, max_length=3)


class Wipe(Arguments):
    really: bool
    confirmation: str


class Failure(Arguments):
    how: Literal["not_found", "quota", "busy", "input", "bug"]


async def count(engine: Notes, _: Principal, __: NoArguments) -> Count:
    engine.calls += 1
    return Count(total_notes=len(engine.kept), newest=engine.kept[-1] if engine.kept else None)


async def find(engine: Notes, _: Principal, words: Words) -> Found:
    engine.calls += 1
    return Found(notes=[note for note in engine.kept if words.query in note][: words.limit])


async def keep(engine: Notes, _: Principal, given: Keep) -> Count:
    engine.calls += 1
    engine.kept += [entry.text for entry in given.entries]
    return Count(total_notes=len(engine.kept))


async def wipe(engine: Notes, _: Principal, __: Wipe) -> Count:
    engine.calls += 1
    engine.kept.clear()
    return Count(total_notes=0)


async def fail(_: Notes, __: Principal, failure: Failure) -> Count:
    match failure.how:
        case "not_found":
            raise NotFound("There is no note mem_1 here.")
        case "quota":
            raise QuotaExceeded
        case "busy":
            raise UpstreamBusy("The embedder at example.test is busy.", retry_after=1.5)
        case "input":
            raise InvalidInput("how: must not be input.", field="how")
        case "bug":
            raise ZeroDivisionError("the secret note")


async def newest(engine: Notes, _: Principal) -> str:
    engine.calls += 1
    if engine.kept == ["boom"]:
        raise ZeroDivisionError("the secret note")
    return engine.kept[-1] if engine.kept else ""


TOOLS = (
    Tool(
        name="count",
        title="Count",
        description="How many notes there are.",
        scope=READ,
        input=NoArguments,
        output=Count,
        read_only=True,
        destructive=False,
        idempotent=True,
        run=count,
    ),
    Tool(
        name="find",
        title="Find",
        description="Notes with these words.",
        scope=READ,
        input=Words,
        output=Found,
        read_only=True,
        destructive=False,
        idempotent=True,
        run=find,
    ),
    Tool(
        name="keep",
        title="Keep",
        description="Keep notes.",
        scope=WRITE,
        input=Keep,
        output=Count,
        read_only=False,
        destructive=False,
        idempotent=False,
        run=keep,
    ),
    Tool(
        name="wipe",
        title="Wipe",
        description="Delete every note.",
        scope=DELETE,
        input=Wipe,
        output=Count,
        read_only=False,
        destructive=True,
        idempotent=True,
        run=wipe,
        confirmation="DELETE ALL",
    ),
    Tool(
        name="fail",
        title="Fail",
        description="Fails as asked.",
        scope=READ,
        input=Failure,
        output=Count,
        read_only=True,
        destructive=False,
        idempotent=True,
        run=fail,
    ),
)

RESOURCES = (
    Resource(
        uri="notes://newest",
        name="newest",
        title="Newest note",
        description="The newest note.",
        mime_type="text/plain",
        scope=READ,
        read=newest,
    ),
)


def catalog() -> Catalog:
    return Catalog(TOOLS, RESOURCES, prompts=True)


def small_server(notes: Notes, metadata: str = METADATA) -> McpServer:
    return McpServer(
        catalog(),
        engine=notes,
        info=Implementation(name="small", version="1"),
        instructions="Search before you keep.",
        resource_metadata=metadata,
    )
