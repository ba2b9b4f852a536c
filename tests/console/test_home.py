"""`/`: where everybody starts."""

from pathlib import Path

from tests.console.people import get, methods_not_allowed, text
from tests.oauth.person import Person
from tests.oauth.world import World, running


def test_before_anybody_set_it_up_it_says_where_the_link_is(tmp_path: Path) -> None:
    with running(tmp_path / "data") as fresh:
        reply = get(fresh, None, "/")
        assert reply.status == 200
        assert "not set up yet" in text(reply)
        assert "set-cookie" not in reply.headers


def test_strangers_learn_the_address_for_apps_and_get_no_cookie(
    world: World, alice: Person
) -> None:
    reply = get(world, None, "/")
    assert reply.status == 200
    assert f"{world.url}/mcp" in text(reply)
    assert "/sign-in" in text(reply)
    assert "set-cookie" not in reply.headers


def test_whoever_is_signed_in_goes_on_to_their_connections(world: World, alice: Person) -> None:
    reply = get(world, alice, "/")
    assert (reply.status, reply.headers["location"]) == (303, "/connections")


def test_nothing_can_be_sent_there(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/", "POST", "PUT", "DELETE")
