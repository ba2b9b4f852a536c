"""Codes: bound to their client, request and moment, good once, and telling when they are stolen."""

from collections import Counter

import pytest

from tests.oauth.at_once import at_once
from tests.oauth.person import Person
from tests.oauth.program import CALLBACK, READ, Program, Tokens, bearer, works
from tests.oauth.world import World


@pytest.fixture(scope="module")
def app(world: World) -> Program:
    return Program.registered(world)


@pytest.fixture(scope="module")
def other(world: World) -> Program:
    """Another app, at the same address."""
    return Program.registered(world, client_name="Another app")


@pytest.mark.threat(number=4)
def test_of_twenty_redemptions_at_once_one_succeeds_and_then_all_is_over(
    world: World, alice: Person, app: Program
) -> None:
    """Nineteen were replays, so somebody has the code who should not (RFC 6749 §4.1.2)."""
    link = app.link()
    code = app.code(alice, link)
    replies = at_once(20, lambda _: app.redeem(code, link.verifier))
    assert Counter(reply.status for reply in replies) == {200: 1, 400: 19}
    assert {reply.json["error"] for reply in replies if reply.status == 400} == {"invalid_grant"}
    tokens = Tokens.of(next(reply for reply in replies if reply.status == 200))
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"


@pytest.mark.threat(number=4)
def test_a_replay_ends_what_the_code_was_exchanged_for(
    world: World, alice: Person, app: Program
) -> None:
    link = app.link()
    code = app.code(alice, link)
    tokens = Tokens.of(app.redeem(code, link.verifier))
    assert works(world, tokens.access)
    assert app.redeem(code, link.verifier).json["error"] == "invalid_grant"
    assert not works(world, tokens.access)


@pytest.mark.threat(number=4)
def test_another_client_neither_uses_up_a_code_nor_ends_anything(
    world: World, alice: Person, app: Program, other: Program
) -> None:
    link = app.link()
    code = app.code(alice, link)
    assert other.redeem(code, link.verifier).json["error"] == "invalid_grant"
    tokens = Tokens.of(app.redeem(code, link.verifier))
    assert other.redeem(code, link.verifier).json["error"] == "invalid_grant"
    assert works(world, tokens.access)


@pytest.mark.threat(number=4)
@pytest.mark.threat(number=5)
def test_a_wrong_verifier_uses_the_code_up(alice: Person, app: Program) -> None:
    link = app.link()
    code = app.code(alice, link)
    assert app.redeem(code, "w" * 43).json["error"] == "invalid_grant"
    assert app.redeem(code, link.verifier).json["error"] == "invalid_grant"


@pytest.mark.threat(number=5)
@pytest.mark.parametrize("verifier", [None, "", "short", "x" * 129, "ü" * 43])
def test_a_code_needs_its_verifier(alice: Person, app: Program, verifier: str | None) -> None:
    link = app.link()
    code = app.code(alice, link)
    assert app.redeem(code, verifier).json["error"] == "invalid_grant"


@pytest.mark.threat(number=4)
@pytest.mark.parametrize(
    "changes, error",
    [
        ({"redirect_uri": "http://127.0.0.1:9998/callback"}, "invalid_grant"),
        ({"redirect_uri": f"{CALLBACK}/"}, "invalid_grant"),
        ({"redirect_uri": None}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"code": "mac_wrong"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"client_id": None}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": None}, "invalid_request"),
    ],
    ids=str,
)
def test_what_does_not_belong_to_the_request_is_refused_and_nothing_is_used_up(
    alice: Person, app: Program, changes: dict[str, str | None], error: str
) -> None:
    link = app.link()
    code = app.code(alice, link)
    assert app.redeem(code, link.verifier, **changes).json["error"] == error
    assert app.redeem(code, link.verifier).status == 200


@pytest.mark.threat(number=4)
def test_codes_of_two_requests_are_not_exchanged(alice: Person, app: Program) -> None:
    one, two = app.link(), app.link()
    code = app.code(alice, one)
    assert app.redeem(code, two.verifier).json["error"] == "invalid_grant"


