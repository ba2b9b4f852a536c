"""How often strangers may ask, and that good clients do not pay for it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.serving import Reply
from tests.oauth.at_once import at_once
from tests.oauth.person import Person
from tests.oauth.program import JSON, Program, Tokens, ask, bearer, register, works
from tests.oauth.world import World, running

STRANGERS = 20  # a minute
LIMITED = {"registrations_per_hour": 10, "strangers_per_minute": STRANGERS}


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    """Behind a proxy on this machine, which says who asks."""
    with running(data, {**LIMITED, "trusted_proxies": ["127.0.0.1"]}) as world:
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com", address="198.51.100.1").set_up()


@pytest.fixture
def bare(data: Path) -> Iterator[World]:
    """Without a proxy: whoever claims to be elsewhere is here."""
    with running(data, LIMITED) as world:
        yield world


def from_(address: str) -> tuple[str, str]:
    return ("X-Forwarded-For", address)


def register_from(world: World, address: str) -> Reply:
    body = b'{"redirect_uris": ["http://127.0.0.1/callback"]}'
    return world.send("POST", "/register", body, [JSON, from_(address)])


# --- registration --------------------------------------------------------------------------------


@pytest.mark.threat(number=16)
@pytest.mark.quirk(number=31)
def test_the_eleventh_registration_of_an_hour_waits(world: World) -> None:
    assert [register(world).status for _ in range(10)] == [201] * 10
    refused = register(world)
    assert refused.status == 429
    assert refused.json["error"] == "temporarily_unavailable"
    assert refused.headers["access-control-allow-origin"] == "*"
    seconds = int(refused.headers["retry-after"])
    assert 0 < seconds <= 3600
    world.clock.move(seconds=seconds)
    assert register(world).status == 201


@pytest.mark.threat(number=16)
def test_of_thirty_registrations_at_once_ten_are_made(world: World) -> None:
    statuses = Counter(at_once(30, lambda _: register(world).status))
    assert statuses == {201: 10, 429: 20}


def test_only_registrations_that_were_made_count(world: World) -> None:
    for _ in range(15):
        assert register(world, redirect_uris=["javascript:alert(1)"]).status == 400
    assert register(world).status == 201


@pytest.mark.threat(number=16)
def test_whoever_claims_to_be_elsewhere_is_counted_where_they_are(bare: World) -> None:
    statuses = [register_from(bare, f"203.0.113.{n}").status for n in range(11)]
    assert statuses == [201] * 10 + [429]


def test_addresses_behind_a_known_proxy_are_counted_apart(world: World) -> None:
    assert [register_from(world, "203.0.113.1").status for _ in range(11)][-1] == 429
    assert register_from(world, "203.0.113.2").status == 201
    # What the client itself put in front of the proxy's word is not believed.
    assert register_from(world, "203.0.113.3, 203.0.113.1").status == 429


@pytest.mark.threat(number=16)
def test_all_of_an_ipv6_network_is_one_subscriber(world: World) -> None:
    statuses = [register_from(world, f"2001:db8:1:2::{n:x}").status for n in range(11)]
    assert statuses == [201] * 10 + [429]
    assert register_from(world, "2001:db8:1:3::1").status == 201


@pytest.mark.quirk(number=31)
def test_registration_shares_its_limit_with_nothing(world: World, alice: Person) -> None:
    app = Program.registered(world)
    while register(world).status == 201:
        pass
    tokens = app.connect(alice)
    assert app.refresh(tokens.refresh).status == 200
    assert app.revoke(tokens.access).status == 200


# --- strangers -----------------------------------------------------------------------------------


def test_strangers_wait_and_good_credentials_pass(world: World, alice: Person) -> None:
    app = Program.registered(world)
    tokens = app.connect(alice)
    assert {ask(world, "mat_wrong", "ping").status for _ in range(STRANGERS)} <= {401}
    refused = ask(world, "mat_wrong", "ping")
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) <= 60
    assert ask(world, None, "ping").status == 429
    assert works(world, tokens.access)
    assert (
        world.send("POST", "/mcp", b"{}", [bearer("mk_wrong"), from_("203.0.113.9")]).status == 401
    )
    world.clock.move(seconds=61)
    assert ask(world, "mat_wrong", "ping").status == 401


def test_an_app_with_a_dead_token_shuts_nothing_for_people(world: World, alice: Person) -> None:
    """On one's own machine every app and the browser have the same address."""
    for _ in range(STRANGERS + 5):
        ask(world, "mat_wrong", "ping")
    assert ask(world, "mat_wrong", "ping").status == 429
    for path in ("/", "/connections", "/health", "/ready", "/sign-out"):
        assert alice.open(path).status == 200, path
    known = "/.well-known/oauth-authorization-server"
    assert [world.get(path).status for path in (known, "/health", "/ready")] == [200] * 3
    preflight = [("Origin", "http://localhost:6274"), ("Access-Control-Request-Method", "POST")]
    assert world.send("OPTIONS", "/mcp", None, preflight).status < 300
    assert register(world).status == 201
    assert Person(world, alice.email).sign_in().status == 200


