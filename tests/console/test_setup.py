"""`/setup`: the first account, with the one-time link that the server printed."""

from pathlib import Path

import pytest

from rememberd.errors import InvalidInput
from tests.console.people import get, methods_not_allowed, post, text, vaults_of
from tests.oauth.person import Person
from tests.oauth.world import World, running


@pytest.fixture
def fresh(tmp_path: Path):
    with running(tmp_path / "data") as world:
        yield world


def link(world: World) -> str:
    token = world.do(world.app.auth.accounts.setup_link())
    return f"/setup?token={token}"


def test_the_first_account_owns_what_is_there_and_sees_its_codes_once(fresh: World) -> None:
    alice = Person(fresh, "alice@example.com").set_up()
    assert len(alice.recovery_codes) == 10
    assert list(vaults_of(fresh, alice)) == ["personal"]
    assert "Connections" in alice.open("/connections").text


def test_it_warns_that_losing_master_key_and_exports_loses_all_vaults(fresh: World) -> None:
    alice = Person(fresh, "alice@example.com")
    page = alice.open(link(fresh))
    form = page.form(having="password")
    page = alice.submit(page, form, ("email", alice.email), ("password", alice.password))
    assert "loses all vaults for good" in page.text
    assert f"rememberd keys export FILE --data {fresh.data}" in page.text


def test_what_is_wrong_is_said_at_its_field_and_the_link_still_works(fresh: World) -> None:
    alice, address = Person(fresh, "alice@example.com"), link(fresh)
    page = alice.open(address)
    form = page.form(having="password")
    for typed, said in (
        ({"email": "alice", "password": alice.password}, 'href="#email"'),
        ({"email": alice.email, "password": "short"}, 'href="#password"'),
        ({"email": alice.email, "password": ""}, 'href="#password"'),
    ):
        refused = alice.submit(page, form, *typed.items())
        assert refused.status == 400
        assert said in text(refused.reply)
        assert 'aria-invalid="true"' in text(refused.reply)
    done = alice.submit(page, form, ("email", alice.email), ("password", alice.password))
    assert done.status == 200
    assert "recovery codes" in done.text


def test_a_link_is_good_once(fresh: World) -> None:
    address = link(fresh)
    Person(fresh, "alice@example.com").join(address)
    assert get(fresh, None, address).status == 404


@pytest.mark.parametrize("token", ["", "mil_nonsense", "mil_" + "a" * 49])
def test_a_bad_link_is_not_found(fresh: World, token: str) -> None:
    assert get(fresh, None, f"/setup?token={token}").status == 404


def test_an_invitation_does_not_set_up(world: World, alice: Person) -> None:
    token = alice.invite("reader").partition("token=")[2]
    assert get(world, None, f"/setup?token={token}").status == 404


def test_a_form_that_is_not_its_own_makes_no_account(fresh: World) -> None:
    address = link(fresh)
    fields = {"email": "eve@example.com", "password": "a long enough password"}
    assert post(fresh, None, address, fields).status == 403
    assert get(fresh, None, address).status == 200, "the link was used up"


def test_it_takes_a_look_and_a_form(fresh: World) -> None:
    nobody = Person(fresh, "nobody@example.com")
    assert methods_not_allowed(fresh, nobody, link(fresh), "PUT", "DELETE")


@pytest.mark.parametrize(
    "email",
    [
        "owner@example.com\u2060",
        "owner@exam\u200bple.com",
        "\u202emoc.elpmaxe@evil",
        "a\x00b@c",
        "\uff4fwner@example.com",
    ],
)
def test_an_email_that_only_looks_like_one_is_refused(fresh: World, email: str) -> None:
    with pytest.raises(InvalidInput):
        fresh.do(fresh.app.auth.accounts.set_up(email, "", "copper lantern over the fjord"))
