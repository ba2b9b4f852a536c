"""Clients whose id is the URL of a document (Client ID Metadata Documents)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rememberd.auth.clients import Clients
from rememberd.auth.errors import OAuthError
from rememberd.model import Client
from rememberd.store.store import Store
from tests.auth.origin import Origin, answer
from tests.store.world import StillClock

ISSUER = "https://memory.example"
CALLBACK = "https://app.example/cb"
PATH = "/oauth/client.json"
JWKS = {"keys": [{"kty": "RSA", "n": "x" * 342, "e": "AQAB"}]}


@pytest.fixture
def clients(store: Store, clock: StillClock, site: Origin) -> Clients:
    return Clients.assemble(store, clock, ISSUER, site.network())


def publish(site: Origin, *headers: str, path: str = PATH, **members: Any) -> str:
    """Put a document up; returns the client_id."""
    url = site.url(path)
    usual = {"client_id": url, "client_name": "App", "redirect_uris": [CALLBACK]}
    site.answers[path] = answer(usual | members, *headers)
    return url


async def resolve(clients: Clients, client_id: str) -> Client:
    return await clients.resolve(client_id, "alice")


async def refusal(clients: Clients, client_id: str) -> str:
    with pytest.raises(OAuthError) as caught:
        await resolve(clients, client_id)
    assert caught.value.error == "invalid_client"
    return caught.value.description


async def at_token(clients: Clients, client_id: str) -> Client:
    """As a refresh of a public client finds it."""
    return await clients.authenticate({"client_id": client_id}, {})


# --- documents of real apps --------------------------------------------------------------------

CLAUDE_CODE = {
    "client_name": "Claude Code",
    "client_uri": "https://claude.ai",
    "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
VS_CODE = {
    "client_name": "Visual Studio Code",
    "grant_types": [
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ],
    "response_types": ["code"],
    "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1:33418/"],
    "token_endpoint_auth_method": "none",
    "application_type": "native",
}
CHATGPT = {
    "client_name": "ChatGPT",
    "redirect_uris": ["https://chatgpt.com/connector/oauth/abc"],
    "token_endpoint_auth_method": "private_key_jwt",
    "token_endpoint_auth_signing_alg": "RS256",
    "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
}
CHATGPT_STABLE = CHATGPT | {
    "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
}


@pytest.mark.parametrize(
    "document, method",
    [
        (CLAUDE_CODE, "none"),
        (VS_CODE, "none"),
        (CHATGPT, "private_key_jwt"),
        (CHATGPT_STABLE, "none"),
        ({}, "none"),
        ({"jwks": JWKS, "token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt"),
        (
            {"jwks": JWKS, "token_endpoint_auth_methods_supported": ["private_key_jwt"]},
            "private_key_jwt",
        ),
        ({"token_endpoint_auth_methods_supported": ["client_secret_basic", "none"]}, "none"),
        ({"token_endpoint_auth_methods_supported": "none"}, "none"),
    ],
    ids=[
        "Claude Code",
        "VS Code",
        "ChatGPT",
        "ChatGPT with a choice",
        "plain",
        "own keys",
        "offers only keys",
        "offers a secret too",
        "odd offer",
    ],
)
async def test_a_document_is_a_client(
    clients: Clients, site: Origin, document: dict[str, Any], method: str
) -> None:
    client_id = publish(site, **document)
    client = await resolve(clients, client_id)
    assert client.id == client_id
    assert client.kind == "document"
    assert client.name == document.get("client_name", "App")
    assert client.redirect_uris == tuple(document.get("redirect_uris", [CALLBACK]))
    assert client.auth_method == method


async def test_a_name_is_cleaned(clients: Clients, site: Origin) -> None:
    client = await resolve(clients, publish(site, client_name="a\u202eb\n" + "c" * 200))
    assert client.name == "ab " + "c" * 97


async def test_redirect_uris_that_cannot_be_used_are_passed_over(
    clients: Clients, site: Origin
) -> None:
    uris = ["javascript:alert(1)", CALLBACK, "http://app.example/cb", 5]
    client = await resolve(clients, publish(site, redirect_uris=uris))
    assert client.redirect_uris == (CALLBACK,)


# --- documents that do not count ---------------------------------------------------------------


@pytest.mark.parametrize(
    "members, says",
    [
        ({"client_id": None}, "client_id: not the address"),
        ({"client_id": CALLBACK}, "client_id: not the address"),
        ({"client_name": None}, "client_name: missing"),
        ({"client_name": " \u200b"}, "client_name: missing"),
        ({"client_name": 5}, "client_name: missing"),
        ({"redirect_uris": None}, "redirect_uris: at least one"),
        ({"redirect_uris": []}, "redirect_uris: at least one"),
        ({"redirect_uris": ["javascript:x"]}, "redirect_uris[0]: the scheme javascript"),
        ({"redirect_uris": [CALLBACK] * 11}, "redirect_uris: more than 10"),
        ({"client_secret": "x"}, "client_secret: has no place"),
        ({"client_secret_expires_at": 0}, "client_secret: has no place"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "shares no secret"),
        ({"token_endpoint_auth_method": "client_secret_basic"}, "shares no secret"),
        ({"token_endpoint_auth_method": "client_secret_jwt"}, "only none and private_key_jwt"),
        ({"token_endpoint_auth_method": "tls_client_auth"}, "only none and private_key_jwt"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt needs jwks"),
        (CHATGPT | {"token_endpoint_auth_signing_alg": "HS256"}, "only RS256 and ES256"),
        (CHATGPT | {"jwks": JWKS}, "jwks: not beside jwks_uri"),
        (CHATGPT | {"jwks_uri": "https://10.0.0.1/jwks"}, "jwks_uri: the host is not"),
        (CHATGPT | {"jwks_uri": None, "jwks": {"keys": [{"kty": "oct", "k": "x"}]}}, "a private"),
        ({"pad": "x" * 6_000}, "longer than 5120 bytes"),
    ],
)
async def test_a_document_that_breaks_a_rule_is_no_client(
    clients: Clients, site: Origin, members: dict[str, Any], says: str
) -> None:
    assert says in await refusal(clients, publish(site, **members))


@pytest.mark.threat(number=14)
@pytest.mark.parametrize(
    "other", ["/oauth/client.json/", "/OAuth/client.json", "/oauth/client.json?"]
)
async def test_the_client_id_is_compared_character_by_character(
    clients: Clients, site: Origin, other: str
) -> None:
    client_id = publish(site)
    site.answers[other] = site.answers[PATH]
    assert "client_id: not the address" in await refusal(clients, site.url(other))
    assert (await resolve(clients, client_id)).id == client_id


@pytest.mark.parametrize(
    "path", ["", "/", "/?client=1", "/a/../client.json", "/./client.json", "/client.json#x"]
)
async def test_a_url_of_another_shape_is_no_client_id(
    clients: Clients, site: Origin, path: str
) -> None:
    await refusal(clients, site.url(path))
    assert site.requests == []


async def test_a_port_of_its_own_is_no_way_to_look_around(
    store: Store, clock: StillClock, site: Origin
) -> None:
    network = site.network(ports=frozenset({443}))
    clients = Clients.assemble(store, clock, ISSUER, network)
    assert "only the usual port" in await refusal(clients, publish(site))
    assert site.names == []


@pytest.mark.parametrize("client_id", ["https://x.example/" + "x" * 2_000, "https://ü.example/c"])
async def test_an_id_that_cannot_be_one_is_unknown(clients: Clients, client_id: str) -> None:
    await refusal(clients, client_id)
    with pytest.raises(OAuthError, match="not known here"):
        await at_token(clients, client_id)


# --- who may cause a fetch, and how often ------------------------------------------------------


async def test_it_can_be_told_beforehand_that_a_look_up_asks_somebody_else(
    clients: Clients,
) -> None:
    assert clients.needs_fetch("https://app.example/client.json")
    assert not clients.needs_fetch("clt_0123456789")
    assert not clients.needs_fetch("http://app.example/client.json")


async def test_a_token_request_of_a_client_that_nobody_ever_chose_fetches_nothing(
    clients: Clients, site: Origin
) -> None:
    client_id = publish(site)
    with pytest.raises(OAuthError) as caught:
        await at_token(clients, client_id)
    assert caught.value.error == "invalid_client"
    assert site.names == []


async def test_a_document_is_fetched_once_while_it_is_fresh(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    client_id = publish(site, "Cache-Control: max-age=3600")
    await resolve(clients, client_id)
    clock.move(minutes=59)
    await resolve(clients, client_id)
    await at_token(clients, client_id)
    assert len(site.requests) == 1
    clock.move(minutes=2)
    await resolve(clients, client_id)
    assert len(site.requests) == 2


async def test_a_clock_that_was_set_back_makes_nothing_fresh(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    client_id = publish(site, "Cache-Control: max-age=3600")
    await resolve(clients, client_id)
    clock.move(days=-30)
    await resolve(clients, client_id)
    assert len(site.requests) == 2


async def test_a_document_is_forgotten_a_day_after_it_was_last_wanted(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    registration = json.dumps({"redirect_uris": [CALLBACK]}).encode()
    client_id = publish(site)
    await resolve(clients, client_id)
    clock.move(hours=25)
    await resolve(clients, client_id)  # and now somebody looks at the consent page
    await clients.register(registration, None)
    await at_token(clients, client_id)
    clock.move(hours=25)
    site.answers.clear()
    await clients.register(registration, None)
    with pytest.raises(OAuthError, match="not known here"):
        await at_token(clients, client_id)


async def test_a_failure_is_not_kept(clients: Clients, site: Origin) -> None:
    client_id = publish(site, client_name=None)
    await refusal(clients, client_id)
    publish(site)
    assert (await resolve(clients, client_id)).name == "App"


# --- documents that change, or vanish ----------------------------------------------------------


async def test_what_a_document_says_now_counts_for_the_next_authorization(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    before = await resolve(clients, publish(site))
    clock.move(minutes=6)
    after = await resolve(clients, publish(site, redirect_uris=["https://app.example/new"]))
    assert after.redirect_uris == ("https://app.example/new",)
    assert after.metadata["digest"] != before.metadata["digest"]
    assert after.created_at == before.created_at


async def test_the_same_document_laid_out_otherwise_has_the_same_digest(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    client_id = publish(site, a=1, b=2)
    before = await resolve(clients, client_id)
    clock.move(minutes=6)
    publish(site, b=2, a=1)
    assert (await resolve(clients, client_id)).metadata == before.metadata
    assert len(site.requests) == 2


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy", "302 Found"])
async def test_a_new_authorization_needs_a_document_that_is_there(
    clients: Clients, site: Origin, clock: StillClock, status: str
) -> None:
    client_id = publish(site)
    await resolve(clients, client_id)
    clock.move(minutes=6)
    site.answers[PATH] = answer({}, status=status)
    with pytest.raises(OAuthError) as caught:
        await resolve(clients, client_id)
    passing = caught.value.error == "temporarily_unavailable"
    assert passing == status.startswith("503")


@pytest.mark.parametrize(
    "vanished",
    [answer({}, status="404 Not Found"), answer({}, status="503 Busy"), answer({}), b""],
    ids=["404", "503", "empty document", "no answer"],
)
async def test_a_connection_that_exists_outlives_an_outage_of_its_document(
    clients: Clients, site: Origin, clock: StillClock, vanished: bytes
) -> None:
    client_id = publish(site)
    await resolve(clients, client_id)
    site.answers[PATH] = vanished
    for days in (1, 30):
        clock.move(days=days)
        assert (await at_token(clients, client_id)).redirect_uris == (CALLBACK,)
    assert len(site.requests) == 3
    publish(site, redirect_uris=["https://app.example/new"])
    clock.move(minutes=6)
    assert (await at_token(clients, client_id)).redirect_uris == ("https://app.example/new",)


async def test_an_outage_is_not_looked_at_with_every_token_request(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    client_id = publish(site)
    await resolve(clients, client_id)
    site.answers.clear()
    clock.move(minutes=6)
    for _ in range(20):
        await at_token(clients, client_id)
    assert len(site.requests) == 2


async def test_a_client_that_now_has_keys_has_to_use_them(
    clients: Clients, site: Origin, clock: StillClock
) -> None:
    client_id = publish(site)
    await resolve(clients, client_id)
    await at_token(clients, client_id)
    publish(site, token_endpoint_auth_method="private_key_jwt", jwks=JWKS)
    clock.move(minutes=6)
    with pytest.raises(OAuthError, match="registered for private_key_jwt") as caught:
        await at_token(clients, client_id)
    assert caught.value.error == "invalid_client"
