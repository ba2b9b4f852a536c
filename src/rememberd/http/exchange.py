"""One HTTP request to an MCP mount: who asks, is it a POST of JSON, what does the protocol answer.

No sessions, no streams: GET and DELETE, which clients try for both, get a plain 405 at once. A GET
that hangs or says 200 makes clients wait or reconnect without end.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rememberd.http.bearer import Bearer
from rememberd.http.problems import refuse
from rememberd.mcp.era import Routing
from rememberd.mcp.server import Answer, McpServer

METHODS = "POST, OPTIONS"


class McpExchange:
    """ASGI application of one mount. Preflights never reach it (`Preflight` answers them)."""

    def __init__(self, server: McpServer, bearer: Bearer) -> None:
        self._server = server
        self._bearer = bearer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(Request(scope, receive))
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        principal = await self._bearer.principal(request.headers)
        if isinstance(principal, Response):
            return principal
        if request.method != "POST":
            text = "One POST is one call; there are no streams and no sessions to open or close."
            return refuse("method_not_allowed", text, {"Allow": METHODS})
        if not _is_json(request.headers.get("content-type", "")):
            text = "The Content-Type must be application/json."
            return refuse("unsupported_media_type", text)
        body = await request.body()
        routing = Routing.read(request.headers.items())
        return _response(await self._server.answer(body, principal, routing))


def _response(answer: Answer) -> Response:
    headers = {"WWW-Authenticate": answer.challenge} if answer.challenge else None
    if answer.body is None:
        return Response(status_code=answer.status, headers=headers)
    return Response(answer.body, answer.status, headers, "application/json")


def _is_json(content_type: str) -> bool:
    """Parameters are not looked at: JSON is UTF-8 whatever a charset says (RFC 8259 §11)."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )
