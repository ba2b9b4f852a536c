"""What each credential opens, and that every change of mind holds from the next call on."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

from rememberd.auth import roles
from rememberd.engine import vaults
from rememberd.engine.store import store_memory
from rememberd.errors import ReadOnly
from rememberd.model import Account, Draft, Grant, Principal, Role
from rememberd.store import accounts, oauth
from tests.oauth.person import Person
from tests.oauth.program import (
    ALL,
    DELETE,
    READ,
    REFLECT,
    WRITE,
    Program,
    Tokens,
    call,
    found,
    result,
    scopes_of,
    store,
    works,
)
from tests.oauth.toolbox import NEEDS, SUBSETS, expected, opened, said
from tests.oauth.world import World

_NUMBERS = itertools.count(1)
PHRASE = "DELETE ALL MEMORIES"


@pytest.fixture(scope="module")
def app(world: World) -> Program:
    return Program.registered(world)


def principal_of(world: World, token: str) -> Principal:
    principal = world.do(world.app.auth.access.verify(token, world.mcp))
    assert principal is not None
    return principal


def set_scopes(world: World, token: str, scopes: frozenset[str]) -> None:
    """Past the page, which gives no more than a role reaches and leaves the last scope."""
    grant, control = principal_of(world, token).grant_id, world.app.engine.store.control
    assert grant
    world.do(control.write(lambda tx: oauth.set_grant_scopes(tx, grant, scopes)))


# --- scopes x tools ------------------------------------------------------------------------------


@pytest.mark.threat(number=10)
@pytest.mark.parametrize("scopes", SUBSETS, ids=said)
def test_each_set_of_scopes_opens_its_tools_and_no_other(
    world: World, alice: Person, app: Program, scopes: frozenset[str]
) -> None:
    vault = f"scopes {next(_NUMBERS)}"
    tokens = app.connect(alice, scopes or {READ}, new_vault=vault)
    if not scopes:
        set_scopes(world, tokens.access, scopes)
    assert opened(world, tokens.access) == expected(scopes)


# --- roles x scopes ------------------------------------------------------------------------------


def member(world: World, alice: Person, role: Role) -> Person:
    link = alice.invite(role)
    return Person(world, f"member{next(_NUMBERS)}@example.com").join(link)


def account(world: World, person: Person) -> Account:
    async def look() -> accounts.SignIn | None:
        control = world.app.engine.store.control
        return await control.read(lambda tx: accounts.by_email(tx, person.email))

    held = world.do(look())
    assert held
    return held.account


@pytest.fixture(scope="module")
def organization(world: World, alice: Person) -> str:
    page = alice.open("/vaults")
    mine = {"mine", "", "on"}
    choices = {one.value for one in page.form(having="share").named("share")}
    (organization,) = choices - mine
    return organization


@pytest.fixture(scope="module")
def shared(alice: Person, organization: str) -> str:
    """The name of a vault of everybody in the organization."""
    alice.new_vault("shared", organization)
    return "shared"


def vault_id(world: World, name: str) -> str:
    for listed in world.do(_vaults(world)):
        if listed[0] == name:
            return listed[1]
    raise AssertionError(name)


async def _vaults(world: World) -> list[tuple[str, str]]:
    rows = await world.app.engine.store.control.read(lambda tx: tx.all("vaults"))
    return [(row["name"], row["id"]) for row in rows]


@dataclass(frozen=True)
class Owner:
    """Alice, who changes what others may do in her organization."""

    world: World
    person: Person
    organization: str

    def set_role(self, person: Person, role: Role) -> None:
        members, whom = self.world.app.auth.members, account(self.world, person).id
        owner = account(self.world, self.person)
        self.world.do(members.set_role(owner, self.organization, whom, role))

    def remove(self, person: Person) -> None:
        members, whom = self.world.app.auth.members, account(self.world, person).id
        self.world.do(members.remove(account(self.world, self.person), self.organization, whom))

    def disable(self, person: Person) -> None:
        """There is no page for it yet."""
        whom = account(self.world, person).id
        control = self.world.app.engine.store.control

        async def disable() -> None:
            sql = "UPDATE account SET disabled_at = 1 WHERE id = ?"
            await control.write(lambda tx: tx.connection.execute(sql, (whom,)))

        self.world.do(disable())


@pytest.fixture(scope="module")
def owner(world: World, alice: Person, organization: str) -> Owner:
    return Owner(world, alice, organization)


@pytest.mark.threat(number=10)
@pytest.mark.parametrize("role", ["owner", "editor", "reader"])
def test_a_role_bounds_every_set_of_scopes(
    world: World, alice: Person, app: Program, owner: Owner, shared: str, role: Role
) -> None:
    """Whoever granted more, or had a higher role when they did."""
    person = member(world, alice, "owner")
    tokens = app.connect(person, ALL, vault=vault_id(world, shared))
    owner.set_role(person, role)
    for scopes in SUBSETS:
        set_scopes(world, tokens.access, scopes)
        held = scopes & roles.scopes_of(role)
        # It empties the vault under everybody; who may is a test of its own.
        but = {"forget_all_memories"}
        assert opened(world, tokens.access, but) == expected(held, but), said(scopes)


@pytest.mark.threat(number=23)
@pytest.mark.parametrize("fate", ["remove", "disable"])
def test_whoever_left_or_was_disabled_opens_nothing(
    world: World, alice: Person, app: Program, owner: Owner, shared: str, fate: str
) -> None:
    person = member(world, alice, "editor")
    tokens = app.connect(person, ALL, vault=vault_id(world, shared))
    assert works(world, tokens.access)
    getattr(owner, fate)(person)
    assert not works(world, tokens.access)
    # And it is not led in circles: 401, a refresh that succeeds, 401 again.
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"


@pytest.mark.threat(number=23)
def test_an_owner_who_is_one_no_more_does_not_find_old_connections_when_made_one_again(
    world: World, alice: Person, app: Program, owner: Owner
) -> None:
    """Owners own the projects; a member has to be let into each."""
    person = member(world, alice, "owner")
    name = f"of a project {next(_NUMBERS)}"
    project = world.do(vaults.create_project(world.app.engine, name))
    vault = world.do(vaults.create_vault(world.app.engine, name, project.name)).vault
    tokens = app.connect(person, [READ], vault=vault.id)
    assert works(world, tokens.access)
    owner.set_role(person, "editor")
    assert not works(world, tokens.access)
    owner.set_role(person, "owner")
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"


def test_a_change_in_an_organization_ends_nothing_elsewhere(
    world: World, alice: Person, app: Program, owner: Owner
) -> None:
    """Not even while nothing of the account works."""
    person = member(world, alice, "editor")
    tokens = app.connect(person, [READ], new_vault=f"own {next(_NUMBERS)}")
    held = principal_of(world, tokens.access)
    owner.disable(person)
    owner.set_role(person, "reader")
    assert held.account_id
    (grant,) = world.do(world.app.auth.grants.of_account(held.account_id))
    assert grant.revoked_at is None


@pytest.mark.threat(number=9)
def test_whoever_has_no_role_is_not_offered_the_vault(
    world: World, alice: Person, app: Program, shared: str
) -> None:
    person = member(world, alice, "editor")
    bob = Person(world, f"bob{next(_NUMBERS)}@example.com").join(alice.invite("reader"))
    assert vault_id(world, "shared") in {
        one.value for one in bob.ask_consent(app.link().url).form(having="decision").named("vault")
    }
    person.new_vault("own")
    own = vault_id(world, "own")
    page = bob.ask_consent(app.link().url)
    assert own not in page.reply.body.decode()
    assert bob.decide(page, vault=own).status == 400


@pytest.mark.parametrize("role, done", [("owner", True), ("editor", False)])
def test_only_owners_forget_all(
    world: World, alice: Person, app: Program, organization: str, role: Role, done: bool
) -> None:
    name = f"to forget {next(_NUMBERS)}"
    alice.new_vault(name, organization)
    vault = vault_id(world, name)
    keeper = app.connect(alice, ALL, vault=vault)
    store(world, keeper.access, "The boat is called Petrel.")
    tokens = app.connect(member(world, alice, role), ALL, vault=vault)
    reply = result(call(world, tokens.access, "forget_all_memories", confirmation=PHRASE))
    assert bool(reply.get("isError")) is not done
    if not done:
        assert "Only owners" in reply["content"][0]["text"]
    assert found(world, keeper.access, "boat") == ([] if done else ["The boat is called Petrel."])


def test_a_reader_cannot_let_an_app_do_more_than_read(
    world: World, alice: Person, app: Program, shared: str
) -> None:
    reader = member(world, alice, "reader")
    reader.new_vault("own")  # or the other is picked beforehand, and too much cannot be ticked
    vault = vault_id(world, shared)
    page = reader.decide(reader.ask_consent(app.link().url), vault=vault, scopes=ALL)
    assert page.status == 400
    assert page.location is None
    assert app.connect(reader, [READ], vault=vault).scope == READ


# --- the wall behind the tools -------------------------------------------------------------------


@pytest.mark.threat(number=10)
@pytest.mark.parametrize("how", ["grant", "role", "key", "key:read"])
def test_whoever_may_only_read_cannot_write_even_if_a_tool_forgot_to_ask(
    world: World, alice: Person, app: Program, owner: Owner, how: str
) -> None:
    """The storage layer refuses: the vault itself is open for reading alone."""
    name = f"read only {next(_NUMBERS)}"
    alice.new_vault(name, owner.organization)
    vault = vault_id(world, name)
    if how == "grant":
        token = app.connect(alice, [READ], vault=vault).access
    elif how == "role":
        person = member(world, alice, "editor")
        token = app.connect(person, ALL, vault=vault).access
        owner.set_role(person, "reader")
    else:
        made = world.do(world.app.keys.create(vault, read_only=how == "key"))
        token = made.secret + (":read" if how == "key:read" else "")
    engine = world.app.engine
    principal = principal_of(world, token)

    async def open_and_write() -> str:
        async with engine.open(principal, "rw") as handle:
            mode = handle.mode
            with pytest.raises(ReadOnly):
                await handle.write(lambda tx: tx.run("reindex"))
        return mode

    assert world.do(open_and_write()) == "ro"
    with pytest.raises(ReadOnly):
        world.do(store_memory(engine, principal, Draft(text="slipped through")))


# --- keys ----------------------------------------------------------------------------------------

NOTHING: frozenset[str] = frozenset()
R, RW, EVERYTHING = frozenset({READ}), frozenset({READ, WRITE}), frozenset(ALL)


@pytest.fixture(scope="module")
def keys(world: World, alice: Person) -> dict[str, str]:
    """The usual key, one that may do everything, and a read-only one, to one vault."""
    alice.new_vault("keys")
    vault = vault_id(world, "keys")

    def make(**kind: object) -> str:
        return world.do(world.app.keys.create(vault, **kind)).secret  # type: ignore[arg-type]

    return {
        "usual": make(),
        "all": make(scope_names=ALL),
        "delete": make(scope_names=[DELETE]),
        "ro": make(read_only=True),
    }


@pytest.mark.threat(number=24)
@pytest.mark.parametrize("spelling", ["_", "-"])
@pytest.mark.parametrize(
    "kind, suffix, scopes",
    [
        ("usual", "", RW),
        ("usual", ":read", R),
        ("usual", ":write", RW),
        ("usual", ":off", NOTHING),
        ("all", "", EVERYTHING),
        ("all", ":read", R),
        ("all", ":write", RW),
        ("all", ":off", NOTHING),
        ("delete", "", frozenset({DELETE})),
        ("delete", ":read", NOTHING),
        ("delete", ":write", NOTHING),
        ("ro", "", R),
        ("ro", ":read", R),
        ("ro", ":write", R),
        ("ro", ":off", NOTHING),
    ],
)
def test_prefix_suffix_and_stored_scopes_are_intersected(
    world: World,
    keys: dict[str, str],
    kind: str,
    suffix: str,
    scopes: frozenset[str],
    spelling: str,
) -> None:
    secret = keys[kind]
    body = secret.removeprefix("mk_").removeprefix("ro_")
    prefix = f"mk{spelling}ro{spelling}" if kind == "ro" else f"mk{spelling}"
    but = {"forget_all_memories"}
    assert opened(world, prefix + body + suffix, but) == expected(scopes, but)


@pytest.mark.threat(number=24)
@pytest.mark.parametrize("kind", ["usual", "ro"])
@pytest.mark.parametrize(
    "suffix",
    [
        *(":", "::", ":READ", ":admin", ":delete", ":read:write", ":read:off", ":off:read"),
        *(": read", ":read\u200b", "\uff1aread", "\ua789read", ":r\u0435ad", "%3Aread"),
        *(";read", ",read", " read"),
    ],
    ids=ascii,
)
def test_a_suffix_that_is_not_understood_grants_nothing(
    world: World, keys: dict[str, str], kind: str, suffix: str
) -> None:
    token = (keys[kind] + suffix).encode().decode("latin-1")  # a header's bytes as they are sent
    assert not works(world, token)


@pytest.mark.threat(number=24)
@pytest.mark.parametrize("prefix", ["mk_ro_", "mk-ro-", "mk_", "MK_", "mk", "", "mk_ro", "cdb_"])
def test_a_prefix_cannot_be_put_on_or_taken_off(
    world: World, keys: dict[str, str], prefix: str
) -> None:
    for kind in ("usual", "ro"):
        secret = keys[kind]
        if (token := prefix + secret.removeprefix("mk_").removeprefix("ro_")) == secret:
            continue
        if token.replace("-", "_") == secret:
            continue
        assert not works(world, token)


# --- at once -------------------------------------------------------------------------------------


@pytest.fixture
def tokens(alice: Person, app: Program) -> Tokens:
    return app.connect(alice, [READ, WRITE], new_vault=f"at once {next(_NUMBERS)}")


def grant_of(world: World, token: str) -> str:
    grant = principal_of(world, token).grant_id
    assert grant
    return grant


def test_narrowing_holds_from_the_next_call_on(world: World, alice: Person, tokens: Tokens) -> None:
    store(world, tokens.access, "One.")
    alice.change(grant_of(world, tokens.access), f"stop {WRITE}")
    reply = result(call(world, tokens.access, "store_memory", content="Two."))
    assert reply["_meta"]["rememberd/code"] == "insufficient_scope"
    assert scopes_of(world, tokens.access) == {READ}


@pytest.mark.quirk(number=19)
def test_widening_holds_from_the_next_call_on_without_the_app(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    assert not opened(world, tokens.access) >= expected([REFLECT])
    alice.change(grant_of(world, tokens.access), f"allow {REFLECT}")
    assert opened(world, tokens.access) == expected([READ, WRITE, REFLECT])
    newer = Tokens.of(app.refresh(tokens.refresh))
    assert newer.scope.split() == [READ, WRITE, REFLECT]


def test_what_a_client_narrowed_itself_stays_narrow(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    narrow = Tokens.of(app.refresh(tokens.refresh, scope=READ))
    alice.change(grant_of(world, tokens.access), f"allow {DELETE}")
    assert scopes_of(world, narrow.access) == {READ}
    assert scopes_of(world, tokens.access) == {READ, WRITE, DELETE}


@pytest.mark.threat(number=23)
def test_disconnecting_holds_from_the_next_call_on_for_every_token(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    newer = Tokens.of(app.refresh(tokens.refresh))
    alice.change(grant_of(world, tokens.access), "revoke")
    for one in (tokens, newer):
        assert not works(world, one.access)
        assert app.refresh(one.refresh).json["error"] == "invalid_grant"


@pytest.mark.threat(number=23)
def test_a_grant_that_was_ended_stays_on_record(
    world: World, alice: Person, tokens: Tokens
) -> None:
    """A missing row must never come to mean that nothing is forbidden (anythingmcp #544)."""
    who = principal_of(world, tokens.access)
    assert who.grant_id
    assert who.account_id
    alice.change(who.grant_id, "revoke")

    async def look() -> Grant:
        return await world.app.auth.grants.get(who.account_id or "", who.grant_id or "")

    assert world.do(look()).revoked_at is not None


def test_leaving_an_organization_holds_from_the_next_call_on(
    world: World, alice: Person, app: Program, owner: Owner, shared: str
) -> None:
    person = member(world, alice, "editor")
    tokens = app.connect(person, [READ], vault=vault_id(world, shared))
    own = app.connect(person, [READ], new_vault="mine")
    owner.remove(person)
    assert not works(world, tokens.access)
    assert works(world, own.access)


def test_what_a_role_does_not_allow_is_no_reason_to_sign_in_again(
    world: World, alice: Person, app: Program, owner: Owner, shared: str
) -> None:
    person = member(world, alice, "editor")
    tokens = app.connect(person, [READ, WRITE], vault=vault_id(world, shared))
    owner.set_role(person, "reader")
    refused = result(call(world, tokens.access, "store_memory", content="No."))
    assert refused["isError"]
    assert "Your role in this vault is reader" in refused["content"][0]["text"]
    assert "mcp/www_authenticate" not in refused.get("_meta", {})


def test_a_role_that_is_given_back_works_again_until_somebody_asked_in_vain(
    world: World, alice: Person, app: Program, owner: Owner, shared: str
) -> None:
    person = member(world, alice, "editor")
    tokens = app.connect(person, [READ, WRITE], vault=vault_id(world, shared))
    owner.set_role(person, "reader")
    assert scopes_of(world, tokens.access) == {READ}
    assert Tokens.of(app.refresh(tokens.refresh)).scope == READ
    owner.set_role(person, "editor")
    assert scopes_of(world, tokens.access) == {READ, WRITE}


@pytest.mark.threat(number=23)
def test_erasing_a_vault_ends_its_connections(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    grant = grant_of(world, tokens.access)
    name = f"at once {next(_NUMBERS) - 1}"
    world.do(vaults.erase_vault(world.app.engine, name, "test"))
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"
    page = alice.open(f"/connections/{grant}")
    assert "This connection has ended" in page.text


def test_a_forgotten_vault_keeps_its_connections(world: World, alice: Person, app: Program) -> None:
    tokens = app.connect(alice, ALL, new_vault=f"forgotten {next(_NUMBERS)}")
    store(world, tokens.access, "The boat is called Petrel.")
    reply = result(call(world, tokens.access, "forget_all_memories", confirmation=PHRASE))
    assert not reply.get("isError")
    assert found(world, tokens.access, "boat") == []
    store(world, tokens.access, "Another boat.")
    assert found(world, tokens.access, "boat") == ["Another boat."]


def test_every_tool_and_resource_is_in_the_table() -> None:
    assert set(NEEDS.values()) == set(ALL)
