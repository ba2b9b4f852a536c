"""Clients written by others list exactly ten tools and two resources, store, find, and are refused.

Each in every mode it has: the handshake, the stateless revision, and finding out by itself.
"""

import json
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
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


# --- the Inspector -----------------------------------------------------------------------------

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.mark.slow
@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_the_inspector_stores_and_finds(server: Running, node22: Node, era: str) -> None:
    text = f"The release phrase of the inspector {era} demo is ORCHID-7422."

    def inspect(*arguments: str, token: str = server.key) -> tuple[int, str]:
        done = node22.run(
            INSPECTOR,
            *("--cli", server.mcp, "--transport", "http", "--protocol-era", era),
            *("--header", f"Authorization: Bearer {token}", "--format", "json"),
            *arguments,
        )
        return done.returncode, done.stdout + done.stderr

    def call(tool: str, arguments: dict[str, Any]) -> tuple[int, str]:
        return inspect(
            *("--method", "tools/call", "--tool-name", tool),
            *("--tool-args-json", json.dumps(arguments)),
        )

    status, listed = inspect("--method", "tools/list")
    assert status == 0, listed
    assert [tool["name"] for tool in json.loads(listed)["result"]["tools"]] == TOOLS
    status, listed = inspect("--method", "resources/list")
    assert [each["uri"] for each in json.loads(listed)["result"]["resources"]] == RESOURCES
    status, stored = call("store_memory", {"content": text})
    assert status == 0, stored
    status, found = call("search_memories", {"query": text})
    assert status == 0, found
    assert text in found
    status, _ = call("forget_all_memories", {"confirmation": "DELETE ALL MEMORIES"})
    assert status == 5  # the Inspector's word for isError
    status, _ = inspect("--method", "tools/list", token="unknown")
    assert status == 3  # and for 401