def test_a_redirect_uri_that_was_left_out_is_not_asked_for_again(
    alice: Person, app: Program
) -> None:
    link = app.link(redirect_uri=None)
    code = app.code(alice, link)
    assert app.redeem(code, link.verifier, redirect_uri=None).status == 200


@pytest.mark.quirk(number=21)
def test_a_resource_that_was_left_out_is_the_only_one(
    world: World, alice: Person, app: Program
) -> None:
    link = app.link(resource=None)
    tokens = Tokens.of(app.redeem(app.code(alice, link), link.verifier, resource=None))
    assert works(world, tokens.access)


@pytest.mark.threat(number=27)
@pytest.mark.parametrize("name", ["code", "client_id", "grant_type", "redirect_uri", "x"])
def test_a_field_that_is_sent_twice_is_refused(
    world: World, alice: Person, app: Program, name: str
) -> None:
    link = app.link()
    code = app.code(alice, link)
    fields = [
        ("grant_type", "authorization_code"),
        *(("code", code), ("code_verifier", link.verifier)),
        *(("redirect_uri", CALLBACK), ("client_id", app.client_id)),
    ]
    reply = world.form("/token", [*fields, (name, "a"), (name, "b")])
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")
    assert world.form("/token", fields).status == 200


@pytest.mark.threat(number=28)
@pytest.mark.quirk(number=26)
def test_the_answer_is_for_its_client_alone(world: World, alice: Person, app: Program) -> None:
    link = app.link(f"{READ} offline_access")
    reply = app.redeem(app.code(alice, link), link.verifier)
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["pragma"] == "no-cache"
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["token_type"] == "Bearer"
    assert reply.json["scope"] == READ
    assert type(reply.json["expires_in"]) is int
    assert reply.json["expires_in"] == 3600
    assert set(reply.json) == {
        *("access_token", "token_type", "expires_in", "refresh_token", "scope")
    }
    refused = app.redeem("mac_wrong", link.verifier)
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["content-type"] == "application/json"


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data"])
def test_only_a_form_is_a_form(world: World, kind: str) -> None:
    body = b"grant_type=authorization_code"
    reply = world.send("POST", "/token", body, [("Content-Type", kind)])
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("body", [b"\xff\xfe", b"&".join(b"a%d=1" % n for n in range(80))])
def test_a_form_that_cannot_be_read_is_refused(world: World, body: bytes) -> None:
    kind = [("Content-Type", "application/x-www-form-urlencoded")]
    reply = world.send("POST", "/token", body, kind)
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")


def test_a_query_is_not_a_form(world: World, alice: Person, app: Program) -> None:
    """What stands in an address is logged, kept and passed on."""
    link = app.link()
    code = app.code(alice, link)
    path = (
        f"/token?grant_type=authorization_code&code={code}&code_verifier={link.verifier}"
        f"&client_id={app.client_id}"
    )
    assert world.form(path, {}).status == 401
    assert world.get(path).status == 405


def test_a_code_is_no_token(world: World, alice: Person, app: Program) -> None:
    code = app.code(alice, app.link())
    assert world.send("POST", "/mcp", b"{}", [bearer(code)]).status == 401


# --- time ----------------------------------------------------------------------------------------


def test_a_code_is_good_for_a_minute(moving: World) -> None:
    bob = Person(moving, "bob@example.com").set_up()
    app = Program.registered(moving)
    for seconds, status in ((59, 200), (60, 400)):
        link = app.link()
        code = app.code(bob, link)
        moving.clock.move(seconds=seconds)
        assert app.redeem(code, link.verifier).status == status


def test_a_code_outlives_a_restart_and_so_does_its_replay(moving: World) -> None:
    bob = Person(moving, "bob@example.com").set_up()
    app = Program.registered(moving)
    link = app.link()
    code = app.code(bob, link)
    moving.restart()
    tokens = Tokens.of(app.redeem(code, link.verifier))
    moving.restart()
    assert works(moving, tokens.access)
    assert app.redeem(code, link.verifier).status == 400
    assert not works(moving, tokens.access)
