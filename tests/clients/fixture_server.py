"""The real edge and protocol over a catalog made for the official conformance suite.

Tests only. Everything that a suite expects by name is here (tools, resources, prompts, completion,
results that ask for input); envelope, eras, headers and statuses are the product's own code.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_types import INVALID_PARAMS, Implementation
from starlette.applications import Starlette

from rememberd.clock import SystemClock
from rememberd.errors import RememberdError
from rememberd.http.bearer import Bearer
from rememberd.http.exchange import McpExchange
from rememberd.http.health import Health
from rememberd.http.routes import Edge, build, resource_metadata
from rememberd.mcp.calls import call_tool
from rememberd.mcp.catalog import Catalog
from rememberd.mcp.envelope import JsonObject, RpcError
from rememberd.mcp.results import contents
from rememberd.mcp.server import Call, McpServer, Method
from rememberd.model import READ, SCOPES, Principal
from rememberd.tools.base import AnyTool, Arguments, NoArguments, Output, Resource, Tool
from tests.clients.fixture_tools import (
    RAW,
    RED_PIXEL,
    answers,
    elicit,
    embedded,
    image,
    required,
    text,
)

TOKEN = "fixture-token"
PRINCIPAL = Principal(vault_id="vlt_fixture", scopes=frozenset(SCOPES), client="key_fixture")


# --- the catalog -------------------------------------------------------------------------------


class Broken(RememberdError):
    """This tool intentionally returns an error for testing"""


async def _never(_engine: Any, _principal: Principal, _arguments: Arguments) -> Output:
    raise AssertionError("answered by the fixture's own tools/call")


async def _broken(_engine: Any, _principal: Principal, _arguments: Arguments) -> Output:
    raise Broken


def fixture_tool(name: str, run: Any = _never) -> AnyTool:
    return Tool(
        name=name,
        title=name.replace("_", " "),
        description=f"Fixture {name} of the conformance suite.",
        scope=READ,
        input=NoArguments,
        output=Output,
        read_only=True,
        destructive=False,
        idempotent=True,
        run=run,
    )


async def _static_text(_engine: Any, _principal: Principal) -> str:
    return "This is the content of the static text resource."


async def _static_binary(_engine: Any, _principal: Principal) -> bytes:
    return RED_PIXEL


def fixture_resource(uri: str, mime_type: str, read: Any) -> Resource:
    name = uri.removeprefix("test://")
    return Resource(
        uri=uri,
        name=name,
        title=name,
        description=f"Fixture {uri} of the conformance suite.",
        mime_type=mime_type,
        scope=READ,
        read=read,
    )


class FixtureCatalog(Catalog):
    """Also lists what the product has none of: a resource template and prompts."""

    def __init__(self) -> None:
        tools = [*map(fixture_tool, RAW), fixture_tool("test_error_handling", _broken)]
        resources = [
            fixture_resource("test://static-text", "text/plain", _static_text),
            fixture_resource("test://static-binary", "image/png", _static_binary),
        ]
        super().__init__(tools, resources, prompts=True)
        self.capabilities["completions"] = {}
        template = {
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "description": "Data by id.",
            "mimeType": "application/json",
        }
        self.lists["resources/templates/list"]["resourceTemplates"] = [template]
        self.lists["prompts/list"]["prompts"] = [
            {"name": name, "description": f"Fixture {name}.", "arguments": arguments}
            for name, arguments in PROMPTS.items()
        ]


def _argument(name: str) -> JsonObject:
    return {"name": name, "description": name, "required": True}


PROMPTS: dict[str, list[JsonObject]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [_argument("arg1"), _argument("arg2")],
    "test_prompt_with_embedded_resource": [_argument("resourceUri")],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


# --- methods that the product does not have, or has simpler ------------------------------------


def _says(*blocks: JsonObject) -> JsonObject:
    return {"messages": [{"role": "user", "content": block} for block in blocks]}


async def get_prompt(call: Call) -> JsonObject:
    params = call.message.params
    given: JsonObject = params.get("arguments") or {}
    match params.get("name"):
        case "test_simple_prompt":
            return _says(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            said = f"arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
            return _says(text(f"Prompt with arguments: {said}"))
        case "test_prompt_with_embedded_resource":
            uri = str(given.get("resourceUri"))
            said = "Embedded resource content for testing."
            after = text("Please process the embedded resource above.")
            return _says(embedded(uri, "text/plain", said), after)
        case "test_prompt_with_image":
            return _says(image(), text("Please analyze the image above."))
        case "test_input_required_result_prompt":
            if "user_context" not in answers(params):
                question = elicit("What context should the prompt use?", "context")
                return required({"user_context": question})
            return _says(text("With that context."))
        case _:
            raise RpcError(INVALID_PARAMS, "Unknown prompt.")


async def complete(_: Call) -> JsonObject:
    return {"completion": {"values": [], "total": 0, "hasMore": False}}


def methods(catalog: Catalog, metadata: str) -> dict[str, Method]:
    async def call(call: Call) -> JsonObject:
        params = call.message.params
        raw = RAW.get(str(params.get("name")))
        if raw is not None:
            return raw(params)
        return await call_tool(catalog, None, call.principal, params, metadata)

    return {"tools/call": call, "prompts/get": get_prompt, "completion/complete": complete}


class FixtureServer(McpServer):
    """Reads a templated resource too."""

    def __init__(self, catalog: Catalog, metadata: str) -> None:
        super().__init__(
            catalog,
            engine=None,
            info=Implementation(name="rememberd-fixture", version="1"),
            instructions="Fixtures for the conformance suite.",
            resource_metadata=metadata,
            extra=methods(catalog, metadata),
        )

    async def _read_resource(self, call: Call) -> JsonObject:
        uri = str(call.message.params.get("uri"))
        match = re.fullmatch(r"test://template/([^/]+)/data", uri)
        if match is None:
            return await super()._read_resource(call)
        data = {"id": match[1], "templateTest": True, "data": f"Data for ID: {match[1]}"}
        entry = contents(uri, "application/json", json.dumps(data))
        return {"contents": [entry], "ttlMs": 0, "cacheScope": "private"}


async def verify(token: str) -> Principal | None:
    return PRINCIPAL if token == TOKEN else None


def fixture_app(public_url: str) -> Starlette:
    metadata = resource_metadata(public_url, "/mcp")
    server = FixtureServer(FixtureCatalog(), metadata)
    return build(
        Edge(public_url=public_url, max_body_bytes=1_048_576),
        mcp={"/mcp": McpExchange(server, Bearer(verify, metadata))},
        health=Health(SystemClock(), {}),
    )
