"""`/vaults`: what somebody can open, told apart by ref, and a new one."""

import pytest

from rememberd.engine.status import vault_ref
from tests.console.people import (
    REFUSED,
    home,
    leads_to_sign_in,
    methods_not_allowed,
    refusals_of_forms_not_its_own,
    vaults_of,
)
from tests.oauth.person import Page, Person
from tests.oauth.world import World


def make(person: Person, name: str, share: str | None = None) -> Page:
    page = person.open("/vaults")
    more = [("name", name), *([("share", share)] if share else [])]
    return person.submit(page, page.form(having="name"), *more)


def test_a_vault_is_listed_with_the_ref_that_apps_are_told(world: World, alice: Person) -> None:
    page = make(alice, "notes")
    assert page.status == 200
    made = vaults_of(world, alice)["notes"]
    assert vault_ref(made.id) in page.text
    assert "Only you" in page.text


def test_it_belongs_to_whoever_made_it(world: World, alice: Person, bob: Person) -> None:
    make(bob, "bobs own")
    assert "bobs own" in bob.open("/vaults").text
    assert "bobs own" not in alice.open("/vaults").text


def test_a_shared_vault_is_everybodys_in_their_role(
    world: World, alice: Person, bob: Person, charlie: Person
) -> None:
    make(alice, "team", home(world, alice))
    assert "Everyone in local You are owner" in alice.open("/vaults").text
    assert "Everyone in local You are reader" in bob.open("/vaults").text
    assert "team" not in charlie.open("/vaults").text


def test_only_owners_share(world: World, alice: Person, bob: Person, charlie: Person) -> None:
    organization = home(world, alice)
    assert make(bob, "bobs team", organization).status == 403
    assert make(charlie, "charlies team", organization).status == 403
    assert make(alice, "nowhere", "org_nothing").status == 403


def test_two_people_may_use_one_name(world: World, alice: Person, bob: Person) -> None:
    """A taken name would tell one what the other has."""
    assert make(alice, "diary").status == 200
    assert make(bob, "diary").status == 200
    page = make(alice, "diary")
    assert page.status == 409
    assert "exists already" in page.text
    assert vaults_of(world, alice)["diary"].id != vaults_of(world, bob)["diary"].id


@pytest.mark.parametrize("name", ["", " ", "../etc", "a" * 65, "<b>", "a\x00b", "\u202e"])
def test_a_bad_name_is_said_at_its_field(world: World, alice: Person, name: str) -> None:
    page = make(alice, name)
    assert page.status == 400
    assert 'href="#name"' in page.reply.body.decode()


def test_whoever_is_not_signed_in_is_led_there(world: World, alice: Person) -> None:
    assert leads_to_sign_in(world, "/vaults")


def test_forms_that_are_not_its_own_make_nothing(
    world: World, alice: Person, charlie: Person
) -> None:
    refusals = refusals_of_forms_not_its_own(world, alice, charlie, "/vaults", {"name": "forged"})
    assert refusals == REFUSED
    assert "forged" not in vaults_of(world, alice)


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/vaults", "PUT", "DELETE")
