"""`rememberd try`: the whole promise in a few seconds, on a throw-away server.

One client stores a fact and leaves; another one, of another era of MCP, finds it. Nothing of the
user's own data or settings is touched.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from rememberd import __version__, log
from rememberd.cli import line, output
from rememberd.cli.program import program
from rememberd.errors import RememberdError
from rememberd.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

FACT = "the demo project's release phrase is ORCHID-7419"
QUESTION = "what is the release phrase of the demo project?"
ANSWER = "ORCHID-7419"
_MODERN, _LEGACY = "2026-07-28", "2025-11-25"


def prove() -> None:
    """Try it: one app stores a fact, another finds it, on a server that is gone afterwards.

    Example: rememberd try
    """
    log.configure("warning")
    with tempfile.TemporaryDirectory(prefix="rememberd-try-") as folder:
        settings = Settings.model_validate({"data": Path(folder), "port": 0})
        found = asyncio.run(_play(settings))
    if not found:
        output.error(f"The phrase was not found. `{program()} doctor` may say why.")
        raise typer.Exit(1)
    output.result()
    output.result(Text("Found.", "bold green"), f"Now with your own apps: {program()} serve")


async def _play(settings: Settings) -> bool:
    """True when the second client was told the phrase."""
    from rememberd.cli import hosting  # noqa: PLC0415 - see `owner.py`

    async with hosting.server(settings) as app:
        url = f"{app.engine.public_url}/mcp"
        output.result("A server of its own, removed at the end:", output.bold(url))
        key = await _make_key(app.local)
        await _store(ModernClient(url, key, "first-app"))
        return await _find(LegacyClient(url, key, "second-app"))


async def _make_key(local: ASGIApp) -> str:
    async with line.client_of(app=local) as owner:
        made = await owner.post("/keys", json={"vault": "personal"})
    return str(made.json()["key"])


async def _store(client: ModernClient) -> None:
    _title(f"First app: one call, MCP {_MODERN}")
    _sent("store_memory", FACT)
    kept = await client.call("store_memory", {"content": FACT})
    _answered(f"{kept['status']}, {kept['receipt_id']}")


async def _find(client: LegacyClient) -> bool:
    _title(f"Second app: a new connection, MCP {_LEGACY}")
    _sent("initialize")
    _answered(await client.shake_hands())
    _sent("search_memories", QUESTION)
    found = await client.call("search_memories", {"query": QUESTION})
    texts = [memory["text"] for memory in found["memories"]]
    _answered(*texts or ["nothing"])
    return any(ANSWER in text for text in texts)


def _title(text: str) -> None:
    output.result()
    output.result(output.bold(text))


def _sent(what: str, text: str = "") -> None:
    output.result(Text.assemble(("  → ", "cyan"), what, (f"  {text}" if text else "", "dim")))


def _answered(*texts: str) -> None:
    for text in texts:
        output.result(Text.assemble(("  ← ", "green"), text))


# --- two small clients -------------------------------------------------------------------------


class Client:
    """What both eras share: one POST, one JSON answer."""

    def __init__(self, url: str, key: str, name: str) -> None:
        self._url = url
        self._key = key
        self._info = {"name": name, "version": __version__}

    async def _post(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        import httpx2  # noqa: PLC0415 - see `line.client_of`

        usual = {
            "Authorization": f"Bearer {self._key}",
            "Accept": "application/json, text/event-stream",
        }
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(self._url, json=body, headers=usual | dict(headers))
        if answer.status_code == 202:
            return None
        result = answer.json().get("result")
        if result is None or result.get("isError"):
            raise RememberdError(f"The server answered {answer.status_code} without a result.")
        return result


class ModernClient(Client):
    """Revision 2026-07-28: each request stands alone and says everything about itself."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": _MODERN,
            "io.modelcontextprotocol/clientInfo": self._info,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await self._post(body, headers))["structuredContent"]


class LegacyClient(Client):
    """Revision 2025-11-25: a handshake first."""

    async def shake_hands(self) -> str:
        """What the server says it is."""
        params = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": self._info}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        server = (await self._post(body, {}))["serverInfo"]
        await self._send("notifications/initialized")
        return f"{server['name']} {server['version']}"

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        body = {"id": 2, "params": {"name": tool, "arguments": arguments}}
        return (await self._send("tools/call", **body))["structuredContent"]

    async def _send(self, method: str, **rest: Any) -> Any:
        body = {"jsonrpc": "2.0", "method": method, **rest}
        return await self._post(body, {"MCP-Protocol-Version": _LEGACY})
