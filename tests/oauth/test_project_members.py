"""A project's vaults open to its members, from the moment they join to the moment they leave."""

from __future__ import annotations

import json

import pytest

from rememberd.auth.project_members import ProjectMembers
from rememberd.engine import vaults
from rememberd.errors import NotFound
from rememberd.model import Project
from rememberd.store import accounts, control
from rememberd.store.transaction import Transaction
from tests.oauth.person import Person
from tests.oauth.program import ALL, READ, Program, found, scopes_of, store, works
from tests.oauth.world import World


def test_access_to_a_projects_vault_begins_and_ends_with_membership(
    world: World, alice: Person
) -> None:
    engine = world.app.engine
    members = ProjectMembers(engine.store, engine.clock)
    world.do(vaults.create_project(engine, "charts"))
    vault = world.do(vaults.create_vault(engine, "soundings", "charts")).vault.id
    app = Program.registered(world)
    keeper = app.connect(alice, ALL, vault=vault)  # she owns the organization
    store(world, keeper.access, "The boat is called Petrel.")
    carol = Person(world, "carol@example.com").join(alice.invite("reader"))
    assert vault not in carol.ask_consent(app.link().url).reply.body.decode()

    world.do(members.add("charts", carol.email, "editor"))
    tokens = app.connect(carol, ALL, vault=vault)
    assert found(world, tokens.access, "boat") == ["The boat is called Petrel."]
    world.do(members.add("charts", carol.email, "reader"))
    assert scopes_of(world, tokens.access) == {READ}

    world.do(members.add("charts", alice.email, "reader"))
    world.do(members.remove("charts", carol.email))
    world.do(members.remove("charts", alice.email))
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"
    assert works(world, keeper.access)  # another role stands behind it

    world.do(members.add("charts", carol.email, "reader"))
    assert not works(world, tokens.access)  # what ended stays ended
    assert works(world, app.connect(carol, [READ], vault=vault).access)
    assert _recorded(world) == [
        *(("member.joined", "editor"), ("member.role", "reader"), ("member.joined", "reader")),
        *(("member.removed", "reader"), ("member.removed", "reader"), ("member.joined", "reader")),
    ]


def test_an_invitation_is_only_to_a_project_of_the_organization(
    world: World, alice: Person
) -> None:
    engine, members = world.app.engine, world.app.auth.members
    project = world.do(vaults.create_project(engine, "invited to"))
    read = engine.store.control.read
    owner = world.do(read(lambda tx: accounts.by_email(tx, alice.email)))
    assert owner
    elsewhere = world.do(_another_project(world))
    with pytest.raises(NotFound):
        world.do(
            members.invite(owner.account, project.organization_id, "reader", None, elsewhere.id)
        )
    assert world.do(
        members.invite(owner.account, project.organization_id, "reader", None, project.id)
    )


async def _another_project(world: World) -> Project:
    engine = world.app.engine

    def add(tx: Transaction) -> Project:
        tx.run("add_organization", id="org_other", name="other", created_at=1)
        return control.add_project(tx, "org_other", "elsewhere", engine.clock)

    return await engine.store.control.write(add)


def _recorded(world: World) -> list[tuple[str, str]]:
    """What happened to members of projects, and the role it was about."""
    control = world.app.engine.store.control
    rows = world.do(control.read(lambda tx: tx.all("audit_since", after=0, limit=1000)))
    told = [(row["action"], json.loads(row["detail"])) for row in rows]
    return [(action, detail["role"]) for action, detail in told if "project" in detail]
