"""One MCP message over the local socket, for `stdio` and the other commands.

The caller names a vault (`?vault=`), as the owner may, or sends a key, which then decides vault and
scopes: naming a vault must never widen what a key allows.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rememberd.engine import vaults
from rememberd.engine.engine import Engine
from rememberd.errors import Denied, InvalidInput, Unauthenticated
from rememberd.http.bearer import Verify
from rememberd.mcp.server import McpServer
from rememberd.model import SCOPES, Principal, Vault

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
        name = request.query_params.get("vault")
        named = await vaults.vault_named(self._engine, name) if name else None
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if key:
            return await self._of_key(key, named)
        if named is None:
            raise InvalidInput("Name a vault with --vault, or set REMEMBERD_KEY.", field="vault")
        return Principal(
            vault_id=named.id,
            scopes=frozenset(SCOPES),
            client=OWNER,
            client_name=request.query_params.get("client", OWNER),
        )

    async def _of_key(self, key: str, named: Vault | None) -> Principal:
        found = await self._verify(key)
        if found is None:
            raise Unauthenticated("The key is unknown or revoked. See `rememberd key list`.")
        if named is not None and named.id != found.vault_id:
            raise Denied(f"The key does not open the vault {named.name}. Leave out one of the two.")
        return found
