"""Who may come in, and what those are told who may not (RFC 6750, RFC 9728)."""

import pytest

from tests.http.serving import Served
from tests.http.world import JSON_TYPE, PING, World, bearer, post
from tests.mcp.talk import request


def challenge(served: Served, error: str = "") -> str:
    metadata = f"{served.url}/.well-known/oauth-protected-resource/mcp"
    described = ', error_description="The key or token is unknown, expired or revoked"'
    return (
        f'Bearer {error}resource_metadata="{metadata}", scope="memories:read"'
        f"{described if error else ''}"
    )


@pytest.mark.quirk(number=24)
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", "Basic YWxpY2U6eA==")],
        [("Authorization", "alice")],
        [("Authorization", "")],
        [("Cookie", "session=alice")],
        [("X-Api-Key", "alice")],
    ],
    ids=str,
)
def test_without_a_token_the_challenge_names_no_error(
    served: Served, headers: list[tuple[str, str]]
) -> None:
    reply = post(served, PING, *headers, token=None)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == challenge(served)
    assert reply.json["error"] == "unauthorized"


@pytest.mark.parametrize("token", ["nope", "alice alice", "ALICE", "alicé", "alice,", "mk_x:write"])
def test_a_token_that_is_unknown_is_called_invalid(served: Served, token: str) -> None:
    reply = post(served, PING, bearer(token))
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == challenge(served, 'error="invalid_token", ')
    assert reply.json["error"] == "invalid_token"
    assert token.encode() not in reply.body


def test_two_tokens_are_none(served: Served, world: World) -> None:
    before = len(world.looked_up)
    reply = post(served, PING, bearer(), bearer("bob"))
    assert reply.status == 401
    assert reply.json["error"] == "invalid_token"
    assert len(world.looked_up) == before


@pytest.mark.parametrize(
    "header", ["Bearer alice", "bearer alice", "BEARER  alice", "Bearer mk_x:read"]
)
def test_a_known_token_comes_in_with_one_look_up(served: Served, world: World, header: str) -> None:
    before = len(world.looked_up)
    assert post(served, PING, ("Authorization", header)).status == 200
    assert len(world.looked_up) == before + 1


def test_a_token_in_the_query_string_is_not_looked_at(served: Served, world: World) -> None:
    before = len(world.looked_up)
    for query in ("access_token=alice", "token=alice", "key=alice"):
        assert post(served, PING, path=f"/mcp?{query}", token=None).status == 401
    assert len(world.looked_up) == before


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc":"2.0","method":"x"}'])
def test_who_asks_comes_before_what_is_asked(served: Served, body: bytes) -> None:
    assert post(served, body, token=None).status == 401


def test_a_missing_scope_on_a_tool_is_http_200_with_the_challenge_inside(served: Served) -> None:
    body = request("tools/call", {"name": "keep", "arguments": {}})
    reply = post(served, body, bearer("bob"))
    assert reply.status == 200
    assert "www-authenticate" not in reply.headers
    (inside,) = reply.json["result"]["_meta"]["mcp/www_authenticate"]
    assert 'scope="memories:read memories:write"' in inside
    assert f'resource_metadata="{served.url}/.well-known/' in inside


def test_a_missing_scope_on_a_resource_is_http_403_with_the_challenge(served: Served) -> None:
    body = request("resources/read", {"uri": "notes://newest"})
    reply = post(served, body, bearer("charlie"))
    assert reply.status == 403
    assert reply.headers["www-authenticate"].startswith('Bearer error="insufficient_scope", ')
    assert reply.headers["content-type"] == "application/json"


def test_when_the_look_up_fails_nobody_is_let_in(served: Served) -> None:
    reply = post(served, PING, bearer("bug"))
    assert reply.status == 500
    assert reply.json["error"] == "server_error"
    assert b"secret" not in reply.body


def test_the_challenge_has_the_same_bytes_each_time(served: Served) -> None:
    replies = [served.send("POST", "/mcp", b"{}", [JSON_TYPE]) for _ in range(2)]
    assert len({reply.headers["www-authenticate"] for reply in replies}) == 1
