"""Messages as clients of either era send them, and answers taken apart."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from rememberd.mcp.era import Routing
from rememberd.mcp.server import Answer, McpServer
from rememberd.model import Principal
from tests.mcp.small_world import ALICE

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
META: dict[str, Any] = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}

Json = dict[str, Any]


def request(method: str, params: Json | None = None, *, request_id: Any = 1) -> Json:
    body: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return body if params is None else {**body, "params": params}


def modern(method: str, params: Json | None = None, *, request_id: Any = 1) -> Json:
    return request(method, {**(params or {}), "_meta": META}, request_id=request_id)


def routing_headers(body: Json) -> list[tuple[str, str]]:
    """The headers that a modern client sends with this body."""
    params = body.get("params", {})
    headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", body["method"])]
    name = params.get("name") or params.get("uri")
    return [*headers, ("Mcp-Name", _safe(name))] if name else headers


def _safe(name: str) -> str:
    if name.isascii():
        return name
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


@dataclass
class Said:
    """One answer: HTTP status, body and challenge."""

    status: int
    body: Any
    challenge: str | None = None
    raw: bytes | None = field(default=None, repr=False)

    @property
    def result(self) -> Json:
        assert "result" in self.body, self.body
        return self.body["result"]

    @property
    def error(self) -> Json:
        assert "error" in self.body, self.body
        return self.body["error"]

    @property
    def code(self) -> int:
        return self.error["code"]

    @property
    def text(self) -> str:
        """The text of a tool's first content block."""
        return self.result["content"][0]["text"]


def said(answer: Answer) -> Said:
    body = None if answer.body is None else json.loads(answer.body)
    return Said(answer.status, body, answer.challenge, answer.body)


async def ask(server: McpServer, body: Json | bytes, who: Principal = ALICE) -> Said:
    """A legacy request, without headers."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return said(await server.answer(raw, who, Routing()))


async def ask_modern(server: McpServer, body: Json, who: Principal = ALICE) -> Said:
    """A modern request with the headers that go with it."""
    routing = Routing.read(routing_headers(body))
    return said(await server.answer(json.dumps(body).encode(), who, routing))


async def call(server: McpServer, tool: str, arguments: Any, who: Principal = ALICE) -> Said:
    return await ask(server, request("tools/call", {"name": tool, "arguments": arguments}), who)
