"""Browsers: which web pages may call, how they are told beforehand, and DNS rebinding."""

import pytest

from tests.http.serving import Served
from tests.http.world import PING, World, post

ALLOWED = [
    "https://claude.ai",
    "http://localhost:6274",
    "http://127.0.0.1:6274",
    "http://[::1]:3000",
    "http://localhost",
    "https://localhost:8443",
]
REFUSED = [
    "https://evil.example",
    "http://claude.ai",
    "https://claude.ai:444",
    "https://claude.ai.evil.example",
    "https://evil.example/https://claude.ai",
    "https://CLAUDE.ai",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "http://user@localhost",
    "http://localhost:port",
    "http://2130706433",
    "http://127.0.0.1.nip.io",
    "http://[::ffff:127.0.0.1]",
    "localhost",
    "file://localhost",
    "null",
    "",
    "*",
]


@pytest.mark.parametrize("origin", ALLOWED)
def test_a_page_of_an_allowed_origin_may_call(served: Served, origin: str) -> None:
    reply = post(served, PING, ("Origin", origin))
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == origin
    assert reply.headers["vary"] == "Origin"
    assert "WWW-Authenticate" in reply.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in reply.headers


def test_our_own_pages_may_call(served: Served) -> None:
    assert post(served, PING, ("Origin", served.url)).status == 200


@pytest.mark.threat(number=11)
@pytest.mark.parametrize("origin", REFUSED)
def test_a_page_of_another_origin_may_not(served: Served, world: World, origin: str) -> None:
    before = len(world.looked_up)
    for method in ("POST", "GET", "OPTIONS", "DELETE"):
        reply = served.send(method, "/mcp", headers=[("Origin", origin)])
        assert reply.status == 403
        assert reply.json["error"] == "origin_not_allowed"
        assert "access-control-allow-origin" not in reply.headers
    assert len(world.looked_up) == before


@pytest.mark.threat(number=28)
def test_programs_send_no_origin_and_may_call(served: Served) -> None:
    reply = post(served, PING)
    assert reply.status == 200
    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["vary"] == "Origin"


@pytest.mark.quirk(number=29)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_preflight_is_answered_before_sign_in(served: Served, path: str) -> None:
    asked = "authorization,content-type,mcp-method,mcp-name,mcp-protocol-version"
    reply = served.send(
        "OPTIONS",
        path,
        headers=[
            ("Origin", "https://claude.ai"),
            ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", asked),
        ],
    )
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == "https://claude.ai"
    assert "POST" in reply.headers["access-control-allow-methods"]
    allowed = {name.strip().lower() for name in _list(reply.headers)}
    assert set(asked.split(",")) | {"accept", "last-event-id", "mcp-session-id"} <= allowed


def _list(headers: object) -> list[str]:
    assert isinstance(headers, dict)
    return str(headers["access-control-allow-headers"]).split(",")


def test_a_refused_page_can_read_why_it_must_sign_in(served: Served) -> None:
    reply = post(served, PING, ("Origin", "https://claude.ai"), token=None)
    assert reply.status == 401
    assert reply.headers["access-control-allow-origin"] == "https://claude.ai"
    assert "WWW-Authenticate" in reply.headers["access-control-expose-headers"]


def test_options_without_an_origin_says_what_is_allowed(served: Served) -> None:
    reply = served.send("OPTIONS", "/mcp")
    assert reply.status == 204
    assert reply.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8420",
        "LOCALHOST:1",
        "127.0.0.1:8420",
        "[::1]:8420",
        "192.168.1.7",
        "[fe80::1]",
        "memory.example",
        "memory.example:443",
        "Memory.Example",
    ],
)
def test_known_hosts_and_addresses_are_served(served: Served, host: str) -> None:
    assert post(served, PING, ("Host", host)).status == 200


@pytest.mark.threat(number=11)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "memory.example.evil.example",
        "xmemory.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "evil.example#localhost",
        "evil.example/localhost",
        "evil.example?localhost",
        "127.0.0.1.nip.io",
        "localhost:port",
        "[::1",
        "",
    ],
)
def test_a_name_that_is_not_ours_is_not_served_anywhere(
    served: Served, world: World, host: str
) -> None:
    before = len(world.looked_up)
    for path in ("/mcp", "/health", "/nowhere"):
        reply = served.send("POST", path, headers=[("Host", host)])
        assert reply.status == 421, path
        assert reply.json["error"] == "misdirected_request"
    assert len(world.looked_up) == before


@pytest.mark.threat(number=30)
def test_a_forwarded_host_changes_nothing(served: Served) -> None:
    headers = [("X-Forwarded-Host", "localhost"), ("Forwarded", "host=localhost")]
    assert post(served, PING, ("Host", "evil.example"), *headers).status == 421
