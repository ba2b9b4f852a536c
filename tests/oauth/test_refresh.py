"""Refreshing: one chain for all who share a token, and the end of it all once one was stolen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.http.serving import Reply
from tests.oauth.at_once import at_once
from tests.oauth.person import Person
from tests.oauth.program import (
    ALL,
    READ,
    REFLECT,
    WRITE,
    Program,
    Tokens,
    ask,
    found,
    scopes_of,
    store,
    works,
)
from tests.oauth.world import World, running

GRACE = 120  # seconds, as the setting has it


@pytest.fixture
def app(world: World) -> Program:
    return Program.registered(world)


@pytest.fixture
def tokens(alice: Person, app: Program) -> Tokens:
    return app.connect(alice)


def refused(reply: Reply) -> bool:
    assert reply.status in (200, 400)
    return reply.status == 400 and reply.json["error"] == "invalid_grant"


def is_over(world: World, app: Program, *held: Tokens) -> bool:
    """Nothing that was ever issued in the family is worth anything."""
    return not any(works(world, one.access) for one in held) and all(
        refused(app.refresh(one.refresh)) for one in held
    )


# --- one chain -----------------------------------------------------------------------------------


def test_a_refresh_gives_a_new_pair_for_the_same_vault(
    world: World, app: Program, tokens: Tokens
) -> None:
    store(world, tokens.access, "The boat is called Petrel.")
    newer = Tokens.of(app.refresh(tokens.refresh))
    assert {newer.access, newer.refresh}.isdisjoint({tokens.access, tokens.refresh})
    assert newer.scope == tokens.scope
    assert found(world, newer.access, "boat") == ["The boat is called Petrel."]
    assert works(world, tokens.access)  # until it expires, so that nothing under way fails


@pytest.mark.threat(number=22)
@pytest.mark.quirk(number=1)
@pytest.mark.quirk(number=4)
def test_fifty_refreshes_at_once_are_one_chain(world: World, app: Program, tokens: Tokens) -> None:
    replies = at_once(50, lambda _: Tokens.of(app.refresh(tokens.refresh)))
    assert len({one.refresh for one in replies}) == 1
    assert len({one.access for one in replies}) == 50
    assert all(works(world, one.access) for one in replies)
    assert not refused(app.refresh(replies[0].refresh))


@pytest.mark.quirk(number=2)
def test_a_burst_that_drags_on_stays_one_chain(world: World, app: Program, tokens: Tokens) -> None:
    """33 to 76 seconds were measured (opik #8286)."""
    first = Tokens.of(app.refresh(tokens.refresh))
    for _ in range(5):
        world.clock.move(seconds=20)
        assert Tokens.of(app.refresh(tokens.refresh)).refresh == first.refresh


@pytest.mark.threat(number=22)
@pytest.mark.quirk(number=4)
def test_an_answer_that_got_lost_is_asked_for_again(
    world: World, app: Program, tokens: Tokens
) -> None:
    """The server committed, and the client never heard of it: a crash, a network that went away."""
    lost = Tokens.of(app.refresh(tokens.refresh))
    again = Tokens.of(app.refresh(tokens.refresh))
    assert again.refresh == lost.refresh
    assert works(world, again.access)
    assert not refused(app.refresh(again.refresh))


# --- theft ---------------------------------------------------------------------------------------


@pytest.mark.threat(number=22)
def test_an_older_token_ends_the_family_also_within_the_grace_window(
    world: World, app: Program, tokens: Tokens
) -> None:
    """Not the last one but the one before: its successor was used, so nobody needs it any more
    (django-oauth-toolkit #1617).
    """
    second = Tokens.of(app.refresh(tokens.refresh))
    third = Tokens.of(app.refresh(second.refresh))
    assert refused(app.refresh(tokens.refresh))
    assert is_over(world, app, tokens, second, third)


@pytest.mark.threat(number=22)
def test_the_last_token_ends_the_family_after_the_grace_window(
    world: World, app: Program, tokens: Tokens
) -> None:
    second = Tokens.of(app.refresh(tokens.refresh))
    world.clock.move(seconds=GRACE + 1)
    assert refused(app.refresh(tokens.refresh))
    assert is_over(world, app, tokens, second)


@pytest.mark.quirk(number=2)
def test_the_last_token_may_be_repeated_to_the_end_of_the_grace_window(
    world: World, app: Program, tokens: Tokens
) -> None:
    second = Tokens.of(app.refresh(tokens.refresh))
    world.clock.move(seconds=GRACE)
    assert Tokens.of(app.refresh(tokens.refresh)).refresh == second.refresh


@pytest.mark.threat(number=22)
def test_once_the_successor_was_used_the_last_token_is_an_older_one(
    world: World, app: Program, tokens: Tokens
) -> None:
    second = Tokens.of(app.refresh(tokens.refresh))
    third = Tokens.of(app.refresh(second.refresh))
    assert Tokens.of(app.refresh(second.refresh)).refresh == third.refresh
    assert refused(app.refresh(tokens.refresh))
    assert is_over(world, app, second, third)


@pytest.mark.threat(number=22)
def test_another_client_neither_uses_nor_ends_a_token(
    world: World, app: Program, tokens: Tokens
) -> None:
    other = Program.registered(world)
    second = Tokens.of(app.refresh(tokens.refresh))
    third = Tokens.of(app.refresh(second.refresh))
    for one in (tokens, second, third):
        assert refused(other.refresh(one.refresh))
    assert works(world, third.access)
    assert not refused(app.refresh(third.refresh))


@pytest.mark.parametrize("token", ["mrt_wrong", "mrt_" + "0" * 49, "", "x", "mat_wrong"])
def test_a_guess_touches_nothing(world: World, app: Program, tokens: Tokens, token: str) -> None:
    assert app.refresh(token).status == 400
    assert works(world, tokens.access)
    assert not refused(app.refresh(tokens.refresh))


@pytest.mark.quirk(number=32)
def test_families_are_apart(world: World, alice: Person, app: Program, tokens: Tokens) -> None:
    """One client id stands for every installation of an app (workers-oauth-provider #297)."""
    another = app.connect(alice)
    stolen = tokens
    for _ in range(2):
        tokens = Tokens.of(app.refresh(tokens.refresh))
    assert refused(app.refresh(stolen.refresh))
    assert not works(world, tokens.access)
    assert works(world, another.access)
    assert not refused(app.refresh(another.refresh))


@pytest.mark.threat(number=22)
def test_of_thief_and_owner_at_once_neither_ends_up_with_more(
    world: World, app: Program, tokens: Tokens
) -> None:
    """Both repeat the same token; whoever comes later gives it away."""
    thief = Tokens.of(app.refresh(tokens.refresh))
    owner = Tokens.of(app.refresh(tokens.refresh))
    assert thief.refresh == owner.refresh
    ahead = Tokens.of(app.refresh(thief.refresh))
    world.clock.move(seconds=GRACE + 1)
    assert refused(app.refresh(owner.refresh))
    assert is_over(world, app, thief, owner, ahead)


# --- what is asked for ---------------------------------------------------------------------------


@pytest.mark.threat(number=10)
def test_a_refresh_can_narrow_and_never_widen(world: World, alice: Person, app: Program) -> None:
    tokens = app.connect(alice, [READ, WRITE])
    narrow = Tokens.of(app.refresh(tokens.refresh, scope=READ))
    assert narrow.scope == READ
    assert scopes_of(world, narrow.access) == {READ}
    wider = app.refresh(narrow.refresh, scope=" ".join(ALL))
    assert (wider.status, wider.json["error"]) == (400, "invalid_scope")
    whole = Tokens.of(app.refresh(narrow.refresh))  # it was not used up
    assert scopes_of(world, whole.access) == {READ, WRITE}


def test_whoever_repeats_what_they_were_told_asks_for_nothing_less(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    """mcp-remote sends the scopes of its last answer along, whatever its owner allowed since."""
    newer = Tokens.of(app.refresh(tokens.refresh, scope=tokens.scope))
    alice.change(alice.connections()[0], f"allow {REFLECT}")
    assert scopes_of(world, newer.access) == {READ, WRITE, REFLECT}
    newer = Tokens.of(app.refresh(newer.refresh, scope=newer.scope))
    assert newer.scope.split() == [READ, WRITE, REFLECT]
    alice.change(alice.connections()[0], f"stop {WRITE}")
    newer = Tokens.of(app.refresh(newer.refresh, scope=newer.scope))
    assert newer.scope.split() == [READ, REFLECT]


def test_whoever_repeats_something_less_stays_with_it(
    world: World, app: Program, tokens: Tokens
) -> None:
    for _ in range(3):
        tokens = Tokens.of(app.refresh(tokens.refresh, scope=READ))
        assert tokens.scope == READ
        assert scopes_of(world, tokens.access) == {READ}


@pytest.mark.parametrize("scope", ["offline_access", f"{READ} {WRITE} offline_access openid"])
def test_scopes_that_mean_nothing_here_do_not_fail_a_refresh(
    app: Program, tokens: Tokens, scope: str
) -> None:
    assert Tokens.of(app.refresh(tokens.refresh, scope=scope)).scope == f"{READ} {WRITE}"


def test_a_resource_is_checked_before_anything_is_used_up(
    world: World, app: Program, tokens: Tokens
) -> None:
    """Cloudflare's library did it the other way round (#258)."""
    reply = app.refresh(tokens.refresh, resource="https://elsewhere.example/mcp")
    assert (reply.status, reply.json["error"]) == (400, "invalid_target")
    world.clock.move(seconds=GRACE + 1)
    assert not refused(app.refresh(tokens.refresh, resource=world.mcp))


@pytest.mark.quirk(number=21)
def test_a_resource_may_be_left_out(world: World, app: Program, tokens: Tokens) -> None:
    newer = Tokens.of(app.refresh(tokens.refresh, resource=None))
    assert works(world, newer.access)


@pytest.mark.quirk(number=17)
def test_a_refresh_token_comes_without_being_asked_for(alice: Person, app: Program) -> None:
    """Claude never asks for offline_access (claude-ai-mcp #840)."""
    assert app.connect(alice, [READ], asked=READ).refresh.startswith("mrt_")


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.quirk(number=8)
def test_everything_outlives_a_restart(moving: World) -> None:
    """VS Code never signs in again after a server lost its tokens (vscode #270383)."""
    app = Program.registered(moving)
    tokens = app.connect(Person(moving, "bob@example.com").set_up())
    moving.restart()
    assert works(moving, tokens.access)
    second = Tokens.of(app.refresh(tokens.refresh))
    moving.restart()
    assert Tokens.of(app.refresh(tokens.refresh)).refresh == second.refresh
    moving.restart()
    third = Tokens.of(app.refresh(second.refresh))
    moving.restart()
    assert refused(app.refresh(tokens.refresh))
    assert is_over(moving, app, second, third)


def test_a_token_that_ran_out_is_told_to_ask_for_what_it_had(moving: World) -> None:
    """Whoever signs in anew instead of refreshing asks for what the challenge names."""
    alice = Person(moving, "alice@example.com").set_up()
    tokens = Program.registered(moving).connect(alice, [READ, WRITE])
    moving.clock.move(hours=2)
    asked = [ask(moving, tokens.access, "ping").headers["www-authenticate"] for _ in range(2)]
    assert asked[0] == asked[1]
    assert f'scope="{READ} {WRITE}"' in asked[0]
    alice.change(alice.connections()[0], "revoke")
    again = ask(moving, tokens.access, "ping").headers["www-authenticate"]
    assert f'scope="{READ}"' in again


def test_tokens_end_when_they_are_said_to(moving: World) -> None:
    app = Program.registered(moving)
    bob = Person(moving, "bob@example.com").set_up()
    tokens = app.connect(bob)
    moving.clock.move(seconds=tokens.expires_in - 1)
    assert works(moving, tokens.access)
    moving.clock.move(seconds=1)
    assert not works(moving, tokens.access)
    moving.clock.move(days=29)
    tokens = Tokens.of(app.refresh(tokens.refresh))
    moving.clock.move(days=30)
    assert refused(app.refresh(tokens.refresh))


def test_no_connection_lasts_longer_than_half_a_year(moving: World) -> None:
    app = Program.registered(moving)
    tokens = app.connect(Person(moving, "bob@example.com").set_up())
    for _ in range(9):
        moving.clock.move(days=19.9)
        tokens = Tokens.of(app.refresh(tokens.refresh))
    assert works(moving, tokens.access)
    moving.clock.move(days=1)
    assert refused(app.refresh(tokens.refresh))
    assert not works(moving, tokens.access)


@pytest.mark.quirk(number=3)
@pytest.mark.quirk(number=17)
def test_lifetimes_and_grace_are_settings(data: Path) -> None:
    settings = {
        "access_token_minutes": 5,
        "refresh_token_days": 2,
        "refresh_grace_seconds": 0,
    }
    with running(data, settings) as world:
        app = Program.registered(world)
        bob = Person(world, "bob@example.com").set_up()
        tokens = app.connect(bob)
        assert tokens.expires_in == 300
        second = Tokens.of(app.refresh(tokens.refresh))
        world.clock.move(seconds=1)
        assert refused(app.refresh(tokens.refresh))
        assert is_over(world, app, tokens, second)
        tokens = app.connect(bob)
        world.clock.move(days=2)
        assert refused(app.refresh(tokens.refresh))
