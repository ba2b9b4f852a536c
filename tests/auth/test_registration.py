"""Registration (RFC 7591): what apps send is taken, what endangers people is not."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rememberd.auth.clients import Clients
from rememberd.auth.errors import OAuthError
from rememberd.model import Client
from rememberd.store.store import Store
from tests.store.world import StillClock, opened

ISSUER = "https://memory.example"
CALLBACK = "https://app.example/cb"
RSA = {"kty": "RSA", "n": "x" * 342, "e": "AQAB"}

CURSOR = {
    "redirect_uris": [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
    ],
    "client_name": "Cursor",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "application_type": "native",
}
CLAUDE = {
    "client_name": "Claude",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
    "scope": "memories:read memories:write",
    "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
}
CHATGPT = {
    "client_name": "ChatGPT",
    "token_endpoint_auth_method": "client_secret_post",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "redirect_uris": ["https://chatgpt.com/connector/oauth/Ab-1_2"],
}
VS_CODE = {
    "client_name": "Visual Studio Code",
    "client_uri": "https://code.visualstudio.com/",
    "grant_types": [
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ],
    "response_types": ["code"],
    "redirect_uris": [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
    ],
    "token_endpoint_auth_method": "none",
    "application_type": "native",
}
GROK = {
    "client_name": "Grok",
    "redirect_uris": ["https://grok.com/connectors-oauth-exchange-code/"],
    "token_endpoint_auth_method": "none",
}
MCP_REMOTE = {
    "client_name": "MCP CLI Proxy",
    "client_uri": "https://github.com/geelen/mcp-remote",
    "redirect_uris": ["http://localhost:3334/oauth/callback"],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
    "software_version": "0.1.29",
}


@pytest.fixture(scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Store]:
    """One for all: no test here changes what another one sees."""
    async with opened(tmp_path_factory.mktemp("data") / "data") as store:
        yield store


@pytest.fixture(scope="module")
def clients(store: Store) -> Clients:
    return Clients.assemble(store, StillClock(), ISSUER)


async def register(clients: Clients, **metadata: Any) -> dict[str, Any]:
    said = {"redirect_uris": [CALLBACK], **metadata}
    return await clients.register(json.dumps(said).encode(), "application/json")


async def refusal(clients: Clients, **metadata: Any) -> tuple[str, str]:
    with pytest.raises(OAuthError) as caught:
        await register(clients, **metadata)
    return caught.value.error, caught.value.description


async def stored(clients: Clients, made: dict[str, Any]) -> Client:
    return await clients.resolve(made["client_id"], "alice")


@pytest.mark.quirk(number=7)
@pytest.mark.quirk(number=9)
@pytest.mark.parametrize(
    "metadata",
    [CURSOR, CLAUDE, CHATGPT, VS_CODE, GROK, MCP_REMOTE],
    ids=lambda app: app["client_name"],
)
async def test_what_each_app_sends_is_registered_and_said_back(
    clients: Clients, metadata: dict[str, Any]
) -> None:
    made = await register(clients, **metadata)
    device_code = "urn:ietf:params:oauth:grant-type:device_code"
    for name, value in metadata.items():
        expected = [one for one in value if one != device_code] if name == "grant_types" else value
        assert made[name] == expected
    assert (await stored(clients, made)).redirect_uris == tuple(metadata["redirect_uris"])


@pytest.mark.quirk(number=18)
async def test_the_answer_has_the_defaults_and_nothing_that_is_null(
    clients: Clients, clock: StillClock
) -> None:
    made = await register(clients, client_uri=None, logo_uri=None, scope=None, contacts=None)
    client_id = made.pop("client_id")
    assert client_id.startswith("clt_")
    assert made == {
        "client_id_issued_at": int(clock.at.timestamp()),
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_a_secret_is_given_to_whoever_asks_and_kept_as_a_hash(
    clients: Clients, method: str, store: Store
) -> None:
    made = await register(clients, token_endpoint_auth_method=method)
    assert made["token_endpoint_auth_method"] == method
    assert made["client_secret"].startswith("mcs_")
    assert made["client_secret_expires_at"] == 0
    for kept in store.directory.root.rglob("*"):
        assert not kept.is_file() or made["client_secret"].encode() not in kept.read_bytes()


async def test_public_clients_get_no_secret_and_no_expiry(clients: Clients) -> None:
    for metadata in (CURSOR, GROK, {}):
        made = await register(clients, **metadata)
        assert {"client_secret", "client_secret_expires_at"} & made.keys() == set()


@pytest.mark.quirk(number=18)
async def test_numbers_are_integers(clients: Clients) -> None:
    made = await register(clients, token_endpoint_auth_method="client_secret_post")
    numbers = [value for value in made.values() if isinstance(value, int | float)]
    assert len(numbers) == 2
    assert {type(number) for number in numbers} == {int}


async def test_members_that_nobody_knows_are_left_out(clients: Clients) -> None:
    made = await register(clients, digest="x", client_id="mine", admin=True, contacts=["a@b.c"])
    assert made["client_id"] != "mine"
    assert {"digest", "admin", "contacts"} & made.keys() == set()


# --- redirect URIs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uris, says",
    [
        (["javascript:alert(1)"], "redirect_uris[0]: the scheme javascript leads to no app"),
        ([CALLBACK, "http://app.example/cb"], "redirect_uris[1]: http is for"),
        (["https://app.example/cb#x"], "redirect_uris[0]: not an absolute URI"),
        (["https://good.example\\@evil.example"], "redirect_uris[0]: not an absolute URI"),
        (["https://u@app.example/"], "redirect_uris[0]: user names"),
        ([CALLBACK, 5], "redirect_uris[1]: not a text"),
        ([CALLBACK] * 11, "redirect_uris: more than 10"),
        ([], "redirect_uris: at least one is needed"),
        (None, "redirect_uris: at least one is needed"),
        (CALLBACK, "redirect_uris: at least one is needed"),
    ],
)
async def test_a_bad_redirect_uri_is_named_with_its_fault(
    clients: Clients, uris: object, says: str
) -> None:
    error, description = await refusal(clients, redirect_uris=uris)
    assert error == "invalid_redirect_uri"
    assert description.startswith(says)


async def test_ten_redirect_uris_are_accepted(clients: Clients) -> None:
    uris = [f"{CALLBACK}/{n}" for n in range(10)]
    assert (await register(clients, redirect_uris=uris))["redirect_uris"] == uris


@pytest.mark.parametrize("uri", ["http://localhost:1/cb", "cursor://x/cb", "https://localhost/cb"])
async def test_only_who_says_web_is_held_to_the_web(clients: Clients, uri: str) -> None:
    await register(clients, redirect_uris=[uri])
    await register(clients, redirect_uris=[uri], application_type="native")
    error, _ = await refusal(clients, redirect_uris=[uri], application_type="web")
    assert error == "invalid_redirect_uri"


# --- the other members -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said, kept",
    [
        ("Claude", "Claude"),
        ("  Two\n\twords  ", "Two words"),
        ("admin\u202egnp.exe", "admingnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("bell\x07\x1b[31m", "bell[31m"),
        ("\u2028line\u2029", "line"),
        ("x" * 500, "x" * 100),
        ("名前 приложение", "名前 приложение"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # pages escape it
    ],
)
async def test_a_name_is_one_visible_line(clients: Clients, said: str, kept: str) -> None:
    made = await register(clients, client_name=said)
    assert made["client_name"] == kept
    assert (await stored(clients, made)).name == kept


@pytest.mark.parametrize("said", [None, "", " \u200b\n"])
async def test_who_has_no_name_is_called_so(clients: Clients, said: str | None) -> None:
    made = await register(clients, client_name=said)
    assert "client_name" not in made
    assert (await stored(clients, made)).name == "Unnamed app"


@pytest.mark.threat(number=17)
@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "http://app.example", "data:,x", "https://u@x.example", 5]
)
async def test_only_https_links_are_kept(clients: Clients, link: object) -> None:
    names = ("client_uri", "logo_uri", "tos_uri", "policy_uri")
    made = await register(clients, **dict.fromkeys(names, link))
    assert made.keys() & set(names) == set()
    made = await register(clients, **dict.fromkeys(names, "https://app.example/x.png"))
    assert made.keys() >= set(names)


async def test_scope_is_kept_but_binds_nobody(clients: Clients) -> None:
    made = await register(clients, scope="memories:read openid")
    assert made["scope"] == "memories:read openid"


@pytest.mark.parametrize(
    "metadata, says",
    [
        ({"token_endpoint_auth_method": "tls_client_auth"}, "token_endpoint_auth_method: only"),
        ({"token_endpoint_auth_method": 5}, "token_endpoint_auth_method: only"),
        ({"token_endpoint_auth_signing_alg": "HS256"}, "token_endpoint_auth_signing_alg: only"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt needs jwks"),
        ({"jwks": {"keys": []}, "jwks_uri": "https://app.example/jwks"}, "jwks: not beside"),
        ({"jwks": {"keys": [RSA | {"d": "AQAB"}]}}, "jwks: holds a private"),
        ({"jwks": {"keys": [{"kty": "oct", "k": "AQAB"}]}}, "jwks: holds a private"),
        ({"jwks": {"keys": [RSA] * 21}}, "jwks: not an object with a list of at most 20"),
        ({"jwks": [RSA]}, "jwks: not an object"),
        ({"jwks": {"keys": ["x"]}}, "jwks: a key is not an object"),
        ({"jwks_uri": "http://app.example/jwks"}, "jwks_uri: http is for"),
        ({"jwks_uri": "https://127.0.0.1/jwks"}, "jwks_uri: not an https address"),
        ({"jwks_uri": 5}, "jwks_uri: not a text"),
        ({"grant_types": ["implicit"]}, "grant_types: must hold authorization_code"),
        ({"grant_types": "authorization_code"}, "grant_types: must hold"),
        ({"response_types": ["token"]}, "response_types: must hold code"),
        ({"application_type": "desktop"}, "application_type: only native, web"),
        ({"client_name": ["x"]}, "client_name: not a text"),
        ({"scope": "a  b"}, "scope: not scopes"),
        ({"scope": 'a"b'}, "scope: not scopes"),
        ({"scope": "x" * 1001}, "scope: not a text of at most"),
        ({"scope": 5}, "scope: not a text"),
    ],
)
async def test_a_member_that_cannot_be_honoured_is_named(
    clients: Clients, metadata: dict[str, Any], says: str
) -> None:
    error, description = await refusal(clients, **metadata)
    assert error == "invalid_client_metadata"
    assert description.startswith(says)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b'{"redirect_uris": ["\\ud800"]} ', b"\xff", b"a=b", b"[" * 9_999],
    ids=range(8),
)
async def test_a_body_that_is_no_object_is_refused(clients: Clients, body: bytes) -> None:
    with pytest.raises(OAuthError, match="the body is not") as caught:
        await clients.register(body, "application/json")
    assert caught.value.error == "invalid_client_metadata"


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_form_is_no_registration(clients: Clients, content_type: str) -> None:
    with pytest.raises(OAuthError, match="application/json"):
        await clients.register(json.dumps(GROK).encode(), content_type)


@pytest.mark.parametrize("content_type", [None, "", "application/json; charset=UTF-8"])
async def test_json_by_any_usual_header_is_one(clients: Clients, content_type: str | None) -> None:
    await clients.register(json.dumps(GROK).encode(), content_type)


async def test_a_body_is_at_most_16_kilobytes(clients: Clients) -> None:
    body = json.dumps(GROK).encode().ljust(16_384)
    await clients.register(body, "application/json")
    with pytest.raises(OAuthError, match="longer than 16384 bytes"):
        await clients.register(body + b" ", "application/json")
