"""search: the ChatGPT search contract over the same engine as search_memories.

Shape: developers.openai.com, "Building MCP servers for ChatGPT": results of id, title, url, text.
"""

from __future__ import annotations

from pydantic import Field

from rememberd.engine.engine import Engine
from rememberd.engine.search import Hit, search_memories
from rememberd.model import READ, Filters, Principal
from rememberd.tools.base import Arguments, Output, Recalled, Tool
from rememberd.tools.vault.shapes import Query

DESCRIPTION = """\
Search the user's memories and get results that can be cited. For hosts that expect a tool named \
search; search_memories finds the same and takes filters."""

LIMIT = 10
_TITLE = 80


class SearchArguments(Arguments):
    query: Query


class Metadata(Output):
    tier: int
    importance: int | None = None


class Result(Output):
    id: str
    title: str
    url: str = Field(description="Page of the memory in the console, for signed-in people.")
    text: str
    metadata: Metadata


class SearchOut(Recalled):
    results: list[Result]


async def run(engine: Engine, principal: Principal, arguments: SearchArguments) -> SearchOut:
    found = await search_memories(engine, principal, arguments.query, Filters(), LIMIT)
    return SearchOut(results=[_result(engine, hit) for hit in found.hits])


def _result(engine: Engine, hit: Hit) -> Result:
    memory = hit.memory
    return Result(
        id=memory.id,
        title=_title(memory.text),
        url=f"{engine.public_url}/memories/{memory.id}",
        text=memory.text,
        metadata=Metadata(tier=memory.tier, importance=memory.importance),
    )


def _title(text: str) -> str:
    """The first line, cut at a word."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    if len(line) <= _TITLE:
        return line
    return line[:_TITLE].rsplit(" ", 1)[0] + "…"


TOOL = Tool(
    name="search",
    title="Search memory knowledge",
    description=DESCRIPTION,
    scope=READ,
    input=SearchArguments,
    output=SearchOut,
    read_only=True,
    destructive=False,
    idempotent=True,
    run=run,
)
