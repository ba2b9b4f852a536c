"""The lists: the same bytes for everyone, always; readable schemas; resources by exact name."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from mcp_types import Implementation
from pydantic import BaseModel, Field

from rememberd.mcp.catalog import Catalog
from rememberd.mcp.schemas import schema_of
from rememberd.mcp.server import McpServer
from tests.mcp.small_world import (
    ALICE,
    BOB,
    CHARLIE,
    METADATA,
    TOOLS,
    Notes,
    catalog,
    small_server,
)
from tests.mcp.talk import Json, ask, ask_modern, modern, request

LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def server(notes: Notes) -> McpServer:
    return small_server(notes)


@pytest.mark.parametrize("method", [*LISTS, "server/discover"])
async def test_a_catalog_has_the_same_bytes_for_everyone_and_asks_nothing_of_the_engine(
    server: McpServer, notes: Notes, method: str
) -> None:
    answers = {(await ask_modern(server, modern(method), who)).raw for who in (ALICE, CHARLIE)}
    answers.add((await ask_modern(small_server(Notes(["x"])), modern(method), BOB)).raw)
    assert len(answers) == 1
    assert notes.calls == 0


@pytest.mark.parametrize("method", [*LISTS, "server/discover"])
async def test_a_catalog_may_be_cached_by_anyone(server: McpServer, method: str) -> None:
    result = (await ask_modern(server, modern(method))).result
    assert result["cacheScope"] == "public"
    assert result["ttlMs"] == 3_600_000


@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("cursor", ["", "x", 7, ["x"]])
async def test_a_cursor_is_never_one_of_ours(
    server: McpServer, method: str, cursor: object
) -> None:
    legacy = await ask(server, request(method, {"cursor": cursor}))
    assert (legacy.status, legacy.code) == (200, -32602)
    answer = await ask_modern(server, modern(method, {"cursor": cursor}))
    assert (answer.status, answer.code) == (400, -32602)


@pytest.mark.parametrize("method", LISTS)
async def test_a_null_cursor_is_the_first_page(server: McpServer, method: str) -> None:
    assert (await ask(server, request(method, {"cursor": None}))).status == 200


async def test_tools_are_listed_in_the_order_given_with_all_hints(server: McpServer) -> None:
    tools: list[Any] = (await ask(server, request("tools/list"))).result["tools"]
    assert [tool["name"] for tool in tools] == ["count", "find", "keep", "wipe", "fail"]
    assert tools[3]["annotations"] == {
        "title": "Wipe",
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }


async def test_prompts_and_templates_are_empty_lists(server: McpServer) -> None:
    assert (await ask(server, request("prompts/list"))).result == {"prompts": []}
    templates = await ask(server, request("resources/templates/list"))
    assert templates.result == {"resourceTemplates": []}
    prompt = await ask(server, request("prompts/get", {"name": "x"}))
    assert prompt.code == -32602


@pytest.mark.parametrize("method", ["resources/list", "resources/read", "prompts/list"])
async def test_a_mount_without_resources_and_prompts_does_not_know_them(method: str) -> None:
    bare = McpServer(
        Catalog(TOOLS, cache_scope="private"),
        engine=Notes(),
        info=Implementation(name="bare", version="1"),
        instructions="",
        resource_metadata=METADATA,
    )
    answer = await ask_modern(bare, modern(method))
    assert (answer.status, answer.code) == (404, -32601)
    discovered = (await ask_modern(bare, modern("server/discover"))).result
    assert discovered["capabilities"] == {"tools": {"listChanged": False}}
    assert discovered["cacheScope"] == "private"


# --- resources ---------------------------------------------------------------------------------


async def test_a_resource_is_read_and_is_nobody_elses_to_cache(
    server: McpServer, notes: Notes
) -> None:
    notes.kept.append("hello")
    result = (await ask_modern(server, modern("resources/read", {"uri": "notes://newest"}))).result
    assert result["contents"] == [
        {"uri": "notes://newest", "mimeType": "text/plain", "text": "hello"}
    ]
    assert (result["cacheScope"], result["ttlMs"]) == ("private", 0)


async def test_a_legacy_client_reads_without_hints(server: McpServer) -> None:
    answer = await ask(server, request("resources/read", {"uri": "notes://newest"}))
    assert answer.result.keys() == {"contents"}


async def test_a_missing_resource_is_an_error_that_names_it(server: McpServer) -> None:
    answer = await ask_modern(server, modern("resources/read", {"uri": "notes://nope"}))
    assert (answer.status, answer.code) == (400, -32602)
    assert answer.error["data"] == {"uri": "notes://nope"}


@pytest.mark.parametrize("uri", [None, 7, [], {"a": 1}])
async def test_a_resource_without_a_name_is_an_error(server: McpServer, uri: object) -> None:
    answer = await ask(server, request("resources/read", {"uri": uri}))
    assert answer.code == -32602
    assert "data" not in answer.error


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_without_the_scope_a_resource_is_http_403_with_the_challenge(
    server: McpServer, notes: Notes, era: str
) -> None:
    params: Json = {"uri": "notes://newest"}
    if era == "legacy":
        answer = await ask(server, request("resources/read", params), CHARLIE)
    else:
        answer = await ask_modern(server, modern("resources/read", params), CHARLIE)
    assert answer.status == 403
    assert answer.challenge == (
        f'Bearer error="insufficient_scope", resource_metadata="{METADATA}", '
        'scope="memories:read", error_description="This call needs memories:read"'
    )
    assert "memories:read" in answer.error["message"]
    assert answer.body["id"] == 1
    assert notes.calls == 0


async def test_an_unknown_resource_is_unknown_without_the_scope_too(server: McpServer) -> None:
    answer = await ask(server, request("resources/read", {"uri": "notes://nope"}), CHARLIE)
    assert answer.code == -32602


async def test_a_resource_that_fails_says_nothing_of_why(server: McpServer, notes: Notes) -> None:
    notes.kept[:] = ["boom"]
    answer = await ask(server, request("resources/read", {"uri": "notes://newest"}))
    assert answer.code == -32603
    assert answer.raw is not None
    assert b"secret" not in answer.raw


# --- schemas -----------------------------------------------------------------------------------


def test_schemas_stay_as_they_are() -> None:
    tools = catalog().lists["tools/list"]["tools"]
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools[:4]}
    assert schemas == snapshot(
        {
            "count": {
                "additionalProperties": False,
                "properties": {},
                "type": "object",
            },
            "find": {
                "additionalProperties": False,
                "properties": {
                    "query": {
                        "description": "Words to look for.",
                        "maxLength": 20,
                        "minLength": 1,
                        "type": "string",
                    },
                    "limit": {"default": 10, "maximum": 250, "minimum": 1, "type": "integer"},
                    "tiers": {
                        "items": {"enum": [1, 2, 3], "type": "integer"},
                        "minItems": 1,
                        "type": "array",
                    },
                    "near": {"minimum": 0, "type": "number"},
                },
                "required": ["query"],
                "type": "object",
            },
            "keep": {
                "additionalProperties": False,
                "properties": {
                    "entries": {
                        "items": {
                            "additionalProperties": False,
                            "properties": {
                                "text": {"minLength": 1, "type": "string"},
                                "importance": {"maximum": 10, "minimum": 1, "type": "integer"},
                            },
                            "required": ["text", "importance"],
                            "type": "object",
                        },
                        "maxItems": 3,
                        "minItems": 1,
                        "type": "array",
                    }
                },
                "required": ["entries"],
                "type": "object",
            },
            "wipe": {
                "additionalProperties": False,
                "properties": {"really": {"type": "boolean"}, "confirmation": {"type": "string"}},
                "required": ["really", "confirmation"],
                "type": "object",
            },
        }
    )
    assert tools[1]["outputSchema"] == snapshot(
        {
            "properties": {
                "notice": {
                    "description": "How to read the texts that follow.",
                    "type": "string",
                },
                "notes": {"items": {"type": "string"}, "type": "array"},
            },
            "required": ["notes"],
            "type": "object",
        }
    )


class Title(BaseModel):
    title: str = Field(description="A field that is called like a keyword.")
    default: int | None = None


class Shelf(BaseModel):
    best: Title
    other: Title | None = Field(None, description="Another.")
    either: int | str | None = None


def test_a_schema_has_no_references_and_keeps_fields_named_like_keywords() -> None:
    schema = schema_of(Shelf, "serialization")
    assert "$ref" not in str(schema)
    title = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A field that is called like a keyword."},
            "default": {"type": "integer"},
        },
        "required": ["title"],
    }
    assert schema["properties"]["best"] == title
    assert schema["properties"]["other"] == {**title, "description": "Another."}
    assert schema["properties"]["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
