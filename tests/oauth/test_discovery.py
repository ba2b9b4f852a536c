"""What a client finds out from the URL alone: byte for byte the same wherever it looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import rememberd.app
from rememberd.errors import InvalidInput
from rememberd.settings import load
from rememberd.tools import VAULT, Toolset
from tests.http.serving import Reply
from tests.oauth.person import Person
from tests.oauth.program import READ, Program, Tokens, bearer, works
from tests.oauth.world import World, running

ISSUER = "https://memory.example.com"
TRUST = Toolset("trust", "/mcp/trust", VAULT.tools, (), "A second mount, as a later part has it.")
SERVER = (
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/mcp/.well-known/oauth-authorization-server",
)
OPENID = (
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/mcp/.well-known/openid-configuration",
)
RESOURCE = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/",
    "/mcp/.well-known/oauth-protected-resource",
)


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server that the world knows by a name, with a second mount."""
    data = tmp_path_factory.mktemp("public") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rememberd.app, "TOOLSETS", (VAULT, TRUST))
        with running(data, public_url=ISSUER) as world:
            yield world


# --- the documents -------------------------------------------------------------------------------


@pytest.mark.quirk(number=14)
@pytest.mark.quirk(number=15)
@pytest.mark.quirk(number=24)
@pytest.mark.parametrize("paths", [SERVER, OPENID, RESOURCE], ids=["server", "openid", "resource"])
def test_a_document_has_the_same_bytes_at_every_path(public: World, paths: tuple[str, ...]) -> None:
    replies = [public.get(path) for path in paths]
    assert {reply.status for reply in replies} == {200}
    assert {reply.headers["content-type"] for reply in replies} == {"application/json"}
    assert len({reply.body for reply in replies}) == 1


@pytest.mark.quirk(number=14)
def test_the_authorization_server_describes_itself(public: World) -> None:
    assert public.get(SERVER[0]).json == snapshot(
        {
            "issuer": "https://memory.example.com",
            "authorization_endpoint": "https://memory.example.com/authorize",
            "token_endpoint": "https://memory.example.com/token",
            "registration_endpoint": "https://memory.example.com/register",
            "revocation_endpoint": "https://memory.example.com/revoke",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "scopes_supported": ["memories:read", "offline_access"],
            "token_endpoint_auth_methods_supported": [
                "none",
                "client_secret_post",
                "client_secret_basic",
                "private_key_jwt",
            ],
            "token_endpoint_auth_signing_alg_values_supported": ["RS256", "ES256"],
            "revocation_endpoint_auth_methods_supported": [
                "none",
                "client_secret_post",
                "client_secret_basic",
                "private_key_jwt",
            ],
            "revocation_endpoint_auth_signing_alg_values_supported": ["RS256", "ES256"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
            "protected_resources": [
                "https://memory.example.com/mcp",
                "https://memory.example.com/mcp/trust",
            ],
            "service_documentation": "https://memory.example.com/",
        }
    )


@pytest.mark.quirk(number=24)
def test_the_openid_spelling_adds_what_its_readers_require(public: World) -> None:
    """The TypeScript SDK's schema refuses a document without these."""
    server, openid = public.get(SERVER[0]).json, public.get(OPENID[0]).json
    assert server.items() <= openid.items()
    assert {name: openid[name] for name in openid.keys() - server.keys()} == snapshot(
        {
            "jwks_uri": "https://memory.example.com/jwks.json",
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
    )
    assert "openid" not in openid["scopes_supported"]
    assert public.get("/jwks.json").json == {"keys": []}


def test_a_resource_describes_itself(public: World) -> None:
    assert public.get(RESOURCE[0]).json == snapshot(
        {
            "resource": "https://memory.example.com/mcp",
            "authorization_servers": ["https://memory.example.com"],
            "scopes_supported": ["memories:read"],
            "bearer_methods_supported": ["header"],
            "resource_name": "rememberd",
        }
    )


@pytest.mark.quirk(number=15)
@pytest.mark.quirk(number=30)
def test_no_address_in_a_document_ends_with_a_slash_that_nobody_gave(public: World) -> None:
    """Clients compare bytes (python-sdk #1919, gemini-cli #15754)."""
    server, resource = public.get(SERVER[0]).json, public.get(RESOURCE[0]).json
    assert server["issuer"] == ISSUER
    assert resource["authorization_servers"] == [server["issuer"]]
    assert resource["resource"] == f"{ISSUER}/mcp"
    assert resource["resource"] in server["protected_resources"]


@pytest.mark.quirk(number=30)
@pytest.mark.parametrize("url", [f"{ISSUER}/", f"{ISSUER}/mcp", f"{ISSUER}?x", f"{ISSUER}#"])
def test_a_public_url_that_is_more_than_an_origin_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(InvalidInput, match="public_url"):
        load({"public_url": url}, {})


@pytest.mark.quirk(number=29)
@pytest.mark.parametrize("path", [*SERVER, *OPENID, *RESOURCE, "/jwks.json"])
def test_any_page_may_read_them_and_caches_may_keep_them(public: World, path: str) -> None:
    reply = public.get(path, ("Origin", "https://anywhere.example"))
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["cache-control"] == "public, max-age=300"
    assert "set-cookie" not in reply.headers
    asked = [("Origin", "https://a.example"), ("Access-Control-Request-Method", "GET")]
    preflight = public.send("OPTIONS", path, None, asked)
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "mcp-protocol-version" in preflight.headers["access-control-allow-headers"].lower()


@pytest.mark.quirk(number=16)
@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource/elsewhere",
        "/.well-known/oauth-protected-resource/mcp/mcp",
        "/.well-known/oauth-protected-resource//mcp",
        "/.well-known/oauth-authorization-server/elsewhere",
        "/.well-known/unknown",
        "/elsewhere/.well-known/openid-configuration",
    ],
)
def test_what_is_not_there_is_told_in_json(public: World, path: str) -> None:
    """Claude Code parses a 404 as an OAuth answer (google_workspace_mcp #382)."""
    reply = public.get(path)
    assert reply.status == 404
    assert set(reply.json) == {"error", "error_description"}


