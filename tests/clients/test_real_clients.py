"""Clients written by others list exactly ten tools and two resources, store, find, and are refused.

Each in every mode it has: the handshake, the stateless revision, and finding out by itself.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from rememberd.tools import VAULT
from tests.clients.node import Node
from tests.clients.production import Running

TOOLS = [
    "memory_status",
    "search_memories",
    "date_search_memories",
    "inspect_memory",
    "search",
    "store_memory",
    "consolidate_memories",
    "commit_reflections",
    "delete_memories",
    "forget_all_memories",
]
RESOURCES = ["memory://vault/stats", "memory://vault/recent"]
MODERN, NEWEST_LEGACY = "2026-07-28", "2025-11-25"
INVALID_PARAMS = -32602


def test_the_list_here_is_the_one_in_the_code() -> None:
    assert [tool.name for tool in VAULT.tools] == TOOLS


# --- Python ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, version", [("auto", MODERN), ("legacy", NEWEST_LEGACY), (MODERN, MODERN)]
)
async def test_the_official_python_client_stores_and_finds(
    server: Running, mode: str, version: str
) -> None:
    text = f"The release phrase of the python {mode} demo is ORCHID-7419."
    headers = {"Authorization": f"Bearer {server.key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(server.mcp, http_client=http), mode=mode) as client,
    ):
        assert client.protocol_version == version
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        listed = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in listed] == RESOURCES
        assert (await client.list_prompts()).prompts == []

        stored = await client.call_tool("store_memory", {"content": text})
        assert stored.structured_content is not None
        assert stored.structured_content["status"] == "queued"
        found = await client.call_tool("search_memories", {"query": text})
        assert found.structured_content is not None
        assert found.structured_content["memories"][0]["text"] == text
        recent = await client.read_resource("memory://vault/recent")
        assert text in str(recent.contents[0])

        with pytest.raises(MCPError) as refused:
            await client.call_tool("search_memories", {"query": ""})
        assert refused.value.code == INVALID_PARAMS
        forbidden = await client.call_tool(
            "forget_all_memories", {"confirmation": "DELETE ALL MEMORIES"}
        )
        assert forbidden.is_error
        assert forbidden.meta is not None
        (challenge,) = forbidden.meta["mcp/www_authenticate"]
        assert 'scope="memories:read memories:write memories:delete"' in challenge


@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
async def test_two_stdio_clients_share_a_vault_without_a_server(tmp_path: Path, mode: str) -> None:
    """Each starts `rememberd stdio` itself; what one stores the other finds at once."""
    text = f"The release phrase of the stdio {mode} demo is ORCHID-7423."
    command = ["-m", "rememberd", "stdio", "--vault", "personal", "--data", str(tmp_path / "data")]
    started = StdioServerParameters(
        command=sys.executable, args=command, env={"REMEMBERD_EMBEDDER": "off"}
    )
    async with Client(stdio_client(started), mode=mode) as one:
        assert [tool.name for tool in (await one.list_tools()).tools] == TOOLS
        async with Client(stdio_client(started), mode=mode) as other:
            stored = await one.call_tool("store_memory", {"content": text})
            assert not stored.is_error
            found = await other.call_tool("search_memories", {"query": text})
            assert found.structured_content is not None
            assert found.structured_content["memories"][0]["text"] == text


# --- TypeScript --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode, version", [("auto", MODERN), ("legacy", NEWEST_LEGACY), (MODERN, MODERN)]
)
def test_the_official_typescript_client_stores_and_finds(
    server: Running, node22: Node, mode: str, version: str
) -> None:
    text = f"The release phrase of the typescript {mode} demo is ORCHID-7420."
    said = node22.json("typescript_client.mjs", server.mcp, server.key, mode, text)
    assert said["tools"] == TOOLS
    assert said["resources"] == RESOURCES
    assert said["prompts"] == 0
    assert said["stored"]["status"] == "queued"
    assert said["found"]["memories"][0]["text"] == text
    assert text in said["recent"]
    assert said["refused"] == INVALID_PARAMS
    assert said["forbidden"]["isError"] is True
    assert "memories:delete" in said["forbidden"]["meta"]["mcp/www_authenticate"][0]
    assert said["version"] == version


@pytest.mark.slow
def test_the_typescript_client_of_before_the_revision_stores_and_finds(
    server: Running, node22: Node
) -> None:
    text = "The release phrase of the older demo is ORCHID-7421."
    said = node22.json("older_client.mjs", server.mcp, server.key, text)
    assert said["tools"] == TOOLS
    assert said["resources"] == RESOURCES
    assert said["stored"]["status"] == "queued"
    assert said["found"]["memories"][0]["text"] == text
    assert said["refused"] == INVALID_PARAMS
    assert said["version"] == NEWEST_LEGACY


# --- mcp-remote --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_stdio_client_reaches_us_through_mcp_remote(
    server: Running, node22: Node, tmp_path: Path, mode: str
) -> None:
    text = f"The release phrase of the bridge {mode} demo is ORCHID-7424."
    bridge = str(node22.folder / "node_modules" / "mcp-remote" / "dist" / "proxy.js")
    started = StdioServerParameters(
        command=str(node22.binary),
        args=[
            *(bridge, server.mcp, "--allow-http", "--transport", "http-only", "--silent"),
            *("--header", f"Authorization: Bearer {server.key}"),
        ],
        env={"HOME": str(tmp_path)},
    )
    async with Client(stdio_client(started), mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        listed = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in listed] == RESOURCES
        await client.call_tool("store_memory", {"content": text})
        found = await client.call_tool("search_memories", {"query": text})
        assert found.structured_content is not None
        assert found.structured_content["memories"][0]["text"] == text


# --- the Inspector -----------------------------------------------------------------------------

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
IS_ERROR, UNAUTHORIZED = 5, 3  # the Inspector's exit codes


@dataclass(frozen=True)
class Inspector:
    """One command line a call; each starts a Node of its own, so they are used sparingly."""

    node: Node
    server: Running
    era: str

    def run(self, *arguments: str, token: str | None = None) -> tuple[int, str]:
        done = self.node.run(
            INSPECTOR,
            *("--cli", self.server.mcp, "--transport", "http", "--protocol-era", self.era),
            *("--header", f"Authorization: Bearer {token or self.server.key}", "--format", "json"),
            *arguments,
        )
        return done.returncode, done.stdout

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[int, str]:
        given = json.dumps(arguments)
        return self.run(*("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given))


@pytest.mark.slow
@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_the_inspector_lists_stores_and_finds(server: Running, node22: Node, era: str) -> None:
    text = f"The release phrase of the inspector {era} demo is ORCHID-7422."
    inspector = Inspector(node22, server, era)
    _, listed = inspector.run("--method", "tools/list")
    assert [tool["name"] for tool in json.loads(listed)["result"]["tools"]] == TOOLS
    _, listed = inspector.run("--method", "resources/list")
    assert [each["uri"] for each in json.loads(listed)["result"]["resources"]] == RESOURCES
    assert inspector.call("store_memory", {"content": text})[0] == 0
    status, found = inspector.call("search_memories", {"query": text})
    assert status == 0
    memories = json.loads(found)["result"]["structuredContent"]["memories"]
    assert memories[0]["text"] == text


@pytest.mark.slow
def test_the_inspector_tells_a_refusal_from_an_answer(server: Running, node22: Node) -> None:
    inspector = Inspector(node22, server, "modern")
    status, _ = inspector.call("forget_all_memories", {"confirmation": "DELETE ALL MEMORIES"})
    assert status == IS_ERROR
    assert inspector.run("--method", "tools/list", token="unknown")[0] == UNAUTHORIZED
