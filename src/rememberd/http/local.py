"""One MCP message over the local socket, for `stdio` and the other commands.

The caller names a vault, as the owner may, or sends a key, which then decides vault and scopes.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rememberd.engine import vaults
from rememberd.engine.engine import Engine
from rememberd.errors import InvalidInput, Unauthenticated
from rememberd.http.bearer import Verify
from rememberd.mcp.server import McpServer
from rememberd.model import SCOPES, Principal

VAULT_HEADER = "x-rememberd-vault"
CLIENT_HEADER = "x-rememberd-client"
OWNER = "command line"


class LocalMcp:
    def __init__(self, server: McpServer, engine: Engine, verify: Verify) -> None:
        self._server = server
        self._engine = engine
        self._verify = verify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        principal = await self._principal(request)
        answer = await self._server.answer(await request.body(), principal)
        # A notification has no answer; the status says so.
        status = 204 if answer.body is None else 200
        response = Response(answer.body, status, media_type="application/json")
        await response(scope, receive, send)

    async def _principal(self, request: Request) -> Principal:
        """Raises NotFound for an unknown vault, Unauthenticated for a key that is worth nothing."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if key:
            found = await self._verify(key)
            if found is None:
                raise Unauthenticated("The key is unknown or revoked. See `rememberd key list`.")
            return found
        name = request.headers.get(VAULT_HEADER)
        if not name:
            raise InvalidInput("Name a vault with --vault, or set REMEMBERD_KEY.", field="vault")
        vault = await vaults.vault_named(self._engine, name)
        return Principal(
            vault_id=vault.id,
            scopes=frozenset(SCOPES),
            client=OWNER,
            client_name=request.headers.get(CLIENT_HEADER, OWNER),
        )
