"""Both eras on one URL: who is taken for what, and what each is told. Rules: MCP 2026-07-28."""

import json

import pytest

from rememberd.mcp.era import Routing, negotiate
from rememberd.mcp.server import McpServer
from tests.mcp.small_world import ALICE, Notes, small_server
from tests.mcp.talk import (
    CAPABILITIES_KEY,
    LEGACY,
    META,
    MODERN,
    VERSION_KEY,
    Json,
    Said,
    ask,
    ask_modern,
    modern,
    request,
    routing_headers,
    said,
)

INVALID_PARAMS, NOT_FOUND = -32602, -32601
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022


@pytest.fixture
def server() -> McpServer:
    return small_server(Notes(["first"]))


async def post(server: McpServer, body: Json, *headers: tuple[str, str]) -> Said:
    return said(await server.answer(json.dumps(body).encode(), ALICE, Routing.read(headers)))


# --- who is modern -----------------------------------------------------------------------------


async def test_a_modern_request_gets_a_modern_result(server: McpServer) -> None:
    answer = await ask_modern(server, modern("tools/list"))
    assert answer.status == 200
    assert answer.result["resultType"] == "complete"
    assert answer.result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "small"


@pytest.mark.parametrize("version", [None, *LEGACY])
async def test_a_legacy_request_gets_nothing_modern(server: McpServer, version: str | None) -> None:
    headers = [("MCP-Protocol-Version", version)] if version else []
    answer = await post(server, request("tools/list"), *headers)
    assert answer.status == 200
    assert answer.result.keys() == {"tools"}


@pytest.mark.parametrize("version", LEGACY)
async def test_modern_meta_under_a_legacy_header_is_a_mismatch(
    server: McpServer, version: str
) -> None:
    answer = await post(server, modern("tools/list"), ("MCP-Protocol-Version", version))
    assert (answer.status, answer.code) == (400, HEADER_MISMATCH)


async def test_modern_meta_without_headers_is_a_mismatch(server: McpServer) -> None:
    answer = await post(server, modern("tools/list"))
    assert (answer.status, answer.code) == (400, HEADER_MISMATCH)


@pytest.mark.parametrize(
    "headers",
    [
        [("MCP-Protocol-Version", MODERN)],
        [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list")],
        [("MCP-Protocol-Version", "2027-01-01")],
        [("MCP-Protocol-Version", "")],
        [("Mcp-Method", "tools/list")],
    ],
)
async def test_modern_headers_ask_for_modern_meta(
    server: McpServer, headers: list[tuple[str, str]]
) -> None:
    answer = await post(server, request("tools/list"), *headers)
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)
    assert VERSION_KEY in answer.error["message"]


async def test_a_legacy_version_header_wins_over_a_stray_method_header(server: McpServer) -> None:
    headers = [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "something/else")]
    answer = await post(server, request("tools/list"), *headers)
    assert answer.status == 200


async def test_a_handshake_may_mirror_its_method(server: McpServer) -> None:
    answer = await post(server, initialize("2025-11-25"), ("Mcp-Method", "initialize"))
    assert answer.result["protocolVersion"] == "2025-11-25"


async def test_without_headers_the_body_decides(server: McpServer) -> None:
    answer = said(await server.answer(json.dumps(modern("tools/list")).encode(), ALICE))
    assert answer.result["resultType"] == "complete"
    answer = said(await server.answer(json.dumps(request("tools/list")).encode(), ALICE))
    assert "resultType" not in answer.result


# --- the ladder of a modern request ------------------------------------------------------------


@pytest.mark.parametrize(
    "meta, missing",
    [
        ({}, VERSION_KEY),
        ({VERSION_KEY: MODERN}, CAPABILITIES_KEY),
        ({CAPABILITIES_KEY: {}}, VERSION_KEY),
        ({VERSION_KEY: MODERN, CAPABILITIES_KEY: []}, CAPABILITIES_KEY),
        ({VERSION_KEY: MODERN, CAPABILITIES_KEY: None}, CAPABILITIES_KEY),
    ],
)
async def test_missing_meta_is_named(server: McpServer, meta: Json, missing: str) -> None:
    body = request("tools/list", {"_meta": meta})
    answer = await post(server, body, *routing_headers(body))
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)
    assert missing in answer.error["message"]