def test_whoever_is_signed_in_is_let_through_where_strangers_wait(
    world: World, alice: Person
) -> None:
    app = Program.registered(world)
    for path in ("/sign-in", "/nowhere"):
        for _ in range(STRANGERS * 10):
            world.get(path)
        assert world.get(path).status == 429
    refused = world.get("/sign-in", ("Accept", "text/html"))
    assert b"Wait " in refused.body
    assert alice.open("/connections").status == 200
    assert alice.ask_consent(app.link().url).status == 200
    assert world.get("/health").status == 200


def test_a_stranger_who_keeps_on_keeps_waiting(world: World) -> None:
    """Memory for them stays bounded, and patience is what ends the wait."""
    for _ in range(3):
        for _ in range(STRANGERS):
            ask(world, "mat_wrong", "ping")
        world.clock.move(seconds=30)
        assert ask(world, "mat_wrong", "ping").status == 429


@pytest.mark.quirk(number=4)
def test_guesses_at_the_token_endpoint_wait_and_good_refreshes_pass(
    world: World, alice: Person
) -> None:
    """Whoever shares an address with a stranger keeps their connection: told `invalid_grant`, a
    client would throw it away.
    """
    app = Program.registered(world)
    tokens = app.connect(alice)
    guesses = [app.refresh("mrt_wrong").status for _ in range(STRANGERS + 5)]
    assert guesses[0] == 400
    assert guesses[-1] == 429
    assert app.refresh("mrt_wrong").json["error"] == "temporarily_unavailable"
    for _ in range(3):
        tokens = Tokens.of(app.refresh(tokens.refresh))
    assert app.revoke(tokens.access).status == 200


def test_good_refreshes_are_never_too_many(world: World, alice: Person) -> None:
    app = Program.registered(world)
    tokens = app.connect(alice)
    for _ in range(STRANGERS + 5):
        tokens = Tokens.of(app.refresh(tokens.refresh))
    assert works(world, tokens.access)


@pytest.mark.quirk(number=26)
@pytest.mark.parametrize(
    "path",
    [
        "/authorize",
        "/sign-in",
        "/sign-in/recovery",
        "/sign-out",
        "/setup?token=mil_wrong",
        "/join?token=mil_wrong",
    ],
)
def test_pages_that_strangers_see_are_limited(world: World, path: str) -> None:
    """Each of them costs a row in a database, or a guess."""
    statuses = [world.get(path).status for _ in range(STRANGERS + 1)]
    assert statuses[-1] == 429
    assert 429 not in statuses[:-1]


def test_a_limit_is_told_like_every_other_answer(world: World) -> None:
    for _ in range(STRANGERS):
        world.get("/sign-in")
    refused = world.get("/sign-in")
    assert refused.status == 429
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["x-frame-options"] == "DENY"
    assert refused.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in refused.headers  # a page of ours
