"""What every answer around signing in has in common: headers, methods, redirects, origins."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.http.serving import Headers, Reply
from tests.oauth.person import Person
from tests.oauth.program import JSON, READ, Program, bearer
from tests.oauth.world import FORM, World

ANYWHERE = ("Origin", "https://anywhere.example")
OPEN = ("/token", "/register", "/revoke")
PAGES = ("/authorize", "/sign-in", "/consent", "/connections", "/setup", "/join", "/account")


@pytest.fixture(scope="module")
def replies(world: World, alice: Person) -> dict[str, Reply]:
    """One answer of each kind that nobody else may see."""
    app = Program.registered(world)
    link = app.link()
    page = alice.ask_consent(link.url)
    answered = alice.decide(page)
    code = app.code(alice, second := app.link(), [READ])
    tokens = app.redeem(code, second.verifier)
    cookie = [("Cookie", "; ".join(f"{name}={value}" for name, value in alice.cookies.items()))]
    return {
        "authorize, to sign in": world.get(
            urlsplit(link.url).path + "?" + urlsplit(link.url).query
        ),
        "authorize, shown": world.get("/authorize?client_id=x"),
        "sign-in": world.get("/sign-in"),
        "consent": page.reply,
        "consent, answered": answered.reply,
        "connections": world.send("GET", "/connections", None, cookie),
        "account": world.send("GET", "/account", None, cookie),
        "token": tokens,
        "token, refused": app.refresh("mrt_wrong"),
        "token, unknown client": Program(world, "clt_x").refresh("mrt_wrong"),
        "register": world.send(
            "POST", "/register", b'{"redirect_uris": ["http://127.0.0.1/cb"]}', [JSON]
        ),
        "register, refused": world.send("POST", "/register", b"{}", [JSON]),
        "revoke": app.revoke("mat_x"),
        "mcp, no token": world.get("/mcp"),
        "mcp, bad token": world.send("POST", "/mcp", b"{}", [JSON, bearer("mat_x")]),
        "mcp": world.send(
            "POST",
            "/mcp",
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
            [JSON, bearer(tokens.json["access_token"])],
        ),
        "not found": world.get("/nothing/here"),
        "wrong method": world.get("/token"),
        "foreign host": world.get("/sign-in", ("Host", "evil.example")),
    }


@pytest.mark.threat(number=28)
def test_nothing_of_this_may_be_kept_by_a_cache(replies: dict[str, Reply]) -> None:
    kept = {name for name, reply in replies.items() if reply.headers["cache-control"] != "no-store"}
    assert kept == set()


@pytest.mark.threat(number=6)
@pytest.mark.threat(number=18)
def test_none_of_this_can_be_framed_sniffed_or_give_its_address_away(
    replies: dict[str, Reply],
) -> None:
    for name, reply in replies.items():
        assert reply.headers["x-frame-options"] == "DENY", name
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"], name
        assert reply.headers["referrer-policy"] == "no-referrer", name
        assert reply.headers["x-content-type-options"] == "nosniff", name


@pytest.mark.quirk(number=13)
def test_no_page_keeps_a_browser_from_going_back_to_the_app(replies: dict[str, Reply]) -> None:
    """Chromium applies form-action to the redirect after a form too (fastmcp #2302)."""
    for name in ("consent", "consent, answered", "sign-in"):
        assert "form-action" not in replies[name].headers["content-security-policy"]


@pytest.mark.threat(number=29)
def test_every_redirect_makes_a_look_of_it(world: World, alice: Person) -> None:
    """With 307 a browser would send what was typed on to where it is sent (RFC 9700 §4.12)."""
    app = Program.registered(world)
    link = app.link()
    seen = [alice.decide(alice.ask_consent(link.url)).status]
    other = Person(world, alice.email)
    seen += [other.sign_in_at(other.open(app.link().url), follow=False).status]
    seen += [world.get("/connections").status]
    seen += [world.send("POST", "/authorize", link.url.partition("?")[2].encode(), [FORM]).status]
    assert seen == [303] * 4


# --- other origins -------------------------------------------------------------------------------


def preflight(world: World, path: str, origin: str, method: str = "POST") -> Reply:
    headers: Headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", method),
        ("Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version"),
    ]
    return world.send("OPTIONS", path, None, headers)


