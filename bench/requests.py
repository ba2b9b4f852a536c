"""Requests as bytes, made before the clock runs, so that a client only has to send them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import count, cycle
from typing import Any

_VERSION = "2026-07-28"
_IDS = count(1)


def call(key: str, tool: str, arguments: dict[str, Any]) -> bytes:
    """A whole HTTP request: one `tools/call` of the present revision."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params: dict[str, Any] = {"name": tool, "arguments": arguments, "_meta": meta}
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": next(_IDS),
        "method": "tools/call",
        "params": params,
    }
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    return post("/mcp", message, headers)


def post(path: str, body: Any, headers: dict[str, str] | None = None) -> bytes:
    encoded = json.dumps(body, ensure_ascii=False).encode()
    return _request(path, "application/json", encoded, headers or {})


def form(path: str, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """What a browser sends from a page of ours, or a client to the token endpoint."""
    more = {"Sec-Fetch-Site": "same-origin", **(headers or {})}
    return _request(path, "application/x-www-form-urlencoded", body, more)


def _request(path: str, kind: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def store(keys: Sequence[str], memories: Iterable[tuple[str, str]]) -> list[bytes]:
    """One request for each memory, to the vaults of these keys in turn."""
    return [
        call(key, "store_memory", {"content": text, "source_context": thread})
        for key, (text, thread) in zip(cycle(keys), memories, strict=False)
    ]


def search(keys: Sequence[str], questions: Iterable[str]) -> list[bytes]:
    """One request for each question, to the vaults of these keys in turn."""
    return [
        call(key, "search_memories", {"query": question})
        for key, question in zip(cycle(keys), questions, strict=False)
    ]
