"""A project's vaults open to its members, from the moment they join to the moment they leave."""

from __future__ import annotations

import json

from rememberd.auth.project_members import ProjectMembers
from rememberd.engine import vaults
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


def _recorded(world: World) -> list[tuple[str, str]]:
    """What happened to members of projects, and the role it was about."""
    control = world.app.engine.store.control
    rows = world.do(control.read(lambda tx: tx.all("audit_since", after=0, limit=1000)))
    told = [(row["action"], json.loads(row["detail"])) for row in rows]
    return [(action, detail["role"]) for action, detail in told if "project" in detail]
