"""What people and apps did is on record, in chains that show it when somebody changes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from rememberd.engine import audit, vaults
from rememberd.engine.audit import ChainResult
from tests.console.people import home
from tests.oauth.person import Person
from tests.oauth.program import (
    ALL,
    READ,
    WRITE,
    Program,
    Tokens,
    ask,
    call,
    found,
    result,
    store,
    works,
)
from tests.oauth.world import World, running

Rows = list[dict[str, Any]]


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


def rows(world: World) -> Rows:
    """Control's chain, after everything that is gathered in memory was written."""

    async def look() -> Rows:
        await world.app.worker.drain()
        control = world.app.engine.store.control
        return await control.read(lambda tx: tx.all("audit_since", after=0, limit=1000))

    return world.do(look())


def actions(world: World) -> list[str]:
    return [row["action"] for row in rows(world)]


def verified(world: World) -> dict[str, ChainResult]:
    return {chain.name: chain for chain in world.do(audit.verify(world.app.engine))}


# --- what is recorded ----------------------------------------------------------------------------


def test_coming_in_is_recorded_and_so_is_failing_to(world: World, alice: Person) -> None:
    alice.sign_out()
    Person(world, alice.email, password="wrong guess here").sign_in()
    alice.sign_in()
    Person(world, "nobody@example.com").sign_in()  # whoever that is: it takes as long
    bob = Person(world, "bob@example.com").join(alice.invite("editor"))
    assert actions(world) == [
        "account.created",
        "sign_in.failed",
        "sign_in",
        "sign_in.failed",
        "member.invited",
        "account.created",
        "member.joined",
    ]
    del bob


def test_recovery_codes_and_passwords_are_recorded(world: World, alice: Person) -> None:
    page = alice.open("/account")
    form = next(
        form for form in page.forms if "codes" in {one.value for one in form.named("action")}
    )
    page = alice.submit(page, form, ("action", "codes"))
    codes = [word for word in page.text.split() if word.count("-") == 3 and len(word) == 19]
    away = Person(world, alice.email)
    for code in (alice.recovery_codes[0], codes[0]):  # the first was replaced
        page = away.open("/sign-in/recovery")
        typed = (("email", away.email), ("code", code), ("password", "another good phrase"))
        away.submit(page, page.form(having="code"), *typed)
    assert actions(world) == [
        "account.created",
        "recovery_codes.replaced",
        "sign_in.failed",
        "sign_in",
        "password.changed",
    ]


def test_yes_no_and_every_change_of_mind_is_recorded(world: World, alice: Person) -> None:
    app = Program.registered(world)
    alice.consent(app.link().url, decision="deny")
    app.connect(alice, [READ])
    (grant,) = alice.connections()
    alice.change(grant, f"allow {WRITE}")
    alice.change(grant, "revoke")
    recorded = rows(world)
    assert [row["action"] for row in recorded] == [
        "account.created",
        "consent.denied",
        "grant.approved",
        "grant.used",
        "grant.changed",
        "grant.revoked",
    ]
    denied, approved, *_, changed, revoked = recorded[1:]
    assert denied["subject"] == app.client_id
    assert {row["subject"] for row in (approved, changed, revoked)} == {grant}
    assert {row["actor"] for row in (denied, approved, changed, revoked)} == {recorded[0]["actor"]}
    said = json.loads(approved["detail"])
    assert (said["resource"], said["redirect_uri"]) == (world.mcp, app.redirect_uri)
    assert READ in said["scopes"]
    assert json.loads(changed["detail"])["scopes"] == [READ, WRITE]
    assert json.loads(revoked["detail"])["why"] == "revoked by its owner"


@pytest.mark.quirk(number=3)
@pytest.mark.parametrize(
    "deed, why",
    [
        ("steal", "old refresh token used"),
        ("replay", "code replayed"),
        ("revoke", "revoked by the client"),
    ],
)
def test_a_family_that_ends_says_why(world: World, alice: Person, deed: str, why: str) -> None:
    app = Program.registered(world)
    link = app.link()
    code = app.code(alice, link, [READ])
    tokens = Tokens.of(app.redeem(code, link.verifier))
    match deed:
        case "steal":
            second = Tokens.of(app.refresh(tokens.refresh))
            app.refresh(second.refresh)
            app.refresh(tokens.refresh)
        case "replay":
            app.redeem(code, link.verifier)
        case _:
            app.revoke(tokens.refresh)
    last = rows(world)[-1]
    assert last["action"] == "grant.revoked"
    assert json.loads(last["detail"])["why"] == why


