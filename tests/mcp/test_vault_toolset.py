"""The ten tools and two resources as clients see them: names, classes, arguments, schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from jsonschema import Draft202012Validator

from rememberd.mcp.catalog import Catalog
from rememberd.model import DELETE, READ, REFLECT, WRITE
from rememberd.settings import Settings
from rememberd.tools import VAULT
from rememberd.tools.vault.commit_reflections import CommitArguments
from tests.mcp.talk import request

LISTED: dict[str, Any] = {
    tool["name"]: tool
    for tool in Catalog(VAULT.tools, VAULT.resources).lists["tools/list"]["tools"]
}
READS, ADDS, DELETES = (True, False, True), (False, False, False), (False, True, True)
LEASES, COMMITS = (False, False, False), (False, False, True)


@pytest.mark.parametrize(
    "name, scope, hints, arguments",
    [
        ("memory_status", READ, READS, ""),
        ("search_memories", READ, READS, "query limit? tiers? importance?"),
        ("date_search_memories", READ, READS, "from to? query? tiers? importance? max_tokens?"),
        ("inspect_memory", READ, READS, "memory_id"),
        ("search", READ, READS, "query"),
        ("store_memory", WRITE, ADDS, "content tags? source_context? occurred_at?"),
        ("consolidate_memories", REFLECT, LEASES, "tier?"),
        ("commit_reflections", REFLECT, COMMITS, "batch_id entries"),
        ("delete_memories", DELETE, DELETES, "memory_ids confirmation"),
        ("forget_all_memories", DELETE, DELETES, "confirmation"),
    ],
)
def test_a_tool_has_its_class_and_its_arguments(
    name: str, scope: str, hints: tuple[bool, bool, bool], arguments: str
) -> None:
    (tool,) = [tool for tool in VAULT.tools if tool.name == name]
    assert tool.scope == scope
    assert (tool.read_only, tool.destructive, tool.idempotent) == hints
    schema = LISTED[name]["inputSchema"]
    required = schema.get("required", [])
    shown = [f"{key}{'' if key in required else '?'}" for key in schema["properties"]]
    assert " ".join(shown) == arguments


def test_there_are_ten_tools_and_two_resources() -> None:
    assert len(LISTED) == len(VAULT.tools) == 10
    uris = [resource.uri for resource in VAULT.resources]
    assert uris == ["memory://vault/stats", "memory://vault/recent"]


@pytest.mark.parametrize("name", LISTED)
def test_a_tool_is_described_for_people_and_models(name: str) -> None:
    tool = LISTED[name]
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name)
    assert tool["title"] == tool["annotations"]["title"]
    assert tool["annotations"]["openWorldHint"] is False
    assert 100 < len(tool["description"]) < 2_000
    for field, schema in tool["inputSchema"]["properties"].items():
        assert "description" in schema or field in ("batch_id",), field


def test_a_tool_that_changes_something_says_what_to_do_without_its_scope() -> None:
    for tool in VAULT.tools:
        asks_for_more = "reconnect" in tool.description and tool.scope in tool.description
        assert asks_for_more is (not tool.read_only), tool.name


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("kind", ["inputSchema", "outputSchema"])
def test_schemas_are_plain_and_valid(name: str, kind: str) -> None:
    schema = LISTED[name][kind]
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for node in nodes(schema):
        assert "$ref" not in node
        assert {"type": "null"} not in node.get("anyOf", [])
        assert "title" not in node or not isinstance(node["title"], str)
        if kind == "inputSchema" and node.get("type") == "object":
            assert node["additionalProperties"] is False


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def test_no_tool_takes_a_vault_a_project_or_a_user() -> None:
    for tool in LISTED.values():
        fields = set(tool["inputSchema"]["properties"])
        assert not fields & {"vault", "vault_id", "project", "project_id", "user", "user_id"}


def test_limits_stay_as_they_are() -> None:
    assert {
        f"{name}.{path}": bounds
        for name, tool in LISTED.items()
        for path, bounds in limits(tool["inputSchema"], "")
    } == snapshot(
        {
            "search_memories.query": "string 1..4000",
            "search_memories.limit": "integer 1..250 = 10",
            "search_memories.tiers": "array 1..3",
            "search_memories.tiers[]": "[1, 2, 3]",
            "search_memories.importance": "integer 1..10",
            "date_search_memories.from": "string 1..100000",
            "date_search_memories.to": "string ..64",
            "date_search_memories.query": "string 1..4000",
            "date_search_memories.tiers": "array 1..3",
            "date_search_memories.tiers[]": "[1, 2, 3]",
            "date_search_memories.importance": "integer 1..10",
            "date_search_memories.max_tokens": "integer 1000..200000 = 8000",
            "inspect_memory.memory_id": "string 1..128",
            "search.query": "string 1..4000",
            "store_memory.content": "string 1..32000",
            "store_memory.tags": "array ..32",
            "store_memory.tags[]": "string 1..64",
            "store_memory.source_context": "string ..512",
            "store_memory.occurred_at": "string ..64",
            "consolidate_memories.tier": "[1, 2]",
            "commit_reflections.batch_id": "string 1..128",
            "commit_reflections.entries": "array 1..10",
            "commit_reflections.entries[].text": "string 1..32000",
            "commit_reflections.entries[].importance": "integer 1..10",
            "commit_reflections.entries[].source_ids": "array 1..1000",
            "commit_reflections.entries[].source_ids[]": "string 1..128",
            "delete_memories.memory_ids": "array 1..100",
            "delete_memories.memory_ids[]": "string 1..128",
            "delete_memories.confirmation": "DELETE",
            "forget_all_memories.confirmation": "DELETE ALL MEMORIES",
        }
    )


def test_the_largest_commit_fits_into_a_request() -> None:
    """Some clients send everything but ASCII as \\uXXXX, and two of them for a character."""
    entry = {"text": "\N{SLIGHTLY SMILING FACE}" * 32_000, "importance": 10}
    named = {"source_ids": ["mem_" + "0" * 36] * Settings.model_fields["batch_memories"].default}
    arguments = {"batch_id": "bat_" + "0" * 36, "entries": [entry | named] * 10}
    CommitArguments.model_validate(arguments)
    body = request("tools/call", {"name": "commit_reflections", "arguments": arguments})
    assert len(json.dumps(body)) <= Settings.model_fields["max_body_bytes"].default


def limits(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Every bounded field, as `path: 1..250 = 10`."""
    for name, field in schema.get("properties", {}).items():
        where = f"{path}{name}"
        yield where, _bounds(field)
        items = field.get("items", {})
        if items.get("type") == "object":
            yield from limits(items, f"{where}[].")
        elif items:
            yield f"{where}[]", _bounds(items)


def _bounds(field: dict[str, Any]) -> str:
    for least, most in (
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
    ):
        if least in field or most in field:
            default = f" = {field['default']}" if "default" in field else ""
            return f"{field['type']} {field.get(least, '')}..{field.get(most, '')}{default}"
    return str(field.get("enum") or field.get("const") or field["type"])
