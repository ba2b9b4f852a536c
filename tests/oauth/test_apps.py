"""Each app as it really behaves, from registration to a stored memory; what they do wrong included.

What was seen in public reports is repeated here; see docs/explanation/client-quirks.md.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from rememberd.errors import StorageError
from tests.oauth.person import Person
from tests.oauth.program import (
    ALL,
    READ,
    REFLECT,
    WRITE,
    Program,
    Tokens,
    ask,
    call,
    comes_in,
    register,
    result,
    scopes_of,
    works,
)
from tests.oauth.world import World, running

# --- apps that register --------------------------------------------------------------------------

VS_CODE = ("https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect")


@pytest.mark.parametrize(
    "uris, asked",
    [
        # Claude on the web and on the desktop
        (["https://claude.ai/api/mcp/auth_callback"], None),
        # ChatGPT: an address for each connector, and the one from before
        pytest.param(
            ["https://chatgpt.com/connector/oauth/abcDEF123"],
            None,
            marks=pytest.mark.quirk(number=10),
        ),
        pytest.param(
            ["https://chatgpt.com/connector_platform_oauth_redirect"],
            None,
            marks=pytest.mark.quirk(number=10),
        ),
        # Grok
        pytest.param(
            ["https://grok.com/connectors-oauth-exchange-code/"],
            None,
            marks=pytest.mark.quirk(number=25),
        ),
        # Cursor: three addresses at once, one of a scheme of its own with an authority
        pytest.param(
            [
                "cursor://anysphere.cursor-mcp/oauth/callback",
                "https://www.cursor.com/agents/mcp/oauth/callback",
                "http://localhost:8787/callback",
            ],
            "cursor://anysphere.cursor-mcp/oauth/callback",
            marks=pytest.mark.quirk(number=9),
        ),
        # VS Code: 33418, with a slash or without; another port when that one is taken
        pytest.param(
            [*VS_CODE, "http://127.0.0.1/", "http://127.0.0.1:33418/"],
            "http://127.0.0.1:33418",
            marks=pytest.mark.quirk(number=6),
        ),
        pytest.param(
            [*VS_CODE, "http://127.0.0.1/", "http://127.0.0.1:33418/"],
            "http://127.0.0.1:51234/",
            marks=pytest.mark.quirk(number=6),
        ),
        pytest.param(
            [*VS_CODE, "http://127.0.0.1", "http://127.0.0.1:33418"],
            "http://127.0.0.1:33418/",
            marks=pytest.mark.quirk(number=6),
        ),
        pytest.param(
            [*VS_CODE, "http://127.0.0.1/", "http://127.0.0.1:33418/"],
            VS_CODE[1],
            marks=pytest.mark.quirk(number=6),
        ),
        # Copilot CLI, mcp2cli, kimi-code: a client id from a cache, and a new port
        pytest.param(
            ["http://127.0.0.1:41001/callback"],
            "http://127.0.0.1:52002/callback",
            marks=pytest.mark.quirk(number=27),
        ),
        pytest.param(
            ["http://localhost:41001/callback"],
            "http://localhost:52002/callback",
            marks=pytest.mark.quirk(number=27),
        ),
        pytest.param(
            ["http://[::1]:41001/callback"],
            "http://[::1]:52002/callback",
            marks=pytest.mark.quirk(number=27),
        ),
        # Claude Code, Codex, Gemini CLI
        (["http://localhost:54545/callback"], "http://localhost:54545/callback"),
        (["http://127.0.0.1:1455/callback"], "http://127.0.0.1:1455/callback"),
        (["http://localhost:7777/oauth/callback"], None),
        # Goose, Raycast and others with a scheme of their own
        (["goose://oauth/callback"], None),
        (["com.example.app:/oauth2redirect"], None),
    ],
    ids=str,
)
def test_an_app_comes_in_by_the_address_it_uses(
    world: World, alice: Person, uris: list[str], asked: str | None
) -> None:
    app = Program.registered(world, redirect_uris=uris)
    comes_in(app, alice, asked or uris[0])


@pytest.mark.threat(number=2)
@pytest.mark.quirk(number=10)
@pytest.mark.parametrize(
    "registered, asked",
    [
        ("http://localhost:41001/callback", "http://127.0.0.1:41001/callback"),
        ("http://127.0.0.1:41001/callback", "http://127.0.0.1:41001/callback/"),
        ("http://127.0.0.1:41001/callback", "http://127.0.0.1:41001/callback?a=b"),
        ("https://app.example/callback", "https://app.example:444/callback"),
        ("https://app.example/callback", "https://app.example/callback/"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor://other/oauth/callback"),
    ],
)
def test_nothing_but_the_port_on_this_computer_may_differ(
    world: World, alice: Person, registered: str, asked: str
) -> None:
    app = Program.registered(world, redirect_uris=[registered])
    page = alice.open(app.link(redirect_uri=asked).url)
    assert (page.status, page.location) == (400, None)


@pytest.mark.quirk(number=18)
@pytest.mark.quirk(number=26)
@pytest.mark.parametrize(
    "uri", ["https://app.example/callback", "http://127.0.0.1:33418", "http://localhost/cb?x=1"]
)
def test_addresses_come_back_as_they_were_sent(world: World, uri: str) -> None:
    """mcp-remote takes the answer's for its own (punkpeye/mcp-remote PR#292)."""
    made = register(world, redirect_uris=[uri]).json
    assert made["redirect_uris"] == [uri]
    assert all(value is not None for value in made.values())