def test_keys_are_recorded_when_made_first_used_on_a_day_and_revoked(
    world: World, alice: Person
) -> None:
    listed = world.do(vaults.create_vault(world.app.engine, "keys"))
    made = world.do(world.app.keys.create(listed.vault.id))
    for _ in range(3):
        assert works(world, made.secret)
        rows(world)
    world.clock.move(hours=11, minutes=59)
    assert works(world, made.secret)
    rows(world)
    world.clock.move(minutes=1)  # another day
    assert works(world, made.secret)
    rows(world)
    alice.sign_in()
    page = alice.open("/connections")
    alice.submit(page, page.form(having="key"), ("key", made.key.id))
    about_keys = [row for row in rows(world) if row["action"].startswith("key.")]
    assert [row["action"] for row in about_keys] == [
        "key.created",
        "key.used",
        "key.used",
        "key.revoked",
    ]
    assert about_keys[0]["actor"] == "command line"
    assert {row["actor"] for row in about_keys[1:3]} == {made.key.id}
    assert about_keys[3]["actor"] == rows(world)[0]["actor"]


def test_a_grant_is_recorded_when_first_used_on_a_day_also_by_a_refresh(
    world: World, alice: Person
) -> None:
    app = Program.registered(world)
    tokens = app.connect(alice, [READ])
    for _ in range(3):
        world.clock.move(days=1)
        tokens = Tokens.of(app.refresh(tokens.refresh))
        assert works(world, tokens.access)
    assert actions(world).count("grant.used") == 4


def test_what_was_used_last_is_not_forgotten_when_the_server_stops(
    world: World, alice: Person
) -> None:
    listed = world.do(vaults.create_vault(world.app.engine, "keys"))
    made = world.do(world.app.keys.create(listed.vault.id))
    assert works(world, made.secret)
    world.restart()
    (key,) = world.do(world.app.keys.list())
    assert key.key.last_used_at == world.clock.now()


def test_invitations_roles_and_leaving_are_recorded(world: World, alice: Person) -> None:
    bob = Person(world, "bob@example.com").join(alice.invite("editor"))
    page = alice.open("/members")
    member = next(
        one.value
        for form in page.forms
        for one in form.named("member")
        if one.value != rows(world)[0]["actor"]
    )
    form = next(form for form in page.forms if form.ticked("member") == {member})
    alice.submit(page, form, ("role", "reader"), ("action", "role"))
    alice.submit(page, form, ("action", "remove"))
    recorded = rows(world)[1:]
    assert [row["action"] for row in recorded] == [
        "member.invited",
        "account.created",
        "member.joined",
        "member.role",
        "member.removed",
    ]
    assert {row["subject"] for row in recorded[1:]} == {member}
    place = {"organization": home(world, alice)}
    invitation = recorded[0]["subject"]
    assert [json.loads(row["detail"]) for row in recorded] == [
        place | {"role": "editor"},
        {},
        place | {"role": "editor", "invitation": invitation},
        place | {"role": "reader"},
        place,
    ]
    assert bob.email not in json.dumps(recorded)


def test_deleting_forgetting_and_erasing_are_recorded(world: World, alice: Person) -> None:
    app = Program.registered(world)
    tokens = app.connect(alice, ALL, new_vault="boats")
    store(world, tokens.access, "The boat is called Petrel.")
    said = result(call(world, tokens.access, "search_memories", query="boat"))
    memory = said["structuredContent"]["memories"][0]["id"]
    call(world, tokens.access, "delete_memories", memory_ids=[memory], confirmation="DELETE")
    assert actions(world)[-1] == "vault.anchored"
    call(world, tokens.access, "forget_all_memories", confirmation="DELETE ALL MEMORIES")
    world.do(vaults.erase_vault(world.app.engine, "boats", "command line"))
    recorded = [row for row in rows(world) if row["action"].startswith("vault.")]
    assert [row["action"] for row in recorded] == [
        "vault.anchored",
        "vault.forgotten",
        "vault.erased",
    ]
    heads = [json.loads(row["detail"]) for row in recorded]
    assert heads[1]["vault_head"] == heads[2]["vault_head"]
    assert "Petrel" not in json.dumps(rows(world))


def test_a_head_that_did_not_move_is_not_noted_again(world: World, alice: Person) -> None:
    app = Program.registered(world)
    tokens = app.connect(alice, ALL)
    for text in ("One.", "Two.", "Three."):
        store(world, tokens.access, text)
        rows(world)
    assert "vault.anchored" not in actions(world)
    call(world, tokens.access, "delete_memories", memory_ids=["mem_x"], confirmation="DELETE")
    for _ in range(3):
        store(world, tokens.access, "More.")
        rows(world)
    assert actions(world).count("vault.anchored") <= 1


# --- whether it can be relied on -----------------------------------------------------------------


@pytest.fixture
def lived_in(world: World, alice: Person) -> World:
    app = Program.registered(world)
    tokens = app.connect(alice, ALL, new_vault="boats")
    for text in ("The boat is called Petrel.", "The boat is green.", "The boat has two masts."):
        store(world, tokens.access, text)
    for _ in range(2):
        said = result(call(world, tokens.access, "search_memories", query="boat"))
        memory = said["structuredContent"]["memories"][0]["id"]
        call(world, tokens.access, "delete_memories", memory_ids=[memory], confirmation="DELETE")
    rows(world)
    return world


