"""What real clients tripped over elsewhere, by the public report it is known from.

Numbers are of `modelcontextprotocol/python-sdk` unless another repository is named.
"""

import http.client
import json
import socket

import pytest

from tests.http.serving import Served
from tests.http.world import JSON_TYPE, PING, World, bearer, post
from tests.mcp.talk import LEGACY, MODERN, modern, request, routing_headers


@pytest.mark.threat(number=23)
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
def test_there_is_no_stream_to_wait_for(served: Served, method: str) -> None:
    """#3492, malloyyo #134, n8n #34835: a GET that hangs or says 200 makes clients wait or spin."""
    reply = served.send(method, "/mcp", headers=[bearer(), ("Accept", "text/event-stream")])
    assert reply.status == 405
    assert reply.headers["allow"] == "POST, OPTIONS"
    assert served.send(method, "/mcp").status == 401


def test_urls_have_no_slash_that_was_not_given(served: Served) -> None:
    """#1919, #2883: an added slash makes clients sign in for ever."""
    header = post(served, PING, token=None).headers["www-authenticate"]
    assert f'resource_metadata="{served.url}/.well-known/oauth-protected-resource/mcp"' in header


def test_the_challenge_always_names_the_metadata(served: Served) -> None:
    """#1400, anthropics/claude-code #61376: without it, sign-in never starts."""
    for method in ("GET", "POST", "DELETE"):
        reply = served.send(method, "/mcp", headers=[bearer("unknown")])
        assert "resource_metadata=" in reply.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_both_spellings_are_served_without_a_redirect(served: Served, path: str) -> None:
    """#1467, #1716, initiative #1774: a 307 loses the body of a POST."""
    assert post(served, PING, path=path).json["result"] == {}


def test_clients_that_hang_up_leave_a_working_server(served: Served) -> None:
    """#2145: each disconnect leaked a session."""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer alice\r\n"
        "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
    ).encode()
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(head)
    assert post(served, PING).status == 200


@pytest.mark.parametrize("version", [None, *LEGACY])
def test_old_clients_are_not_asked_for_new_headers(served: Served, version: str | None) -> None:
    """wommy/turso #44, laravel/mcp #341."""
    headers = [("MCP-Protocol-Version", version)] if version else []
    client = {"name": "c", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    assert post(served, request("initialize", params), *headers).status == 200
    assert post(served, request("tools/list"), *headers).status == 200


def test_an_unknown_method_is_not_a_refused_credential(served: Served) -> None:
    """agentscope-ai/QwenPaw #7620: a 401 there keeps clients from falling back to the handshake."""
    body = modern("no/such")
    reply = post(served, body, *routing_headers(body))
    assert (reply.status, reply.json["error"]["code"]) == (404, -32601)


def test_a_modern_probe_is_never_answered_without_a_body(served: Served) -> None:
    """A client falls back only on a 4xx that is no modern error, so each error says what it is."""
    body = modern("server/discover")
    for headers in ([], [("MCP-Protocol-Version", "2025-11-25")], routing_headers(body)[:1]):
        reply = post(served, body, *headers)
        assert (reply.status, reply.json["error"]["code"]) == (400, -32020)


def test_session_headers_are_ignored_and_none_is_made(served: Served) -> None:
    reply = post(served, PING, ("Mcp-Session-Id", "gone"), ("Last-Event-ID", "9"))
    assert reply.status == 200
    assert "mcp-session-id" not in reply.headers


def test_many_calls_share_one_connection(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    raw = json.dumps(PING).encode()
    for _ in range(20):
        connection.request("POST", "/mcp", raw, dict([JSON_TYPE, bearer()]))
        assert json.loads(connection.getresponse().read())["result"] == {}
    connection.close()


def test_a_routing_header_that_comes_twice_is_seen(served: Served, world: World) -> None:
    body = modern("tools/call", {"name": "count", "arguments": {}})
    before = world.notes.calls
    reply = post(served, body, *routing_headers(body), ("Mcp-Name", "wipe"))
    assert (reply.status, reply.json["error"]["code"]) == (400, -32020)
    assert world.notes.calls == before


def test_spaces_around_a_header_value_are_not_part_of_it(served: Served) -> None:
    body = modern("tools/call", {"name": "count", "arguments": {}})
    headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call")]
    assert post(served, body, *headers, ("Mcp-Name", "  count  ")).status == 200
