"""`/revoke` (RFC 7009): a client gives back what it has, and nobody ends what is another's."""

from __future__ import annotations

import pytest

from tests.oauth.person import Person
from tests.oauth.program import Program, Tokens, works
from tests.oauth.world import World


@pytest.fixture(scope="module")
def app(world: World) -> Program:
    return Program.registered(world)


@pytest.fixture
def tokens(alice: Person, app: Program) -> Tokens:
    return app.connect(alice)


def test_an_access_token_goes_alone(world: World, app: Program, tokens: Tokens) -> None:
    newer = Tokens.of(app.refresh(tokens.refresh))
    reply = app.revoke(tokens.access)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["cache-control"] == "no-store"
    assert not works(world, tokens.access)
    assert works(world, newer.access)
    assert app.refresh(newer.refresh).status == 200


def test_a_refresh_token_takes_the_whole_connection_with_it(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    newer = Tokens.of(app.refresh(tokens.refresh))
    assert app.revoke(newer.refresh, token_type_hint="refresh_token").status == 200
    for one in (tokens, newer):
        assert not works(world, one.access)
        assert app.refresh(one.refresh).json["error"] == "invalid_grant"


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense", None])
def test_a_hint_is_no_more_than_a_hint(
    world: World, app: Program, tokens: Tokens, hint: str | None
) -> None:
    assert app.revoke(tokens.access, token_type_hint=hint).status == 200
    assert not works(world, tokens.access)


@pytest.mark.parametrize("token", ["mat_wrong", "mrt_wrong", "x", "mk_wrong", "mss_wrong"])
def test_what_nobody_knows_is_as_good_as_gone(app: Program, token: str) -> None:
    assert app.revoke(token).status == 200
    assert app.revoke(token).status == 200


def test_another_clients_token_stays(world: World, app: Program, tokens: Tokens) -> None:
    other = Program.registered(world)
    assert other.revoke(tokens.access).status == 200
    assert other.revoke(tokens.refresh).status == 200
    assert works(world, tokens.access)
    assert app.refresh(tokens.refresh).status == 200


def test_a_public_client_needs_no_secret_and_a_confidential_one_does(
    world: World, alice: Person, app: Program, tokens: Tokens
) -> None:
    """The SDK's server asks everybody for one."""
    assert app.revoke(tokens.access).status == 200
    keeper = Program.registered(world, token_endpoint_auth_method="client_secret_post")
    kept = keeper.connect(alice)
    wrong = keeper.revoke(kept.access, client_secret="mcs_wrong")
    assert (wrong.status, wrong.json["error"]) == (401, "invalid_client")
    assert works(world, kept.access)
    assert keeper.revoke(kept.access).status == 200
    assert not works(world, kept.access)


@pytest.mark.parametrize(
    "changes, status, error",
    [
        ({"token": None}, 400, "invalid_request"),
        ({"client_id": None}, 401, "invalid_client"),
        ({"client_id": "clt_unknown"}, 401, "invalid_client"),
    ],
    ids=str,
)
def test_a_request_that_is_none_is_refused(
    world: World, app: Program, changes: dict[str, str | None], status: int, error: str
) -> None:
    fields: dict[str, str | None] = {"token": "mat_x", "client_id": app.client_id}
    reply = world.form("/revoke", fields | changes)
    assert (reply.status, reply.json["error"]) == (status, error)


@pytest.mark.threat(number=27)
def test_a_token_sent_twice_is_refused(world: World, app: Program, tokens: Tokens) -> None:
    fields = [("token", tokens.access), ("token", tokens.access), ("client_id", app.client_id)]
    assert world.form("/revoke", fields).json["error"] == "invalid_request"
    assert works(world, tokens.access)