@pytest.mark.quirk(number=29)
@pytest.mark.parametrize("path", OPEN)
def test_any_page_may_ask_where_a_credential_is_in_the_form(world: World, path: str) -> None:
    asked = preflight(world, path, ANYWHERE[1])
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == "*"
    assert "POST" in asked.headers["access-control-allow-methods"]
    allowed = asked.headers["access-control-allow-headers"].lower()
    assert {"authorization", "content-type", "mcp-protocol-version"} <= {
        name.strip() for name in allowed.split(",")
    }
    refused = world.send("POST", path, b"", [FORM, ANYWHERE])
    assert refused.status in (400, 401)
    assert refused.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in refused.headers


TOO_MUCH = b"x" * (5 * 1024 * 1024)


@pytest.mark.quirk(number=29)
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/register", TOO_MUCH, 413),
        ("POST", "/token", TOO_MUCH, 413),
        ("GET", "/token", None, 405),
        ("GET", "/register", None, 405),
        ("POST", "/.well-known/oauth-authorization-server", b"", 405),
        ("GET", "/.well-known/something-else", None, 404),
        ("GET", "/mcp/.well-known/something-else", None, 404),
        ("POST", "/mcp", TOO_MUCH, 413),
    ],
)
def test_a_page_can_read_every_refusal(
    world: World, method: str, path: str, body: bytes | None, status: int
) -> None:
    """Or it sees a network error, and cannot say what is wrong."""
    origin = "https://claude.ai"
    reply = world.send(method, path, body, [JSON, ("Origin", origin)])
    assert reply.status == status
    assert reply.headers["access-control-allow-origin"] in ("*", origin)
    assert "retry-after" in reply.headers["access-control-expose-headers"].lower()


@pytest.mark.parametrize("path", PAGES)
def test_no_other_page_can_read_a_page(world: World, path: str) -> None:
    assert "access-control-allow-origin" not in world.get(path, ANYWHERE).headers
    assert preflight(world, path, ANYWHERE[1], "GET").status == 405


@pytest.mark.quirk(number=29)
@pytest.mark.parametrize("origin", ["http://localhost:6274", "https://claude.ai"])
def test_the_inspector_and_known_apps_can_read_a_challenge(world: World, origin: str) -> None:
    """Hidden from the page, it could not start a sign-in (twenty PR#19836)."""
    asked = preflight(world, "/mcp", origin)
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == origin
    allowed = asked.headers["access-control-allow-headers"].lower()
    for name in ("authorization", "mcp-method", "mcp-name", "mcp-protocol-version"):
        assert name in allowed
    for reply in (
        world.get("/mcp", ("Origin", origin)),
        world.send("POST", "/mcp", b"{}", [JSON, bearer("mat_x"), ("Origin", origin)]),
    ):
        assert reply.status == 401
        assert reply.headers["access-control-allow-origin"] == origin
        assert "www-authenticate" in reply.headers["access-control-expose-headers"].lower()
        assert "origin" in reply.headers["vary"].lower()


@pytest.mark.threat(number=11)
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "https://localhost.evil.example"]
)
def test_other_pages_cannot_call_tools(world: World, origin: str) -> None:
    reply = world.send("POST", "/mcp", b"{}", [JSON, ("Origin", origin)])
    assert reply.status == 403
    assert "access-control-allow-origin" not in reply.headers


# --- credentials of the other kind ---------------------------------------------------------------


@pytest.mark.threat(number=12)
def test_a_credential_is_worth_something_in_its_own_place_alone(
    world: World, alice: Person
) -> None:
    app = Program.registered(world, token_endpoint_auth_method="client_secret_post")
    tokens = app.connect(alice, [READ])
    code = app.code(alice, app.link(), [READ])
    (cookie,) = alice.cookies.values()
    for wrong in (tokens.refresh, code, cookie, app.extra["client_secret"], app.client_id):
        reply = world.send("POST", "/mcp", b"{}", [JSON, bearer(wrong)])
        assert reply.status == 401
    for wrong in (tokens.access, code, cookie):
        assert app.refresh(wrong).json["error"] == "invalid_grant"
    for wrong in (tokens.access, tokens.refresh, cookie):
        assert app.redeem(wrong, "v" * 43).json["error"] == "invalid_grant"
    for wrong in (tokens.access, tokens.refresh, code):
        name = next(iter(alice.cookies))
        assert world.get("/connections", ("Cookie", f"{name}={wrong}")).status == 303
