"""Clients that open a browser and wait for it to come back: the Inspector, and mcp-remote."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from rememberd.clock import SystemClock
from tests.clients.node import Node, environment, node
from tests.oauth.browser import Browser, browser
from tests.oauth.person import Person
from tests.oauth.program import DELETE, READ, REFLECT, WRITE
from tests.oauth.world import World, expire_access_tokens, running

pytestmark = pytest.mark.slow

MEMORY = "The release phrase is ORCHID-7419."
DELETION = {"memory_ids": ["mem_unknown"], "confirmation": "DELETE"}
FINE, UNAUTHORIZED, IS_ERROR = 0, 3, 5  # the Inspector's exit codes


@pytest.fixture(scope="session")
def node22() -> Node:
    return node()


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        world.clock.at = SystemClock().now()  # those programs look at their own
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


@pytest.fixture
def screen(alice: Person, tmp_path: Path) -> Generator[Browser]:
    with browser(tmp_path, alice) as screen:
        yield screen


def wanted(challenge: str) -> str:
    found = re.search(r'scope="([^"]+)"', challenge)
    assert found
    return found[1]


# --- the Inspector -------------------------------------------------------------------------------

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@dataclass
class Inspector:
    node: Node
    world: World
    home: Path
    screen: Browser

    def run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and answer of one command. A link that it prints is opened."""
        command = [str(self.node.binary), str(self.node.folder / INSPECTOR), "--cli"]
        usual = ["--transport", "http", "--format", "json"]
        process = subprocess.Popen(
            [*command, self.world.mcp, *usual, *arguments],
            env={
                **environment(self.node.binary),
                "HOME": str(self.home),
                "MCP_STORAGE_DIR": str(self.home / "inspector"),
                "MCP_INSPECTOR_SECRET_STORE": "file",
                "MCP_AUTO_OPEN_ENABLED": "true",
                "BROWSER": "/bin/false",  # it prints the link as well, and once is enough
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            assert process.stdout
            answer: dict[str, Any] = {}
            for line in process.stdout:
                if link := re.search(r"https?://\S+/authorize\?\S+", line):
                    self.screen.visit(link[0])
                elif line.startswith("{"):
                    answer |= json.loads(line)
        return process.returncode, answer

    def call(self, tool: str, arguments: dict[str, Any], *more: str) -> tuple[int, Any]:
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        status, answer = self.run("--method", "tools/call", *given, *more)
        return status, answer.get("result", answer)


@pytest.fixture
def inspector(node22: Node, world: World, tmp_path: Path, screen: Browser) -> Inspector:
    return Inspector(node22, world, tmp_path, screen)


def test_the_inspector_signs_in_and_goes_on_with_the_token_it_stored(
    inspector: Inspector, alice: Person
) -> None:
    alone = "--stored-auth-only"
    assert inspector.call("store_memory", {"content": MEMORY}, alone)[0] == UNAUTHORIZED
    assert inspector.call("store_memory", {"content": MEMORY})[0] == FINE
    assert len(inspector.screen.opened) == 1

    def search() -> list[str]:
        status, found = inspector.call("search_memories", {"query": MEMORY}, alone)
        assert status == FINE
        return [memory["text"] for memory in found["structuredContent"]["memories"]]

    assert search() == [MEMORY]
    expire_access_tokens(inspector.world)
    assert search() == [MEMORY]  # by a refresh

    status, refused = inspector.call("delete_memories", DELETION, alone)
    assert status == IS_ERROR
    scopes = wanted(refused["_meta"]["mcp/www_authenticate"][0])
    assert scopes == f"{READ} {WRITE} {DELETE}"
    inspector.screen.ticks = scopes.split()
    assert inspector.call("delete_memories", DELETION, "--relogin")[0] == FINE
    assert len(inspector.screen.opened) == 2

    assert inspector.call("consolidate_memories", {}, alone)[0] == IS_ERROR
    alice.change(alice.connections()[0], f"allow {REFLECT}")
    assert inspector.call("consolidate_memories", {}, alone)[0] == FINE
    assert len(inspector.screen.opened) == 2


# --- mcp-remote ----------------------------------------------------------------------------------


@dataclass
class Bridge:
    """A stdio client behind which mcp-remote signs in."""

    node: Node
    world: World
    home: Path
    screen: Browser

    @asynccontextmanager
    async def connected(self, *more: str) -> AsyncGenerator[Client]:
        script = self.node.folder / "node_modules" / "mcp-remote" / "dist" / "proxy.js"
        usual = [self.world.mcp, "--allow-http", "--transport", "http-only"]
        parameters = StdioServerParameters(
            command=str(self.node.binary),
            args=[str(script), *usual, *more],
            env={
                **environment(self.node.binary),
                "HOME": str(self.home),
                "MCP_REMOTE_CONFIG_DIR": str(self.home / "mcp-remote"),
                "BROWSER": str(self.screen.command),
            },
        )
        async with Client(stdio_client(parameters), mode="legacy") as client:
            yield client


def texts(result: CallToolResult) -> list[str]:
    assert result.structured_content is not None, result
    return [memory["text"] for memory in result.structured_content["memories"]]


async def test_mcp_remote_signs_in_refreshes_and_steps_up(
    node22: Node, world: World, alice: Person, screen: Browser, tmp_path: Path
) -> None:
    bridge = Bridge(node22, world, tmp_path, screen)
    async with bridge.connected() as client:
        assert len((await client.list_tools()).tools) == 10
        await client.call_tool("store_memory", {"content": MEMORY})
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [MEMORY]
        expire_access_tokens(world)
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [MEMORY]
        assert len(screen.opened) == 1
        refused = await client.call_tool("delete_memories", DELETION)
        assert refused.is_error
        assert refused.meta
        scopes = wanted(refused.meta["mcp/www_authenticate"][0])
        alice.change(alice.connections()[0], f"allow {REFLECT}")
        batch = await client.call_tool("consolidate_memories", {})
        assert texts(batch) == [MEMORY]
    asked = json.dumps({"scope": scopes})
    async with bridge.connected("--static-oauth-client-metadata", asked) as client:
        assert not (await client.call_tool("delete_memories", DELETION)).is_error
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [MEMORY]
    assert len(screen.opened) == 2
