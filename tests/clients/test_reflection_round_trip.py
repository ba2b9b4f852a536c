"""Reflection through a real MCP client: debt, checkout, commit, and lineage down to the raw words.

The client checks each result against the tool's output schema.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from rememberd.clock import SystemClock
from tests.clients.production import Running, running

RAW = [f"On day {day} Ada planted {day} apple trees in the garden in Bern." for day in range(1, 7)]


class Later(SystemClock):
    """The machine's clock, put forward by a test."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> Later:
    return Later()


@pytest.fixture
def server(tmp_path: Path, clock: Later) -> Iterator[Running]:
    with running(tmp_path / "data", ("read", "write", "reflect"), clock) as server:
        yield server


class Caller:
    """A connected client; `call` answers the structured content of a success."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        result = await self.result(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def result(self, tool: str, **arguments: Any) -> CallToolResult:
        result = await self._client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        return result


@asynccontextmanager
async def connected(server: Running) -> AsyncGenerator[Caller]:
    headers = {"Authorization": f"Bearer {server.key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(server.mcp, http_client=http)) as client,
    ):
        yield Caller(client)


def entries(batch: Any, *, each_from: int = 2) -> list[dict[str, Any]]:
    """Five reflections; each names the batch's memories it was built from."""
    ids = [memory["id"] for memory in batch["memories"]]
    return [
        {
            "text": f"Reflection {number} on the apple trees.",
            "importance": number + 3,
            "source_ids": ids[number : number + each_from],
        }
        for number in range(5)
    ]


async def store(caller: Caller) -> None:
    for text in RAW:
        await caller.call("store_memory", content=text)


async def debt(caller: Caller) -> dict[str, int]:
    reflection = (await caller.call("memory_status"))["reflection"]
    return {tier: reflection[tier]["memories"] for tier in ("tier_1", "tier_2")}


async def test_from_raw_words_to_tier_3_and_back_down(server: Running) -> None:
    async with connected(server) as caller:
        await store(caller)
        assert await debt(caller) == {"tier_1": 6, "tier_2": 0}

        batch = await caller.call("consolidate_memories")
        assert [memory["text"] for memory in batch["memories"]] == RAW
        first = await caller.call(
            "commit_reflections", batch_id=batch["batch_id"], entries=entries(batch)
        )
        assert (first["tier"], first["entries_created"]) == (2, 5)
        assert await debt(caller) == {"tier_1": 0, "tier_2": 5}

        upper = await caller.call("consolidate_memories", tier=2)
        done = await caller.call(
            "commit_reflections",
            batch_id=upper["batch_id"],
            entries=entries(upper, each_from=1),
        )
        assert (done["tier"], done["entries_created"]) == (3, 5)
        assert await debt(caller) == {"tier_1": 0, "tier_2": 0}

        top = await caller.call("search_memories", query="apple trees", tiers=[3], importance=7)
        highest = top["memories"][0]
        assert (highest["tier"], highest["importance"] >= 7) == (3, True)
        middle = await caller.call("inspect_memory", memory_id=highest["id"])
        (source,) = middle["sources"]
        assert source["tier"] == 2
        bottom = await caller.call("inspect_memory", memory_id=source["id"])
        assert {raw["tier"] for raw in bottom["sources"]} == {1}
        assert {raw["text"] for raw in bottom["sources"]} <= set(RAW)
        assert highest["id"] in [above["id"] for above in bottom["built_from_it"]]


async def test_the_same_batch_sent_twice_is_stored_once(server: Running) -> None:
    async with connected(server) as caller:
        await store(caller)
        batch = await caller.call("consolidate_memories", tier=1)
        sent = {"batch_id": batch["batch_id"], "entries": entries(batch)}
        first = await caller.call("commit_reflections", **sent)
        again = await caller.call("commit_reflections", **sent)
        assert again == {**first, "already_committed": True}
        assert (await caller.call("memory_status"))["totalMemories"] == len(RAW) + 5


async def test_an_expired_lease_loses_nothing(server: Running, clock: Later) -> None:
    async with connected(server) as caller:
        await store(caller)
        stale = await caller.call("consolidate_memories", tier=1)
        clock.ahead = timedelta(minutes=16)
        fresh = await caller.call("consolidate_memories", tier=1)
        assert fresh["memories"] == stale["memories"]

        late = await caller.result(
            "commit_reflections", batch_id=stale["batch_id"], entries=entries(stale)
        )
        assert late.is_error
        assert isinstance(late.content[0], TextContent)
        assert stale["memories"][0]["id"] in late.content[0].text

        done = await caller.call(
            "commit_reflections", batch_id=fresh["batch_id"], entries=entries(fresh)
        )
        assert done["entries_created"] == 5
        assert await debt(caller) == {"tier_1": 0, "tier_2": 5}


async def test_a_batch_that_expired_unclaimed_can_still_be_committed(
    server: Running, clock: Later
) -> None:
    async with connected(server) as caller:
        await store(caller)
        batch = await caller.call("consolidate_memories", tier=1)
        clock.ahead = timedelta(hours=2)
        done = await caller.call(
            "commit_reflections", batch_id=batch["batch_id"], entries=entries(batch)
        )
        assert done["entries_created"] == 5


async def test_a_foreign_source_is_refused_and_nothing_is_stored(server: Running) -> None:
    async with connected(server) as caller:
        await store(caller)
        batch = await caller.call("consolidate_memories", tier=1)
        written = entries(batch)
        written[0]["source_ids"] = ["mem_of_somebody_else"]
        refused = await caller.result(
            "commit_reflections", batch_id=batch["batch_id"], entries=written
        )
        assert refused.is_error
        assert (await caller.call("memory_status"))["totalMemories"] == len(RAW)
