"""The official SDK's low-level server over the small catalog: what our edge is compared with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

from rememberd.mcp.calls import call_tool
from rememberd.mcp.envelope import RpcError
from tests.mcp.small_world import ALICE, METADATA, Notes, catalog

PUBLIC = CacheHint(ttl_ms=3_600_000, scope="public")


def oracle_app(_: str) -> Starlette:
    """Stateless and in JSON, like ours; the same hosts and origins allowed, no sign-in."""
    security = TransportSecuritySettings(
        allowed_hosts=["127.0.0.1:*", "localhost:*"],
        allowed_origins=["https://claude.ai", "http://127.0.0.1:*"],
    )
    manager = StreamableHTTPSessionManager(
        _server(), json_response=True, stateless=True, security_settings=security
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Route("/mcp", StreamableHTTPASGIApp(manager))], lifespan=lifespan)


def _server() -> Server[Any]:
    offered = catalog()
    notes = Notes(["hello"])

    def listed(method: str, kind: Any) -> Any:
        async def handler(_: Any, params: Any) -> Any:
            if params is not None and params.cursor is not None:
                raise MCPError(types.INVALID_PARAMS, "Unknown cursor")
            answer = {k: v for k, v in offered.lists[method].items() if k not in offered.hints}
            return kind.model_validate(answer)

        return handler

    async def call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = {"name": params.name, "arguments": params.arguments}
        try:
            result = await call_tool(offered, notes, ALICE, given, METADATA)
        except RpcError as error:
            raise MCPError(error.number, error.message) from None
        return types.CallToolResult.model_validate(result)

    async def read(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if params.uri != "notes://newest":
            raise MCPError(types.INVALID_PARAMS, "Unknown resource", {"uri": params.uri})
        text = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text="hello")
        return types.ReadResourceResult(contents=[text], ttl_ms=0, cache_scope="private")

    async def prompt(_: Any, __: types.GetPromptRequestParams) -> types.GetPromptResult:
        raise MCPError(types.INVALID_PARAMS, "Unknown prompt")

    return Server(
        "small",
        version="1",
        instructions="Search before you keep.",
        cache_hints={
            "server/discover": PUBLIC,
            "tools/list": PUBLIC,
            "resources/list": PUBLIC,
            "resources/templates/list": PUBLIC,
            "prompts/list": PUBLIC,
        },
        on_list_tools=listed("tools/list", types.ListToolsResult),
        on_call_tool=call,
        on_list_resources=listed("resources/list", types.ListResourcesResult),
        on_list_resource_templates=listed(
            "resources/templates/list", types.ListResourceTemplatesResult
        ),
        on_read_resource=read,
        on_list_prompts=listed("prompts/list", types.ListPromptsResult),
        on_get_prompt=prompt,
    )
