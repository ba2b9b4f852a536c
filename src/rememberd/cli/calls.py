"""Calls a memory tool through MCP, as any client does: the command line has no way of its own.

What a tool refuses becomes an error with an exit code; its text is passed on as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rememberd.cli.exits import Refusal
from rememberd.cli.owner import Owner
from rememberd.errors import InvalidInput, RememberdError

_INVALID_PARAMS = -32602
# What the arguments of the tools are called here.
_TYPED = {
    "content": "TEXT",
    "tags": "--tag",
    "source_context": "--source-context",
    "occurred_at": "--occurred-at",
    "query": "QUERY",
    "limit": "--limit",
    "tiers": "--tier",
    "importance": "--importance",
    "memory_id": "ID",
    "memory_ids": "ID",
}
_BLAMED = re.compile(rf"(^|; )({'|'.join(_TYPED)})(?:\[\d+\])?(?=[ :])")
# The tools that change nothing: a call may be repeated when a connection breaks. The catalog says
# the same (a test holds them equal), but importing it costs more than the call.
READING = frozenset(
    {"memory_status", "search_memories", "date_search_memories", "inspect_memory", "search"}
)


async def call(owner: Owner, vault: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The structured result. Raises InvalidInput for wrong arguments, Refusal for the rest."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": dict(arguments)},
    }
    answer = await owner.ask(
        "POST", "/mcp", repeatable=tool in READING, params={"vault": vault}, json=message
    )
    if "error" in answer:
        raise _refused(answer["error"])
    result = answer["result"]
    if result.get("isError"):
        code = result.get("_meta", {}).get("rememberd/code", "error")
        raise Refusal(code, result["content"][0]["text"])
    return result["structuredContent"]


def _refused(error: Mapping[str, Any]) -> RememberdError:
    text = str(error["message"])
    if error["code"] == _INVALID_PARAMS:
        _, _, detail = text.partition(": ")
        return InvalidInput(_BLAMED.sub(lambda found: found[1] + _TYPED[found[2]], detail or text))
    return RememberdError(text)
