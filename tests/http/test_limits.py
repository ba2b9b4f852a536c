"""Bodies that are too large, of the wrong kind, or not text at all."""

import json
import socket
from collections.abc import Iterator
from functools import partial

import pytest

from tests.http.serving import Served, serving
from tests.http.world import JSON_TYPE, PING, World, bearer, post
from tests.mcp.talk import request

LIMIT = 2_000


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[Served]:
    with serving(partial(world.app, max_body_bytes=LIMIT)) as served:
        yield served


def padded(size: int) -> bytes:
    body = json.dumps(PING).encode()
    return body + b" " * (size - len(body))


def test_a_body_of_the_limit_is_read(served: Served) -> None:
    assert post(served, padded(LIMIT)).status == 200


@pytest.mark.parametrize("size", [LIMIT + 1, 20 * LIMIT, 3_000_000])
def test_a_larger_body_is_413_and_names_the_limit(served: Served, size: int) -> None:
    reply = post(served, padded(size))
    assert reply.status == 413
    assert reply.json["error"] == "content_too_large"
    assert "2000 bytes" in reply.json["error_description"]


def test_a_length_over_the_limit_is_refused_before_the_body_comes(served: Served) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**9}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_larger_body_without_a_length_is_413_too(served: Served) -> None:
    chunks = iter([b" " * 900] * 3)
    reply = served.send("POST", "/mcp", chunks, [JSON_TYPE, bearer()])
    assert reply.status == 413
    assert reply.json["error"] == "content_too_large"


def test_a_body_in_pieces_is_one_body(served: Served) -> None:
    raw = json.dumps(PING).encode()
    chunks = iter([raw[:10], raw[10:11], raw[11:]])
    reply = served.send("POST", "/mcp", chunks, [JSON_TYPE, bearer()])
    assert reply.json["result"] == {}


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        "application/json;",
        "application/json-rpc+json",
    ],
)
def test_json_by_any_of_its_names_is_taken(served: Served, kind: str) -> None:
    assert post(served, PING, ("Content-Type", kind)).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
        "json",
    ],
)
def test_what_a_form_can_send_is_415(served: Served, kind: str) -> None:
    reply = post(served, PING, ("Content-Type", kind))
    assert reply.status == 415
    assert reply.json["error"] == "unsupported_media_type"


def test_no_content_type_is_415(served: Served) -> None:
    reply = served.send("POST", "/mcp", json.dumps(PING).encode(), [bearer()])
    assert reply.status == 415


@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "text/event-stream", "text/html", ""]
)
def test_whatever_a_client_accepts_it_gets_json(served: Served, accept: str | None) -> None:
    """The specification asks clients to accept both; what they forget is no reason to refuse."""
    headers = [] if accept is None else [("Accept", accept)]
    reply = post(served, PING, *headers)
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "raw, status, code",
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe\x00", 400, -32700),
        (b"[" * 1_900, 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700),
        (b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600),
        (rb'{"jsonrpc":"2.0","id":1,"method":"\ud800"}', 200, -32601),
        (
            rb'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find",'
            rb'"arguments":{"query":"a\ud800"}}}',
            200,
            -32602,
        ),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find",'
            b'"arguments":{"query":"a","limit":' + b"9" * 1_000 + b"}}}",
            200,
            -32602,
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_no_body_crashes_the_server(served: Served, raw: bytes, status: int, code: int) -> None:
    reply = post(served, raw)
    assert (reply.status, reply.json["error"]["code"]) == (status, code)
    assert reply.headers["content-type"] == "application/json"


def test_text_in_every_script_comes_back_as_it_was_stored(served: Served, world: World) -> None:
    text = "naïve 東京 🙂👩‍👩‍👧 \x00\x1b \u202e \u2028"
    entry = {"text": text, "importance": 1}
    post(served, request("tools/call", {"name": "keep", "arguments": {"entries": [entry]}}))
    assert world.notes.kept[-1] == text
    reply = post(served, request("tools/call", {"name": "count"}))
    assert reply.json["result"]["structuredContent"]["newest"] == text
