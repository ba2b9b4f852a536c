"""`/connections`: what may reach somebody's memory, changed and ended in one click."""

import asyncio

import pytest

from rememberd.engine.status import vault_ref
from tests.console.people import (
    REFUSED,
    account_of,
    form_token,
    get,
    home,
    leads_to_sign_in,
    methods_not_allowed,
    post,
    refusals_of_forms_not_its_own,
    text,
    vaults_of,
)
from tests.oauth.person import Person
from tests.oauth.program import DELETE, READ, WRITE, Program, Tokens, scopes_of, works
from tests.oauth.world import World


@pytest.fixture
def tokens(world: World, alice: Person) -> Tokens:
    """Of an app that Alice let in just now; its connection is the first one listed."""
    world.clock.move(seconds=1)
    return Program.registered(world, client_name="Scribe").connect(alice, [READ, WRITE])


def send(world: World, person: Person, path: str, **fields: str) -> int:
    token = form_token(person.open("/sign-out"))
    return post(world, person, path, {"form_token": token, **fields}).status


# --- the list ------------------------------------------------------------------------------------


def test_it_lists_app_vault_scopes_and_use(world: World, alice: Person, tokens: Tokens) -> None:
    page = alice.open("/connections")
    vault = vaults_of(world, alice)["personal"]
    for said in ("Scribe", "not verified", vault_ref(vault.id), "Read, Save", "Used just now"):
        assert said in page.text
    world.clock.move(minutes=30)
    assert works(world, tokens.access)
    world.do(world.app.auth.access.note_use())
    world.clock.move(minutes=3)
    assert "Used 3 minutes ago" in alice.open("/connections").text


def test_everybody_sees_their_own(
    world: World, alice: Person, bob: Person, charlie: Person, tokens: Tokens
) -> None:
    for person in (bob, charlie):
        page = person.open("/connections")
        assert "Scribe" not in page.text
        assert "No app is connected yet" in page.text
        assert f"{world.url}/mcp" in page.text


def test_keys_are_seen_and_revoked_by_owners_of_the_vault_alone(
    world: World, alice: Person, bob: Person, charlie: Person
) -> None:
    alice.new_vault("with a key", home(world, alice))
    vault = vaults_of(world, alice)["with a key"]
    made = world.do(world.app.keys.create(vault.id, name="laptop"))
    assert "laptop" in alice.open("/connections").text
    assert made.secret not in text(alice.open("/connections").reply)
    for person in (bob, charlie):
        assert "laptop" not in person.open("/connections").text
        assert send(world, person, "/connections", key=made.key.id) == 404
    assert works(world, made.secret)
    assert send(world, alice, "/connections", key=made.key.id) == 303
    assert not works(world, made.secret)
    assert "laptop" not in alice.open("/connections").text


def test_a_key_that_is_not_there_is_not_found(world: World, alice: Person) -> None:
    assert send(world, alice, "/connections", key="key_nothing") == 404


# --- one of them ---------------------------------------------------------------------------------


def test_narrowing_and_widening_work_at_once_without_the_app(
    world: World, alice: Person, tokens: Tokens
) -> None:
    (grant, *_) = alice.connections()
    assert scopes_of(world, tokens.access) == {READ, WRITE}
    page = alice.change(grant, f"stop {WRITE}")
    assert page.status == 200
    assert scopes_of(world, tokens.access) == {READ}
    alice.change(grant, f"allow {DELETE}")
    assert scopes_of(world, tokens.access) == {READ, DELETE}


def test_disconnecting_works_at_once(world: World, alice: Person, tokens: Tokens) -> None:
    (grant, *_) = alice.connections()
    page = alice.change(grant, "revoke")
    assert page.url == f"{world.url}/connections"
    assert not works(world, tokens.access)
    ended = alice.open(f"/connections/{grant}")
    assert "This connection has ended" in ended.text
    assert send(world, alice, f"/connections/{grant}", action=f"allow {DELETE}") == 409
    assert not works(world, tokens.access)


def test_a_theft_that_showed_itself_is_told(world: World, alice: Person) -> None:
    app = Program.registered(world, client_name="Stolen")
    first = app.connect(alice, [READ])
    grant = alice.connections()[0]
    app.refresh(Tokens.of(app.refresh(first.refresh)).refresh)
    assert app.refresh(first.refresh).status == 400
    page = alice.open(f"/connections/{grant}")
    assert "An old copy of the app's token was used" in page.text


