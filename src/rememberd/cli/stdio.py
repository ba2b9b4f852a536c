"""`rememberd stdio`: MCP for clients that start their servers themselves.

Each line goes to whoever owns the data directory, so any number of these run side by side, with or
without a server. Nothing but answers is written to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, cast

import typer

from rememberd.cli import options
from rememberd.cli.calls import READING
from rememberd.cli.exits import INTERRUPTED
from rememberd.cli.options import Data, VaultName
from rememberd.cli.owner import Owner, ask_owner
from rememberd.errors import RememberdError
from rememberd.mcp.stdio import serve_lines

_INTERNAL_ERROR = -32603
_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
_LONGEST_NAME = 64


def stdio(context: typer.Context, vault: VaultName = None, data: Data = None) -> None:
    """Speak MCP over standard input and output, for one vault.

    With REMEMBERD_KEY set, the key decides which vault and how far.

    Example: rememberd stdio --vault personal
    """
    settings = options.load(context, data)
    key = os.environ.get("REMEMBERD_KEY")

    async def serve(owner: Owner) -> None:
        name = vault if key else await options.choose_vault(owner, vault)
        pipe = Pipe(owner, name, key)
        await pipe.check()
        try:
            await serve_lines(pipe.exchange, sys.stdin.buffer, sys.stdout.buffer)
        except BrokenPipeError:
            return  # the client is gone

    try:
        ask_owner(settings, serve, role="stdio")
    except KeyboardInterrupt:
        # All is closed, but a thread still reads standard input; Python would wait for its end.
        os._exit(INTERRUPTED)


class Pipe:
    """One client's line to one vault. It ends with the client, never with an owner."""

    def __init__(self, owner: Owner, vault: str | None, key: str | None) -> None:
        self._owner = owner
        self._params = {"vault": vault} if vault else {}
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def check(self) -> None:
        """Raises Refusal for an unknown vault or key, before any client waits for an answer."""
        ping = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
        await self._owner.ask(
            "POST", "/mcp", repeatable=True, params=self._params, headers=self._headers, json=ping
        )

    async def exchange(self, line: bytes) -> bytes | None:
        """Answer one message; a failure to reach an owner is an answer too."""
        message = _object(line)
        self._note_client(message)
        try:
            response = await self._owner.send(
                "POST",
                "/mcp",
                repeatable=_only_reads(message),
                params=self._params,
                headers=self._headers,
                content=line,
            )
        except RememberdError as error:
            return _failure(message, error.message)
        if response.is_error:
            return _failure(message, response.json()["error_description"])
        return response.content or None

    def _note_client(self, message: dict[str, Any]) -> None:
        """What the client calls itself becomes the `app` of what it stores."""
        params = _member(message, "params")
        info = _member(params, "clientInfo") or _member(_member(params, "_meta"), _CLIENT_INFO)
        name = info.get("name")
        if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME:
            self._params["client"] = name


def _only_reads(message: dict[str, Any]) -> bool:
    """Of all methods only a call of a tool can change anything."""
    name = _member(message, "params").get("name")
    return message.get("method") != "tools/call" or name in READING


def _failure(message: dict[str, Any], text: str) -> bytes | None:
    if "id" not in message:
        return None  # nobody waits for an answer
    error = {"code": _INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()


def _object(line: bytes) -> dict[str, Any]:
    """The message, or nothing: what is wrong with a line is for the server to say."""
    try:
        decoded: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], decoded) if isinstance(decoded, dict) else {}


def _member(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