@pytest.mark.parametrize("meta", [None, [], "x"])
async def test_meta_that_is_no_object_is_missing(server: McpServer, meta: object) -> None:
    body = request("tools/list", {"_meta": meta})
    answer = await post(server, body, *routing_headers(body))
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)


async def test_client_info_may_be_left_out_and_anything_may_be_added(server: McpServer) -> None:
    body = modern("tools/list", {"future": True})
    body["params"]["_meta"] = {**META, "progressToken": 3, "traceparent": "00-0-0-00"}
    assert (await ask_modern(server, body)).status == 200


CALL = modern("tools/call", {"name": "count", "arguments": {}})
READ_NEWEST = modern("resources/read", {"uri": "notes://newest"})


def headers_of(body: Json, **changed: str | None) -> list[tuple[str, str]]:
    """A modern client's headers; None leaves one out. Names as `mcp_name`."""
    headers = {name.lower(): value for name, value in routing_headers(body)}
    for name, value in changed.items():
        key = name.replace("_", "-")
        headers.pop(key, None)
        if value is not None:
            headers[key] = value
    return list(headers.items())


@pytest.mark.parametrize(
    "headers",
    [
        headers_of(CALL, mcp_method=None),
        headers_of(CALL, mcp_method="tools/list"),
        headers_of(CALL, mcp_method="Tools/Call"),
        headers_of(CALL, mcp_name=None),
        headers_of(CALL, mcp_name="find"),
        headers_of(CALL, mcp_name="Count"),
        headers_of(CALL, mcp_name="=?base64?!!!?="),
        headers_of(CALL, mcp_name="=?base64?Y291bnR=?="),
        headers_of(CALL, mcp_name="=?base64?/w==?="),
        headers_of(CALL, mcp_name="\xe9"),
        headers_of(CALL, mcp_protocol_version=None),
        headers_of(CALL, mcp_protocol_version="2025-11-25"),
        [*headers_of(CALL), ("Mcp-Name", "count")],
        [*headers_of(CALL), ("mcp-method", "tools/call")],
        [*headers_of(CALL), ("MCP-PROTOCOL-VERSION", MODERN)],
    ],
    ids=str,
)
async def test_headers_must_mirror_the_body(
    server: McpServer, headers: list[tuple[str, str]]
) -> None:
    answer = await post(server, CALL, *headers)
    assert (answer.status, answer.code) == (400, HEADER_MISMATCH)


@pytest.mark.parametrize(
    "headers",
    [
        headers_of(CALL),
        headers_of(CALL, mcp_name="=?base64?Y291bnQ=?="),
        headers_of(CALL, mcp_name="  count\t"),
        [(name.upper(), value) for name, value in headers_of(CALL)],
        [*headers_of(CALL), ("Mcp-Session-Id", "x"), ("Last-Event-ID", "7")],
    ],
    ids=str,
)
async def test_headers_that_mirror_the_body_pass(
    server: McpServer, headers: list[tuple[str, str]]
) -> None:
    assert (await post(server, CALL, *headers)).status == 200


async def test_a_resource_is_mirrored_by_its_uri(server: McpServer) -> None:
    assert (await post(server, READ_NEWEST, *headers_of(READ_NEWEST))).status == 200
    answer = await post(server, READ_NEWEST, *headers_of(READ_NEWEST, mcp_name="newest"))
    assert (answer.status, answer.code) == (400, HEADER_MISMATCH)


async def test_a_name_outside_ascii_is_decoded_before_it_is_compared(server: McpServer) -> None:
    body = modern("tools/call", {"name": "töol", "arguments": {}})
    answer = await ask_modern(server, body)
    assert (answer.status, answer.code) == (400, INVALID_PARAMS)  # past the headers: unknown tool


async def test_an_unknown_version_is_told_which_are_served(server: McpServer) -> None:
    body = request("tools/list", {"_meta": {**META, VERSION_KEY: "2030-01-01"}})
    answer = await post(server, body, *headers_of(body, mcp_protocol_version="2030-01-01"))
    assert (answer.status, answer.code) == (400, UNSUPPORTED_VERSION)
    assert answer.error["data"] == {"supported": [MODERN], "requested": "2030-01-01"}


