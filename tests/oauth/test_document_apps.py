"""Apps that are a URL: what is published there decides, and it is fetched for nobody but people who
signed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rememberd.auth.assertions import TYPE
from tests.auth.origin import Origin, answer
from tests.auth.signing import claims, forged_with_public_key, published, raw, rsa, signed
from tests.oauth.person import Person
from tests.oauth.program import READ, WRITE, Program, Tokens, comes_in, register, store, works
from tests.oauth.site import site_running
from tests.oauth.world import World, running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Origin]:
    with site_running(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def reaching(site: Origin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server for which every host of the world is that site."""
    data = tmp_path_factory.mktemp("reaching") / "data"
    with running(data, network=site.network()) as world:
        yield world


@pytest.fixture(scope="module")
def carol(reaching: World) -> Person:
    return Person(reaching, "carol@example.com").set_up()


def publish(site: Origin, path: str, **document: Any) -> str:
    """A client's document; returns the client_id."""
    client_id = site.url(path)
    usual = {"client_id": client_id, "client_name": "App", "token_endpoint_auth_method": "none"}
    site.answers[path] = answer(usual | document)
    return client_id


LOOPBACK = ["http://localhost/callback", "http://127.0.0.1/callback"]


@pytest.mark.quirk(number=5)
@pytest.mark.parametrize(
    "asked", ["http://localhost:61234/callback", "http://127.0.0.1:8/callback"]
)
def test_claude_code_uses_any_port_of_an_address_without_one(
    reaching: World, carol: Person, site: Origin, asked: str
) -> None:
    client_id = publish(
        site,
        "/oauth/claude-code-client-metadata",
        client_name="Claude Code",
        redirect_uris=LOOPBACK,
        grant_types=["authorization_code", "refresh_token"],
    )
    comes_in(Program(reaching, client_id), carol, asked)


