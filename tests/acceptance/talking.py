"""Tools called over HTTP with a key, as an app does it, and answers taken apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.http.serving import Served
from tests.mcp.talk import request


@dataclass(frozen=True)
class Client:
    """One app: where the server is, and the key of one vault."""

    port: int
    key: str

    def post(self, method: str, params: dict[str, Any]) -> bytes:
        """The raw answer to one request. Raises OSError or HTTPException when there is none."""
        reply = Served(self.port).send(
            "POST",
            "/mcp",
            json.dumps(request(method, params)).encode(),
            [("Content-Type", "application/json"), ("Authorization", f"Bearer {self.key}")],
        )
        assert reply.status == 200, (reply.status, reply.body)
        return reply.body

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, be it an error or not."""
        answer = json.loads(self.post("tools/call", {"name": tool, "arguments": arguments}))
        assert "result" in answer, answer
        return answer["result"]

    def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]
