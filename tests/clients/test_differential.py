"""Our edge against the official SDK's low-level server, request by request.

The same bytes go to both; status, error code and result must be the same, or the difference stands
in `DIFFERENCES` with both answers and its reason. A difference that is none fails as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.oracle import oracle_app
from tests.http.serving import Headers, Reply, Served, serving
from tests.http.world import World
from tests.mcp.talk import META, MODERN, VERSION_KEY, modern, request, routing_headers

Body = dict[str, Any] | list[Any] | bytes | None
Case = tuple[str, Body, Headers]

MODERN_HEADER = ("MCP-Protocol-Version", MODERN)
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}


def post(body: Body, *headers: tuple[str, str]) -> Case:
    return ("POST", body, headers)


def fitting(body: dict[str, Any]) -> Case:
    """With the headers that a modern client sends."""
    return post(body, *routing_headers(body))


def unlike(body: dict[str, Any], **changed: str | None) -> Case:
    headers = {name.lower(): value for name, value in routing_headers(body)}
    for name, value in changed.items():
        headers.pop(name.replace("_", "-"), None)
        if value is not None:
            headers[name.replace("_", "-")] = value
    return post(body, *headers.items())


COUNT = modern("tools/call", {"name": "count", "arguments": {}})
FIND = {"name": "find", "arguments": {"query": "hello"}}
EMPTY = {"name": "find", "arguments": {"query": ""}}
NEWEST = {"uri": "notes://newest"}
FUTURE = request("tools/list", {"_meta": {**META, VERSION_KEY: "2030-01-01"}})

CASES: dict[str, Case] = {
    # modern, as it should be
    "modern discover": fitting(modern("server/discover")),
    "modern tools/list": fitting(modern("tools/list")),
    "modern tools/call": fitting(COUNT),
    "modern tools/call with arguments": fitting(modern("tools/call", FIND)),
    "modern isError": fitting(modern("tools/call", {"name": "wipe", "arguments": {}})),
    "modern resources/list": fitting(modern("resources/list")),
    "modern templates": fitting(modern("resources/templates/list")),
    "modern resources/read": fitting(modern("resources/read", NEWEST)),
    "modern prompts/list": fitting(modern("prompts/list")),
    "modern string id": fitting(modern("tools/list", request_id="a")),
    "modern base64 name": unlike(COUNT, mcp_name="=?base64?Y291bnQ=?="),
    "modern notification": post(
        {"jsonrpc": "2.0", "method": "notifications/cancelled"}, MODERN_HEADER
    ),
    # modern, refused
    "modern bad arguments": fitting(modern("tools/call", EMPTY)),
    "modern unknown tool": fitting(modern("tools/call", {"name": "nope", "arguments": {}})),
    "modern unknown resource": fitting(modern("resources/read", {"uri": "notes://no"})),
    "modern unknown prompt": fitting(modern("prompts/get", {"name": "no"})),
    "modern cursor": fitting(modern("tools/list", {"cursor": "x"})),
    "modern empty cursor": fitting(modern("tools/list", {"cursor": ""})),
    "modern cursor of another type": fitting(modern("tools/list", {"cursor": 7})),
    "modern unknown method": fitting(modern("no/such")),
    "modern initialize": fitting(modern("initialize", INITIALIZE)),
    "modern ping": fitting(modern("ping")),
    "modern logging/setLevel": fitting(modern("logging/setLevel", {"level": "info"})),
    "modern resources/subscribe": fitting(modern("resources/subscribe", NEWEST)),
    "modern completion": fitting(
        modern(
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
        )
    ),
    "modern without meta": post(request("tools/list"), MODERN_HEADER, ("Mcp-Method", "tools/list")),
    "modern without capabilities": post(
        request("tools/list", {"_meta": {VERSION_KEY: MODERN}}),
        MODERN_HEADER,
        ("Mcp-Method", "tools/list"),
    ),
    "modern header on a bare initialize": post(request("initialize", INITIALIZE), MODERN_HEADER),
    "modern future version": post(
        FUTURE, ("MCP-Protocol-Version", "2030-01-01"), ("Mcp-Method", "tools/list")
    ),
    "modern wrong version header": unlike(FUTURE, mcp_protocol_version=MODERN),
    "modern without method header": unlike(COUNT, mcp_method=None),
    "modern wrong method header": unlike(COUNT, mcp_method="tools/list"),
    "modern method in another case": unlike(COUNT, mcp_method="Tools/Call"),
    "modern without name header": unlike(COUNT, mcp_name=None),
    "modern wrong name header": unlike(COUNT, mcp_name="find"),
    "modern malformed base64 name": unlike(COUNT, mcp_name="=?base64?!?="),
    "modern name header twice": post(COUNT, *routing_headers(COUNT), ("Mcp-Name", "count")),
    "modern name header with spaces": unlike(COUNT, mcp_name=" count "),
    "modern malformed JSON": post(b"{", MODERN_HEADER),
    "modern batch": post([modern("tools/list")], MODERN_HEADER, ("Mcp-Method", "tools/list")),
    "modern null id": fitting(modern("tools/list", request_id=None)),
    "modern fractional id": fitting(modern("tools/list", request_id=1.5)),
    "modern not JSON-RPC 2.0": post({**COUNT, "jsonrpc": "1.0"}, *routing_headers(COUNT)),
    "modern posted response": post({"jsonrpc": "2.0", "id": 1, "result": {}}, MODERN_HEADER),
    "modern notification of a future version": post(
        {"jsonrpc": "2.0", "method": "notifications/x"}, ("MCP-Protocol-Version", "2030-01-01")
    ),
    "modern GET": ("GET", None, [MODERN_HEADER, ("Accept", "text/event-stream")]),
    "modern DELETE": ("DELETE", None, [MODERN_HEADER]),
    # the two eras mixed
    "modern meta without headers": post(modern("tools/list")),
    "modern meta under a legacy header": post(
        modern("tools/list"), ("MCP-Protocol-Version", "2025-11-25")
    ),
    "only a method header": post(request("tools/list"), ("Mcp-Method", "tools/list")),
    # legacy, as it should be
    "initialize": post(request("initialize", INITIALIZE)),
    "initialize 2025-11-25": post(
        request("initialize", {**INITIALIZE, "protocolVersion": "2025-11-25"})
    ),
    "initialize asking for modern": post(
        request("initialize", {**INITIALIZE, "protocolVersion": MODERN})
    ),
    "initialize asking for 1999": post(
        request("initialize", {**INITIALIZE, "protocolVersion": "1999-01-01"})
    ),
    "legacy initialized": post({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    "legacy ping": post(request("ping")),
    "legacy tools/list": post(request("tools/list"), ("MCP-Protocol-Version", "2025-06-18")),
    "legacy tools/list without version": post(request("tools/list")),
    "legacy tools/call": post(request("tools/call", FIND)),
    "legacy isError": post(request("tools/call", {"name": "wipe", "arguments": {}})),
    "legacy resources/read": post(request("resources/read", NEWEST)),
    "legacy prompts/list": post(request("prompts/list")),
    # legacy, refused
    "legacy bad arguments": post(request("tools/call", EMPTY)),
    "legacy unknown tool": post(request("tools/call", {"name": "nope"})),
    "legacy cursor": post(request("tools/list", {"cursor": "x"})),
    "legacy unknown method": post(request("no/such")),
    "legacy discover": post(request("server/discover")),
    "legacy logging/setLevel": post(request("logging/setLevel", {"level": "info"})),
    "legacy malformed JSON": post(b"{"),
    "legacy not UTF-8": post(b"\xff"),
    "legacy nested deeply": post(b"[" * 50_000),
    "legacy twice the same name": post(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'),
    "legacy not JSON-RPC 2.0": post({**request("ping"), "jsonrpc": "1.0"}),
    "legacy batch": post([request("ping")]),
    "legacy null id": post(request("ping", request_id=None)),
    "legacy posted response": post({"jsonrpc": "2.0", "id": 1, "result": {}}),
    "legacy GET": ("GET", None, [("Accept", "text/event-stream")]),
    "legacy DELETE": ("DELETE", None, []),
    # around the protocol
    "foreign origin": post(request("ping"), ("Origin", "https://evil.example")),
    "allowed origin": post(request("ping"), ("Origin", "https://claude.ai")),
    "foreign host": post(request("ping"), ("Host", "evil.example")),
    "text/plain": post(request("ping"), ("Content-Type", "text/plain")),
    "accepts only JSON": post(request("ping"), ("Accept", "application/json")),
    "accepts only a stream": post(request("ping"), ("Accept", "text/event-stream")),
    "no Accept": post(request("ping"), ("Accept", "")),
    "preflight": (
        "OPTIONS",
        None,
        [("Origin", "https://claude.ai"), ("Access-Control-Request-Method", "POST")],
    ),
}

# Case: what the SDK answers, what we answer, and why.
DIFFERENCES: dict[str, tuple[Any, Any, str]] = {
    "modern meta without headers": (
        (200, "result"),
        (400, -32020),
        "The SDK tells the eras apart by header alone and serves this as legacy.",
    ),
    "modern meta under a legacy header": (
        (200, "result"),
        (400, -32020),
        "The same; a header that differs from the body MUST be refused.",
    ),
    "only a method header": (
        (200, "result"),
        (400, -32602),
        "Only modern clients send Mcp-Method, so what is missing is params._meta.",
    ),
    "modern name header with spaces": (
        (400, -32020),
        (200, "result"),
        "Spaces around a field value are not part of it (RFC 9110 §5.5).",
    ),
    "legacy twice the same name": (
        (200, "result"),
        (400, -32700),
        "Readers that take the first or the last of two values would disagree (RFC 8259 §4).",
    ),
    "legacy not JSON-RPC 2.0": (
        (400, -32602),
        (400, -32600),
        "JSON-RPC 2.0 §5.1 calls this an invalid request; so does the SDK on its modern path.",
    ),
    "legacy batch": ((400, -32602), (400, -32600), "The same."),
    "legacy null id": (
        202,
        (400, -32600),
        "A request that is taken for a notification leaves its sender waiting.",
    ),
    "legacy posted response": (
        202,
        (400, -32600),
        "Nothing was asked of the client, so there is nothing that this could answer.",
    ),
    "legacy GET": (
        "hangs",
        405,
        "There is no stream to open; clients wait for bytes that never come (python-sdk #3492).",
    ),
    "legacy DELETE": (
        (405, -32600),
        405,
        "The same status; the body is the one that all of our HTTP refusals have.",
    ),
    "text/plain": (400, 415, "RFC 9110 §15.5.16 has a status for it."),
    "accepts only a stream": (
        (406, -32600),
        (200, "result"),
        "What a client forgot to list is no reason to refuse what it asks for.",
    ),
    "no Accept": ((406, -32600), (200, "result"), "The same."),
    "preflight": (
        (405, -32600),
        204,
        "Browsers ask before they call (Fetch standard, CORS preflight).",
    ),
}


def outcome(served: Served, case: Case) -> Any:
    """`(status, error code)`, `(status, result)` or just the status; "hangs" without an answer."""
    method, body, headers = case
    raw = json.dumps(body).encode() if isinstance(body, dict | list) else body
    usual: Headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", "Bearer alice"),
    ]
    given = {name.lower() for name, _ in headers}
    kept = [pair for pair in usual if pair[0].lower() not in given]
    try:
        return _read(served.send(method, "/mcp", raw, [*kept, *headers], timeout=2))
    except TimeoutError:
        return "hangs"


def _read(reply: Reply) -> Any:
    if "json" not in reply.headers.get("content-type", "") or not reply.body:
        return reply.status
    body = reply.json
    if "result" in body:
        return (reply.status, body["result"])
    if isinstance(body.get("error"), dict):
        return (reply.status, body["error"]["code"])
    return reply.status


def _brief(answer: Any) -> Any:
    """A result of whatever content is just that."""
    is_result = isinstance(answer, tuple) and isinstance(answer[1], dict)
    return (answer[0], "result") if is_result else answer


@pytest.fixture(scope="module")
def ours() -> Iterator[Served]:
    world = World()
    world.notes.kept.append("hello")
    with serving(world.app) as served:
        yield served


@pytest.fixture(scope="module")
def theirs() -> Iterator[Served]:
    with serving(oracle_app) as served:
        yield served


@pytest.mark.parametrize("name", CASES)
def test_both_answer_alike_or_the_difference_has_its_reason(
    ours: Served, theirs: Served, name: str
) -> None:
    their_answer, our_answer = outcome(theirs, CASES[name]), outcome(ours, CASES[name])
    if name in DIFFERENCES:
        expected_theirs, expected_ours, _ = DIFFERENCES[name]
        assert _brief(their_answer) == expected_theirs
        assert _brief(our_answer) == expected_ours
    else:
        assert our_answer == their_answer


def test_every_difference_is_of_a_case_and_is_one() -> None:
    assert DIFFERENCES.keys() <= CASES.keys()
    assert all(theirs != ours and reason for theirs, ours, reason in DIFFERENCES.values())
