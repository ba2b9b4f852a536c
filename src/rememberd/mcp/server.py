"""The protocol: one message in, one answer out, for any transport; nothing is kept between calls.

It must never know what a tool does, nor let an unexpected error say more than "internal error".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Implementation,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rememberd.errors import RememberdError, ScopeMissing
from rememberd.mcp import envelope
from rememberd.mcp.calls import call_tool, check_scope
from rememberd.mcp.catalog import Catalog
from rememberd.mcp.challenge import step_up
from rememberd.mcp.envelope import JsonObject, Message, RpcError
from rememberd.mcp.era import Era, Routing, check_modern, era_of, negotiate
from rememberd.mcp.results import contents, dump, finish
from rememberd.model import Principal

logger = logging.getLogger(__name__)

SCOPE_CODE = 403  # ours: outside the range that JSON-RPC and MCP keep for themselves


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: HTTP status, JSON body (None for a notification), perhaps a challenge."""

    status: int
    body: bytes | None = None
    challenge: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request, after its envelope was checked."""

    message: Message
    principal: Principal
    era: Era


Method = Callable[[Call], Awaitable[JsonObject]]


class McpServer:
    """One mount. `engine` is handed to tools and resources untouched."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        engine: Any,
        info: Implementation,
        instructions: str,
        resource_metadata: str,
        extra: Mapping[str, Method] | None = None,
    ) -> None:
        self.catalog = catalog
        self._engine = engine
        self._info = dump(info)
        self._instructions = instructions
        self._resource_metadata = resource_metadata
        shared = self._shared_methods() | dict(extra or {})
        self._methods: dict[Era, dict[str, Method]] = {
            Era.MODERN: {**shared, "server/discover": self._discover},
            Era.LEGACY: {**shared, "initialize": self._initialize, "ping": self._ping},
        }

    async def answer(
        self, raw: bytes, principal: Principal, routing: Routing | None = None
    ) -> Answer:
        """Answer one body. `routing` holds the headers; None on transports that have none."""
        try:
            message = envelope.parse(raw)
        except RpcError as refusal:
            return Answer(400, envelope.error(refusal.request_id, refusal))
        era = era_of(message, routing)
        try:
            if era is Era.MODERN:
                check_modern(message, routing)
            if message.id is None:
                return Answer(202)  # no notification changes anything here
            result = await self._dispatch(Call(message, principal, era))
        except RpcError as refusal:
            return Answer(_status(refusal, era), envelope.error(message.id, refusal))
        except ScopeMissing as refusal:
            return self._forbidden(message, refusal)
        return Answer(200, envelope.result(message.id, finish(result, era, self._info)))

    async def _dispatch(self, call: Call) -> JsonObject:
        method = self._methods[call.era].get(call.message.method)
        if method is None:
            raise _unknown_method(call)
        try:
            return await method(call)
        except (RpcError, ScopeMissing):
            raise
        except RememberdError as error:  # written for people, so it may be told
            raise RpcError(INTERNAL_ERROR, error.message) from None
        except Exception as error:  # an edge: the caller gets an answer, the log gets the type
            logger.error("request failed", exc_info=error, extra={"data": _described(call)})
            raise RpcError(INTERNAL_ERROR, "Internal error; the server's log has more.") from None

    def _forbidden(self, message: Message, refusal: ScopeMissing) -> Answer:
        """HTTP 403 makes clients step up; stdio, which has no status, still gets the reason."""
        error = RpcError(SCOPE_CODE, refusal.message, data={"error": refusal.code})
        challenge = step_up(self._resource_metadata, refusal.needed, refusal.granted)
        return Answer(403, envelope.error(message.id, error), challenge)

    # --- methods -----------------------------------------------------------------------------

    def _shared_methods(self) -> dict[str, Method]:
        methods: dict[str, Method] = {"tools/list": self._list, "tools/call": self._call_tool}
        if "resources" in self.catalog.capabilities:
            methods["resources/list"] = methods["resources/templates/list"] = self._list
            methods["resources/read"] = self._read_resource
        if "prompts" in self.catalog.capabilities:
            methods["prompts/list"] = self._list
            methods["prompts/get"] = self._get_prompt
        return methods

    async def _list(self, call: Call) -> JsonObject:
        if call.message.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Unknown cursor: every list here is one page.")
        return self.catalog.lists[call.message.method]

    async def _call_tool(self, call: Call) -> JsonObject:
        return await call_tool(
            self.catalog,
            self._engine,
            call.principal,
            call.message.params,
            self._resource_metadata,
        )

    async def _read_resource(self, call: Call) -> JsonObject:
        uri = call.message.params.get("uri")
        resource = self.catalog.resources.get(uri) if isinstance(uri, str) else None
        if resource is None:
            known = ", ".join(self.catalog.resources)
            named = {"uri": uri} if isinstance(uri, str) else None
            raise RpcError(INVALID_PARAMS, f"Unknown resource. Here are {known}.", data=named)
        check_scope(resource.scope, call.principal)
        body = await resource.read(self._engine, call.principal)
        entry = contents(resource.uri, resource.mime_type, body)
        return {"contents": [entry], "ttlMs": 0, "cacheScope": "private"}

    async def _get_prompt(self, call: Call) -> JsonObject:
        raise RpcError(INVALID_PARAMS, "Unknown prompt: there are none here.")

    async def _discover(self, call: Call) -> JsonObject:
        return {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": self.catalog.capabilities,
            "instructions": self._instructions,
            **self.catalog.hints,
        }

    async def _initialize(self, call: Call) -> JsonObject:
        return {
            "protocolVersion": negotiate(call.message.params.get("protocolVersion")),
            "capabilities": self.catalog.capabilities,
            "serverInfo": self._info,
            "instructions": self._instructions,
        }

    async def _ping(self, call: Call) -> JsonObject:
        return {}


def _unknown_method(call: Call) -> RpcError:
    if call.era is Era.LEGACY:
        return RpcError(METHOD_NOT_FOUND, "Method not found.")
    supported = list(MODERN_PROTOCOL_VERSIONS)
    return RpcError(
        METHOD_NOT_FOUND,
        f"Method not found in revision {supported[0]}; server/discover lists what there is.",
        data={"supported": supported},
    )


def _status(refusal: RpcError, era: Era) -> int:
    """Legacy errors travel in HTTP 200; modern ones have the status of the transport's table.

    It has none for an internal error; 200 is where every client looks for the error inside.
    """
    if era is Era.LEGACY or refusal.number == INTERNAL_ERROR:
        return 200
    return 404 if refusal.number == METHOD_NOT_FOUND else 400


def _described(call: Call) -> JsonObject:
    """For the log: a method that exists, so it is not the caller's own text; never arguments."""
    return {"method": call.message.method, "era": call.era.value}