@pytest.mark.threat(number=30)
@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "localhost")],
        [("Host", "203.0.113.7:8420")],
        [("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "http")],
        [("Forwarded", "host=evil.example;proto=http")],
        [("X-Original-URL", "https://evil.example/"), ("X-Forwarded-Prefix", "/evil")],
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [SERVER[0], RESOURCE[0], "/mcp"])
def test_no_header_changes_an_address(
    public: World, path: str, headers: list[tuple[str, str]]
) -> None:
    def addresses(reply: Reply) -> tuple[bytes, str]:
        return reply.body, reply.headers.get("www-authenticate", "")

    assert addresses(public.get(path, *headers)) == addresses(public.get(path))


@pytest.mark.threat(number=11)
def test_a_host_that_is_not_ours_gets_nothing(public: World) -> None:
    for path in (*SERVER, *RESOURCE, "/mcp", "/authorize", "/sign-in", "/token"):
        assert public.get(path, ("Host", "evil.example")).status == 421


# --- the challenge -------------------------------------------------------------------------------


@pytest.mark.quirk(number=14)
@pytest.mark.quirk(number=30)
def test_the_first_answer_says_where_to_go_on(world: World) -> None:
    reply = world.get("/mcp")
    assert reply.status == 401
    challenge = reply.headers["www-authenticate"]
    where = f"{world.url}/.well-known/oauth-protected-resource/mcp"
    assert challenge == f'Bearer resource_metadata="{where}", scope="memories:read"'
    document = world.get(where.removeprefix(world.url)).json
    assert document["resource"] == world.mcp
    (issuer,) = document["authorization_servers"]
    assert issuer == world.url
    assert world.get("/.well-known/oauth-authorization-server").json["issuer"] == issuer


@pytest.mark.quirk(number=8)
@pytest.mark.quirk(number=24)
def test_a_bad_token_is_told_apart_from_none(world: World) -> None:
    """Grok gives up over an error in the first answer (courtlistener-api-client #283)."""
    reply = world.send("POST", "/mcp", b"{}", [bearer("mat_wrong")])
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith('Bearer error="invalid_token", ')
    assert reply.json["error"] == "invalid_token"
    assert "error=" not in world.get("/mcp").headers["www-authenticate"]


# --- another mount -------------------------------------------------------------------------------


def test_each_mount_has_its_document_and_its_challenge(public: World) -> None:
    for path in ("/mcp", "/mcp/trust"):
        where = f"/.well-known/oauth-protected-resource{path}"
        assert public.get(where).json["resource"] == ISSUER + path
        challenge = public.get(path).headers["www-authenticate"]
        assert f'resource_metadata="{ISSUER}{where}"' in challenge
        for spelled in (
            f"/.well-known/oauth-authorization-server{path}",
            f"/.well-known/openid-configuration{path}",
            f"{path}/.well-known/openid-configuration",
        ):
            assert public.get(spelled).json["issuer"] == ISSUER
        below = f"{path}/.well-known/oauth-protected-resource"
        assert public.get(below).json["resource"] == ISSUER + path


@pytest.fixture
def twofold(data: Path) -> Iterator[World]:
    """Two mounts on this machine, where a person can sign in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rememberd.app, "TOOLSETS", (VAULT, TRUST))
        with running(data) as world:
            yield world


@pytest.mark.threat(number=12)
def test_a_token_is_worth_something_at_its_own_resource_alone(twofold: World) -> None:
    alice = Person(twofold, "alice@example.com").set_up()
    app = Program.registered(twofold)
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    kind = ("Content-Type", "application/json")

    def status(path: str, tokens: Tokens) -> int:
        return twofold.send("POST", path, ping, [kind, bearer(tokens.access)]).status

    for resource, opened, closed in (
        (f"{twofold.url}/mcp", "/mcp", "/mcp/trust"),
        (f"{twofold.url}/mcp/trust", "/mcp/trust", "/mcp"),
        (None, "/mcp", "/mcp/trust"),
    ):
        link = app.link(resource=resource)
        code = app.code(alice, link, [READ])
        tokens = Tokens.of(app.redeem(code, link.verifier, resource=resource))
        assert (status(opened, tokens), status(closed, tokens)) == (200, 401)
        other = f"{twofold.url}{closed}"
        assert app.refresh(tokens.refresh, resource=other).json["error"] == "invalid_target"
        newer = Tokens.of(app.refresh(tokens.refresh, resource=None))
        assert (status(opened, newer), status(closed, newer)) == (200, 401)
    assert works(twofold, tokens.access)


@pytest.mark.threat(number=12)
def test_a_code_for_one_resource_gives_no_token_for_another(twofold: World) -> None:
    alice = Person(twofold, "alice@example.com").set_up()
    app = Program.registered(twofold)
    link = app.link()
    code = app.code(alice, link, [READ])
    other = f"{twofold.url}/mcp/trust"
    assert app.redeem(code, link.verifier, resource=other).json["error"] == "invalid_target"
    assert app.redeem(code, link.verifier).status == 200
