"""Every answer against the official schemas of its revision, as the SDK's types have them."""

from typing import Any

import pytest
from mcp_types.methods import SERVER_RESULTS, validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from rememberd.mcp.server import McpServer
from rememberd.model import Principal
from tests.mcp.small_world import ALICE, BOB, Notes, small_server
from tests.mcp.talk import MODERN, Json, Said, ask, ask_modern, modern, request

REQUESTS: list[tuple[str, Json, Principal]] = [
    ("tools/list", {}, ALICE),
    ("resources/list", {}, ALICE),
    ("resources/templates/list", {}, ALICE),
    ("prompts/list", {}, ALICE),
    ("resources/read", {"uri": "notes://newest"}, ALICE),
    ("tools/call", {"name": "count"}, ALICE),
    ("tools/call", {"name": "find", "arguments": {"query": "o"}}, ALICE),
    ("tools/call", {"name": "fail", "arguments": {"how": "quota"}}, ALICE),
    ("tools/call", {"name": "wipe"}, ALICE),
    ("tools/call", {"name": "wipe"}, BOB),
]


@pytest.fixture
def server() -> McpServer:
    return small_server(Notes(["one", "two"]))


def check(answer: Said, method: str, version: str) -> None:
    """Valid, and nothing in it that the revision does not know."""
    validate_server_result(method, version, answer.result)
    surface: Any = SERVER_RESULTS[(method, version)]
    extra = answer.result.keys() - _known(surface)
    assert not extra


def _known(surface: Any) -> set[str]:
    models = getattr(surface, "__args__", (surface,))
    names = {name for model in models for name in model.model_fields}
    aliases = {field.alias for model in models for field in model.model_fields.values()}
    return names | {alias for alias in aliases if alias}


@pytest.mark.parametrize("method, params, who", REQUESTS)
async def test_modern_answers_are_valid(
    server: McpServer, method: str, params: Json, who: Principal
) -> None:
    answer = await ask_modern(server, modern(method, params), who)
    check(answer, method, MODERN)
    assert answer.result["resultType"] == "complete"


async def test_discovery_is_valid(server: McpServer) -> None:
    check(await ask_modern(server, modern("server/discover")), "server/discover", MODERN)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("method, params, who", REQUESTS)
async def test_legacy_answers_are_valid_in_every_revision(
    server: McpServer, method: str, params: Json, who: Principal, version: str
) -> None:
    check(await ask(server, request(method, params), who), method, version)


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_the_handshake_is_valid_in_every_revision(server: McpServer, version: str) -> None:
    client = {"name": "c", "version": "1"}
    params: Json = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    check(await ask(server, request("initialize", params)), "initialize", version)
    check(await ask(server, request("ping")), "ping", version)
