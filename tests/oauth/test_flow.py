"""From nothing but a URL to a memory that was stored, and out again."""

from tests.oauth.person import Person
from tests.oauth.program import (
    READ,
    WRITE,
    Program,
    found,
    store,
    works,
)
from tests.oauth.world import World


def test_an_app_is_let_in_stores_finds_and_is_shown_out(world: World, alice: Person) -> None:
    app = Program.registered(world, client_name="Scribe")
    tokens = app.connect(alice, [READ, WRITE])
    assert tokens.scope == f"{READ} {WRITE}"
    store(world, tokens.access, "The release phrase is ORCHID-7419.")
    assert found(world, tokens.access, "release phrase") == ["The release phrase is ORCHID-7419."]
    (grant, *_) = alice.connections()
    alice.change(grant, "revoke")
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"