def key_of(world: World, name: str) -> tuple[Path, bytes]:
    """File and key of a vault, as somebody has them who holds the master key too."""
    found = world.do(vaults.vault_named(world.app.engine, name))
    engine = world.app.engine
    key = engine.store.keyring.get(found.id, found.generation)
    assert key is not None
    return engine.store.directory.vault(found.id, found.generation), key


def tamper(world: World, file: Path, key: bytes | None, sql: str) -> None:
    """Behind the server's back, while it is not running."""
    world.stop()
    connection = apsw.Connection(str(file))
    if key is not None:
        connection.pragma("key", f"raw:{key.hex()}")
    for number in (1, 2, 3):
        connection.execute(f"DROP TRIGGER audit_is_append_only_{number}")
    connection.execute(sql)
    connection.close()
    world.start()


def test_chains_that_nobody_touched_are_whole(lived_in: World) -> None:
    chains = verified(lived_in)
    assert set(chains) == {"control", "personal", "boats"}
    assert {chain.problem for chain in chains.values()} == {None}
    assert chains["boats"].rows == 2
    assert chains["control"].rows == len(rows(lived_in))


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit SET actor = 'acc_other' WHERE action = 'grant.approved'",
        "UPDATE audit SET detail = '{}' WHERE seq = 2",
        "DELETE FROM audit WHERE action = 'sign_in' OR seq = 2",
        "UPDATE audit SET at = at - 1 WHERE seq = 1",
    ],
)
def test_tampering_with_controls_chain_shows(lived_in: World, sql: str) -> None:
    tamper(lived_in, lived_in.data / "control.db", None, sql)
    chains = verified(lived_in)
    assert chains["control"].problem
    assert chains["boats"].problem is None


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit SET actor = 'key_other' WHERE seq = 1",
        "DELETE FROM audit WHERE seq = 1",
        # These leave a chain that follows from its first row to its last: control knows better.
        "DELETE FROM audit WHERE seq = 2",
        "DELETE FROM audit",
    ],
)
def test_tampering_with_a_vaults_chain_shows(lived_in: World, sql: str) -> None:
    file, key = key_of(lived_in, "boats")
    tamper(lived_in, file, key, sql)
    chains = verified(lived_in)
    assert chains["boats"].problem
    assert chains["control"].problem is None
    assert chains["personal"].problem is None


def test_a_vault_that_was_forgotten_is_known_by_its_certificate(
    lived_in: World, alice: Person
) -> None:
    tokens = Program.registered(lived_in).connect(
        alice, ALL, vault=lived_in.do(vaults.vault_named(lived_in.app.engine, "boats")).id
    )
    call(lived_in, tokens.access, "forget_all_memories", confirmation="DELETE ALL MEMORIES")
    assert verified(lived_in)["boats"].problem is None
    file, key = key_of(lived_in, "boats")
    tamper(lived_in, file, key, "DELETE FROM audit WHERE action = 'vault.forgotten'")
    assert verified(lived_in)["boats"].problem


def test_a_cut_off_end_of_controls_chain_shows_and_stays_on_record(lived_in: World) -> None:
    """What is left follows from first to last: the key store knows better."""
    cut = "DELETE FROM audit WHERE seq > (SELECT max(seq) - 3 FROM audit)"
    tamper(lived_in, lived_in.data / "control.db", None, cut)
    chain = verified(lived_in)["control"]
    assert "its end was cut off" in (chain.problem or chain.note or "")
    for _ in range(2):
        assert actions(lived_in).count("audit.lost") == 1
        chain = verified(lived_in)["control"]
        assert chain.problem is None
        assert chain.note
        assert "its end was cut off" in chain.note
        lived_in.restart()


def test_what_the_key_store_notes_cannot_be_made_up(lived_in: World) -> None:
    lived_in.stop()
    with closing(apsw.Connection(str(lived_in.data / "keys.db"))) as connection:
        connection.execute("UPDATE meta SET value = randomblob(92) WHERE name = 'audit'")
        assert connection.changes() == 1
    lived_in.start()
    problem = verified(lived_in)["control"].problem
    assert problem
    assert "tampered" in problem


def test_the_owner_can_have_it_verified(lived_in: World) -> None:
    """The command line asks for it on the local socket; see tests/cli."""
    assert ask(lived_in, None, "ping").status == 401
    assert lived_in.get("/audit").status == 404  # and nobody else can


def test_memory_text_is_in_no_chain(lived_in: World, alice: Person) -> None:
    tokens = Program.registered(lived_in).connect(
        alice, [READ], vault=lived_in.do(vaults.vault_named(lived_in.app.engine, "boats")).id
    )
    assert found(lived_in, tokens.access, "boat")
    whole = json.dumps(rows(lived_in))
    for word in ("Petrel", "boat", alice.email, alice.password):
        assert word not in whole