@pytest.mark.quirk(number=7)
def test_vs_code_names_grants_that_we_do_not_have(
    reaching: World, carol: Person, site: Origin
) -> None:
    """toolhive #6290: `device_code` in its document."""
    client_id = publish(
        site,
        "/oauth/client-metadata.json",
        client_name="Visual Studio Code",
        redirect_uris=["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
        grant_types=[
            *("authorization_code", "refresh_token"),
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        response_types=["code", "none"],
        application_type="native",
        logo_uri="http://169.254.169.254/logo.png",
    )
    comes_in(Program(reaching, client_id), carol, "http://127.0.0.1:40404")


CHATGPT = "https://chatgpt.com/connector/oauth/abcDEF123"


@pytest.mark.quirk(number=11)
@pytest.mark.parametrize(
    "offered", [["none", "private_key_jwt"], ["private_key_jwt"], None], ids=str
)
def test_chatgpt_signs(
    reaching: World, carol: Person, site: Origin, offered: list[str] | None
) -> None:
    """django-oauth-toolkit #1845: locked out wherever this was not understood."""
    site.answers["/oauth/jwks.json"] = answer(published(rsa()))
    more = {"token_endpoint_auth_methods_supported": offered} if offered else {}
    client_id = publish(
        site,
        f"/oauth/{'-'.join(offered or ['only'])}/client.json",
        client_name="ChatGPT",
        redirect_uris=[CHATGPT],
        token_endpoint_auth_method="private_key_jwt",
        token_endpoint_auth_signing_alg="RS256",
        jwks_uri=site.url("/oauth/jwks.json"),
        **more,
    )

    def proof(audience: str) -> dict[str, str | None]:
        body = claims(client_id, reaching.clock, aud=audience)
        assertion = signed(rsa(), body)
        return {"client_assertion_type": TYPE, "client_assertion": assertion}

    app = Program(reaching, client_id, CHATGPT)
    link = app.link(f"{READ} {WRITE}")
    code = app.code(carol, link, [READ, WRITE])
    reply = app.redeem(code, link.verifier, **proof(reaching.url))
    tokens = Tokens.of(reply)
    store(reaching, tokens.access, "ChatGPT was here.")
    tokens = Tokens.of(app.refresh(tokens.refresh, **proof(f"{reaching.url}/token")))
    unsigned = app.refresh(tokens.refresh)
    assert unsigned.status == (200 if offered and "none" in offered else 401)


@pytest.mark.threat(number=25)
def test_a_forged_signature_gets_nothing_and_spoils_nothing(
    reaching: World, carol: Person, site: Origin
) -> None:
    site.answers["/forged/jwks.json"] = answer(published(rsa()))
    client_id = publish(
        site,
        "/forged/client.json",
        redirect_uris=[CHATGPT],
        token_endpoint_auth_method="private_key_jwt",
        jwks_uri=site.url("/forged/jwks.json"),
    )
    app = Program(reaching, client_id, CHATGPT)
    link = app.link()
    code = app.code(carol, link, [READ])
    body = claims(client_id, reaching.clock, aud=reaching.url)
    for forgery in (
        raw({"alg": "none", "kid": rsa().kid}, body),
        forged_with_public_key(rsa(), body),
        signed(rsa("mallory"), body, kid=rsa().kid),
        signed(rsa(), body | {"aud": "https://elsewhere.example"}),
        signed(rsa(), body | {"iss": "clt_other"}),
    ):
        sent = {"client_assertion_type": TYPE, "client_assertion": forgery}
        reply = app.redeem(code, link.verifier, **sent)
        assert (reply.status, reply.json["error"]) == (401, "invalid_client")
    good = {"client_assertion_type": TYPE, "client_assertion": signed(rsa(), body)}
    tokens = Tokens.of(app.redeem(code, link.verifier, **good))
    replayed = app.refresh(tokens.refresh, **good)
    assert (replayed.status, replayed.json["error"]) == (401, "invalid_client")


@pytest.mark.threat(number=8)
def test_consent_says_where_the_app_is_described_and_where_the_answer_goes(
    reaching: World, carol: Person, site: Origin
) -> None:
    """Its name is its own choice; these two are not (draft-ietf-oauth-client-id-metadata-document
    §6, MCP authorization: the host has to be shown).
    """
    client_id = publish(site, "/posing.json", client_name="Claude", redirect_uris=[CHATGPT])
    page = carol.ask_consent(Program(reaching, client_id, CHATGPT).link().url)
    host = client_id.removeprefix("https://").partition("/")[0]
    assert f"It is described at {host}" in page.text
    assert "Your answer goes to chatgpt.com" in page.text
    assert "Claude not verified" in page.text


@pytest.mark.quirk(number=32)
def test_a_second_installation_does_not_end_the_first(
    reaching: World, carol: Person, site: Origin
) -> None:
    """One client_id is every installation (workers-oauth-provider #297, sentry-mcp PR#925)."""
    client_id = publish(site, "/shared.json", redirect_uris=LOOPBACK)
    laptop = comes_in(Program(reaching, client_id), carol, "http://127.0.0.1:5001/callback")
    desktop = comes_in(Program(reaching, client_id), carol, "http://127.0.0.1:5002/callback")
    assert works(reaching, laptop.access)
    assert works(reaching, desktop.access)
    grants = carol.connections()
    carol.change(grants[0], "revoke")
    assert works(reaching, laptop.access)
    assert not works(reaching, desktop.access)


@pytest.mark.threat(number=15)
def test_nobody_makes_us_fetch_who_has_not_signed_in(
    reaching: World, carol: Person, site: Origin
) -> None:
    client_id = publish(site, "/strangers.json", redirect_uris=LOOPBACK)
    app = Program(reaching, client_id, "http://127.0.0.1:5003/callback")
    before = len(site.requests)
    stranger = Person(reaching, "stranger@example.com")
    page = stranger.open(app.link().url)
    assert page.url.startswith(f"{reaching.url}/sign-in?")
    app.refresh("mrt_wrong")
    app.redeem("mac_wrong", "v" * 43)
    app.revoke("mat_wrong")
    register(reaching, jwks_uri=site.url("/jwks.json"), logo_uri=site.url("/logo.png"))
    assert len(site.requests) == before
    assert carol.ask_consent(app.link().url).form(having="decision")
    assert site.paths[before:] == ["/strangers.json"]


def test_a_document_that_cannot_be_had_is_shown_and_sent_nowhere(
    reaching: World, carol: Person, site: Origin
) -> None:
    app = Program(reaching, site.url("/missing.json"), "https://evil.example/callback")
    page = carol.open(app.link().url)
    assert (page.status, page.location) == (400, None)


def test_where_documents_are_turned_off_none_is_fetched_and_none_is_promised(
    site: Origin, data: Path
) -> None:
    client_id = publish(site, "/off.json", redirect_uris=LOOPBACK)
    with running(data, {"client_documents": False}, network=site.network()) as world:
        dave = Person(world, "dave@example.com").set_up()
        before = len(site.requests)
        app = Program(world, client_id, "http://127.0.0.1:5004/callback")
        assert dave.open(app.link().url).status == 400
        assert len(site.requests) == before
        metadata = world.get("/.well-known/oauth-authorization-server").json
        assert metadata["client_id_metadata_document_supported"] is False