@pytest.mark.quirk(number=12)
@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
def test_the_method_that_was_asked_for_is_the_one_that_is_answered(
    world: World, alice: Person, method: str
) -> None:
    """ChatGPT refuses a server that answers another one (django-oauth-toolkit-dcr PR#1)."""
    made = register(world, token_endpoint_auth_method=method).json
    assert made["token_endpoint_auth_method"] == method
    assert ("client_secret" in made) is (method != "none")
    app = Program(world, made["client_id"])
    link = app.link()
    code = app.code(alice, link, [READ])
    assert redeem_as(world, app, made, code, link.verifier).status == 200


def basic(client_id: str, secret: str) -> tuple[str, str]:
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return ("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")


def redeem_as(world: World, app: Program, made: dict[str, Any], code: str, verifier: str) -> Any:
    fields: dict[str, str | None] = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        "redirect_uri": app.redirect_uri,
    }
    match made["token_endpoint_auth_method"]:
        case "none":
            return world.form("/token", {**fields, "client_id": made["client_id"]})
        case "client_secret_post":
            named = {"client_id": made["client_id"], "client_secret": made["client_secret"]}
            return world.form("/token", fields | named)
        case _:
            header = basic(made["client_id"], made["client_secret"])
            return world.form("/token", fields, header)


@pytest.mark.quirk(number=23)
def test_a_public_client_may_name_itself_in_the_header(world: World, alice: Person) -> None:
    """metamcp #342: the client_id in a Basic header, without a secret, and nowhere else."""
    app = Program.registered(world)
    link = app.link()
    code = app.code(alice, link, [READ])
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": link.verifier,
        "redirect_uri": app.redirect_uri,
    }
    assert world.form("/token", fields, basic(app.client_id, "")).status == 200


@pytest.mark.quirk(number=28)
def test_a_client_that_was_forgotten_is_told_so_where_it_listens(world: World) -> None:
    """Claude registers anew on exactly this (fastmcp #1762)."""
    app = Program(world, "clt_purged")
    reply = app.refresh("mrt_of_before")
    assert (reply.status, reply.json["error"]) == (401, "invalid_client")
    assert "www-authenticate" not in reply.headers
    tried = world.form("/token", {"grant_type": "refresh_token"}, basic("clt_purged", "x"))
    assert tried.status == 401
    assert tried.headers["www-authenticate"].startswith("Basic ")


# --- scopes --------------------------------------------------------------------------------------


@pytest.mark.quirk(number=20)
def test_scopes_of_a_registration_bind_nobody(world: World, alice: Person) -> None:
    """Or no client could ever step up (python-sdk #2216)."""
    app = Program.registered(world, scope=READ)
    assert app.connect(alice, ALL).scope.split() == list(ALL)


@pytest.mark.quirk(number=22)
def test_whoever_asks_for_all_that_is_listed_asks_for_little(world: World, alice: Person) -> None:
    """Codex, Claude Code and VS Code ask for every scope of the metadata (codex #15643)."""
    listed = world.get("/.well-known/oauth-authorization-server").json["scopes_supported"]
    app = Program.registered(world)
    link = app.link(" ".join(listed))
    page = alice.ask_consent(link.url)
    assert page.form(having="decision").ticked("scope") == {READ}