async def test_a_version_that_is_no_string_is_invalid_on_transports_without_headers(
    server: McpServer,
) -> None:
    body = request("tools/list", {"_meta": {**META, VERSION_KEY: 20260728}})
    answer = said(await server.answer(json.dumps(body).encode(), ALICE))
    assert answer.code == INVALID_PARAMS


async def test_headers_are_checked_before_the_version(server: McpServer) -> None:
    body = request("tools/list", {"_meta": {**META, VERSION_KEY: "2030-01-01"}})
    answer = await post(server, body, *headers_of(body))
    assert answer.code == HEADER_MISMATCH


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "completion/complete",
        "tasks/get",
        "no/such",
    ],
)
async def test_a_method_that_the_revision_lacks_is_404_and_names_the_revision(
    server: McpServer, method: str
) -> None:
    answer = await ask_modern(server, modern(method))
    assert (answer.status, answer.code) == (404, NOT_FOUND)
    assert answer.error["data"] == {"supported": [MODERN]}


async def test_discovery_says_what_is_offered(server: McpServer) -> None:
    result = (await ask_modern(server, modern("server/discover"))).result
    assert result["supportedVersions"] == [MODERN]
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "prompts": {"listChanged": False},
    }
    assert result["instructions"] == "Search before you keep."
    assert result["cacheScope"] == "public"
    assert result["ttlMs"] > 0
    assert "serverInfo" not in result


# --- the handshake -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY)
async def test_initialize_echoes_a_version_that_it_knows(server: McpServer, version: str) -> None:
    result = (await ask(server, initialize(version))).result
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "small", "version": "1"}
    assert result["instructions"] == "Search before you keep."
    assert "resultType" not in result


@pytest.mark.parametrize("version", [MODERN, "1999-01-01", "", None, 5, ["2025-06-18"]])
async def test_initialize_never_claims_a_modern_version(server: McpServer, version: object) -> None:
    assert (await ask(server, initialize(version))).result["protocolVersion"] == "2025-11-25"
    assert negotiate(version) == "2025-11-25"


def initialize(version: object) -> Json:
    client = {"name": "c", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return request("initialize", params)


async def test_ping_is_answered_with_nothing(server: McpServer) -> None:
    assert (await ask(server, request("ping"))).result == {}


@pytest.mark.parametrize(
    "method",
    [
        "server/discover",
        "logging/setLevel",
        "resources/subscribe",
        "completion/complete",
        "no/such",
        "",
        "\ud800",
    ],
)
async def test_legacy_errors_travel_in_http_200(server: McpServer, method: str) -> None:
    answer = await ask(server, request(method))
    assert (answer.status, answer.code) == (200, NOT_FOUND)


# --- notifications -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, headers",
    [
        ({"method": "notifications/initialized"}, []),
        ({"method": "notifications/cancelled", "params": {"requestId": 1}}, []),
        ({"method": "notifications/initialized"}, [("MCP-Protocol-Version", "2025-06-18")]),
        ({"method": "notifications/cancelled"}, [("MCP-Protocol-Version", MODERN)]),
        ({"method": "notifications/x", "params": {"_meta": META}}, []),
    ],
)
async def test_notifications_are_accepted_and_dropped(
    server: McpServer, body: Json, headers: list[tuple[str, str]]
) -> None:
    answer = await post(server, {"jsonrpc": "2.0", **body}, *headers)
    assert (answer.status, answer.body) == (202, None)


async def test_a_call_sent_as_a_notification_does_nothing() -> None:
    notes = Notes()
    body = {**CALL, "params": {"name": "count", "arguments": {}}}
    del body["id"]
    answer = await post(small_server(notes), body)
    assert answer.status == 202
    assert notes.calls == 0


async def test_a_notification_of_an_unknown_version_is_refused(server: McpServer) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/x"}
    answer = await post(server, body, ("MCP-Protocol-Version", "2030-01-01"))
    assert (answer.status, answer.code) == (400, UNSUPPORTED_VERSION)
    assert answer.body["id"] is None