def test_a_code_that_was_used_twice_is_named(world: World, alice: Person) -> None:
    app = Program.registered(world)
    link = app.link(READ)
    code = app.code(alice, link)
    assert app.redeem(code, link.verifier).status == 200
    grant = alice.connections()[0]
    assert app.redeem(code, link.verifier).status == 400
    page = alice.open(f"/connections/{grant}")
    assert "Somebody tried to use the answer of your consent a second time." in page.text


def test_two_changes_at_once_both_hold(world: World, alice: Person, tokens: Tokens) -> None:
    """Or a scope that was taken away would come back with another that was added."""
    grants, grant = world.app.auth.grants, alice.connections()[0]
    account = account_of(world, alice).id

    async def both() -> None:
        await asyncio.gather(
            grants.stop(account, grant, WRITE), grants.allow(account, grant, DELETE)
        )

    for _ in range(10):
        world.do(both())
        assert scopes_of(world, tokens.access) == {READ, DELETE}
        world.do(grants.allow(account, grant, WRITE))
        world.do(grants.stop(account, grant, DELETE))


def test_the_last_thing_is_not_taken_away_but_ended(
    world: World, alice: Person, tokens: Tokens
) -> None:
    (grant, *_) = alice.connections()
    alice.change(grant, f"stop {WRITE}")
    assert send(world, alice, f"/connections/{grant}", action=f"stop {READ}") == 409
    assert scopes_of(world, tokens.access) == {READ}


def test_a_role_is_the_limit(world: World, alice: Person) -> None:
    dora = Person(world, "dora@example.com").join(alice.invite("reader"))
    alice.new_vault("team", home(world, alice))
    team = vaults_of(world, alice)["team"].id
    tokens = Program.registered(world).connect(dora, [READ], vault=team)
    (grant,) = dora.connections()
    assert (
        "As reader of this vault you cannot allow this." in dora.open(f"/connections/{grant}").text
    )
    assert send(world, dora, f"/connections/{grant}", action=f"allow {WRITE}") == 403
    assert scopes_of(world, tokens.access) == {READ}
    owner, member = account_of(world, alice), account_of(world, dora)
    world.do(world.app.auth.members.remove(owner, home(world, alice), member.id))
    page = dora.open(f"/connections/{grant}")
    assert "This connection has ended" in page.text


def test_somebody_elses_connection_is_not_found(
    world: World, alice: Person, bob: Person, charlie: Person, tokens: Tokens
) -> None:
    (grant, *_) = alice.connections()
    for person in (bob, charlie):
        assert get(world, person, f"/connections/{grant}").status == 404
        for action in ("revoke", f"allow {DELETE}", f"stop {WRITE}"):
            assert send(world, person, f"/connections/{grant}", action=action) == 404
    assert scopes_of(world, tokens.access) == {READ, WRITE}


@pytest.mark.parametrize("grant", ["gnt_nothing", "'", "%00", "..%2Faccount"])
def test_a_bad_id_is_not_found(world: World, alice: Person, grant: str) -> None:
    assert get(world, alice, f"/connections/{grant}").status == 404


@pytest.mark.parametrize("action", ["", "allow", "allow everything", "erase", "allow memories:x"])
def test_an_unknown_action_does_nothing(
    world: World, alice: Person, tokens: Tokens, action: str
) -> None:
    (grant, *_) = alice.connections()
    assert send(world, alice, f"/connections/{grant}", action=action) == 400
    assert scopes_of(world, tokens.access) == {READ, WRITE}


def test_whoever_is_not_signed_in_is_led_there(world: World, alice: Person) -> None:
    assert leads_to_sign_in(world, "/connections")
    assert leads_to_sign_in(world, "/connections/gnt_1")


def test_forms_that_are_not_its_own_change_nothing(
    world: World, alice: Person, charlie: Person, tokens: Tokens
) -> None:
    (grant, *_) = alice.connections()
    path = f"/connections/{grant}"
    for action in ("revoke", f"allow {DELETE}"):
        refusals = refusals_of_forms_not_its_own(world, alice, charlie, path, {"action": action})
        assert refusals == REFUSED
    assert scopes_of(world, tokens.access) == {READ, WRITE}


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/connections", "PUT", "DELETE")
    assert methods_not_allowed(world, alice, "/connections/gnt_1", "PUT", "DELETE")


def test_a_connection_that_ran_out_has_ended(moving: World) -> None:
    alice = Person(moving, "alice@example.com").set_up()
    Program.registered(moving, client_name="Old friend").connect(alice, [READ])
    grant = alice.connections()[0]
    moving.clock.move(days=181)
    alice.sign_in()
    page = alice.open(f"/connections/{grant}")
    assert "This connection has ended" in page.text
    assert "as long as a connection may" in page.text
    assert "What it may do" not in page.text
    assert "Ended connections" in alice.open("/connections").text