@pytest.mark.quirk(number=22)
def test_a_person_grants_less_or_more_than_was_asked_and_the_answer_says_so(
    world: World, alice: Person
) -> None:
    app = Program.registered(world)
    for asked, granted in (((READ, WRITE), [READ]), ((READ,), [READ, WRITE]), (ALL, [WRITE])):
        tokens = app.connect(alice, granted, asked=" ".join(asked))
        assert tokens.scope.split() == granted
        if READ in granted:
            assert scopes_of(world, tokens.access) == set(granted)


@pytest.mark.quirk(number=19)
def test_a_challenge_asks_for_what_is_held_and_what_is_missing_and_never_changes(
    world: World, alice: Person
) -> None:
    """Clients replace what they hold by what they are asked for, and loop over a challenge that
    differs each time (claude-code #44652, typescript-sdk #1582).
    """
    app = Program.registered(world)
    tokens = app.connect(alice, [READ, REFLECT])
    said = [result(call(world, tokens.access, "store_memory", content="x")) for _ in range(2)]
    challenges = {one["_meta"]["mcp/www_authenticate"][0] for one in said}
    (challenge,) = challenges
    assert f'scope="{READ} {WRITE} {REFLECT}"' in challenge
    alice.change(alice.connections()[0], f"allow {WRITE}")
    assert not result(call(world, tokens.access, "store_memory", content="x")).get("isError")
    newer = Tokens.of(app.refresh(tokens.refresh, scope=f"{READ} {REFLECT}"))
    assert not result(call(world, newer.access, "store_memory", content="x")).get("isError")


@pytest.mark.quirk(number=19)
def test_a_resource_that_is_refused_asks_for_what_is_held_too(world: World, alice: Person) -> None:
    tokens = Program.registered(world).connect(alice, [WRITE])
    reply = ask(world, tokens.access, "resources/read", {"uri": "memory://vault/stats"})
    assert reply.status == 403
    assert f'scope="{READ} {WRITE}"' in reply.headers["www-authenticate"]


# --- faults of ours ------------------------------------------------------------------------------


@dataclass
class Broken:
    """Control cannot be written to, until `mend`."""

    world: World
    patch: pytest.MonkeyPatch

    def make(self, error: Exception) -> None:
        async def write(*_: object, **__: object) -> None:
            raise error

        self.patch.setattr(self.world.app.engine.store.control, "write", write)

    def mend(self) -> None:
        self.patch.undo()


@pytest.fixture
def broken(world: World) -> Iterator[Broken]:
    with pytest.MonkeyPatch.context() as patch:
        yield Broken(world, patch)


@pytest.mark.quirk(number=4)
def test_a_fault_of_ours_costs_no_client_its_credentials(
    world: World, alice: Person, broken: Broken
) -> None:
    """Gemini CLI and others throw them away over any refusal (gemini-cli #29048)."""
    app = Program.registered(world)
    tokens = app.connect(alice)
    for error, status, code in (
        (StorageError(), 503, "temporarily_unavailable"),
        (ZeroDivisionError(), 500, "server_error"),
    ):
        broken.make(error)
        for reply in (app.refresh(tokens.refresh), app.revoke(tokens.refresh)):
            assert (reply.status, reply.json["error"]) == (status, code)
        broken.mend()
    assert works(world, tokens.access)
    assert app.refresh(tokens.refresh).status == 200


@pytest.mark.quirk(number=3)
def test_whoever_keeps_old_tokens_for_long_can_be_given_a_longer_window(data: Any) -> None:
    """Codex holds on to a generation for up to an hour (Exceptionless PR#2404)."""
    with running(data, {"refresh_grace_seconds": 3600}) as world:
        app = Program.registered(world)
        tokens = app.connect(Person(world, "bob@example.com").set_up())
        newer = Tokens.of(app.refresh(tokens.refresh))
        world.clock.move(minutes=59)
        assert Tokens.of(app.refresh(tokens.refresh)).refresh == newer.refresh


@pytest.mark.quirk(number=8)
@pytest.mark.quirk(number=17)
def test_whoever_never_refreshes_gets_the_same_answer_again_and_again(
    world: World, alice: Person
) -> None:
    """Claude often does not (claude-ai-mcp #228); the challenge has to tell it to sign in."""
    tokens = Program.registered(world).connect(alice)
    world.clock.move(seconds=tokens.expires_in)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    headers = [("Content-Type", "application/json"), ("Authorization", f"Bearer {tokens.access}")]
    replies = [world.send("POST", "/mcp", body, headers) for _ in range(5)]
    assert {reply.status for reply in replies} == {401}
    assert len({reply.headers["www-authenticate"] for reply in replies}) == 1
    assert 'error="invalid_token"' in replies[0].headers["www-authenticate"]
