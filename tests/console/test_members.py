"""`/members`: who belongs, in which role, and who is invited."""

import pytest

from tests.console.people import (
    REFUSED,
    account_of,
    form_token,
    get,
    home,
    leads_to_sign_in,
    methods_not_allowed,
    new_email,
    post,
    refusals_of_forms_not_its_own,
    text,
)
from tests.oauth.person import Person
from tests.oauth.program import READ, Program, works
from tests.oauth.world import World


@pytest.fixture
def dora(world: World, alice: Person) -> Person:
    return Person(world, new_email()).join(alice.invite("reader"))


def send(world: World, by: Person, organization: str, action: str, **fields: str) -> int:
    form = {
        "form_token": form_token(by.open("/sign-out")),
        "organization": organization,
        "action": action,
        **fields,
    }
    return post(world, by, "/members", form).status


def role_of(world: World, alice: Person, person: Person) -> str | None:
    listed = world.do(world.app.auth.members.list(account_of(world, alice), home(world, alice)))
    return next((one.role for one in listed if one.email == person.email), None)


def test_owners_change_roles_and_remove(world: World, alice: Person, dora: Person) -> None:
    organization, member = home(world, alice), account_of(world, dora).id
    assert send(world, alice, organization, "role", member=member, role="editor") == 303
    assert role_of(world, alice, dora) == "editor"
    assert send(world, alice, organization, "remove", member=member) == 303
    assert role_of(world, alice, dora) is None
    assert dora.email not in alice.open("/members").text


def test_access_ends_when_membership_ends(world: World, alice: Person, dora: Person) -> None:
    alice.new_vault("shared", home(world, alice))
    tokens = Program.registered(world).connect(dora, [READ])
    assert works(world, tokens.access)
    send(world, alice, home(world, alice), "remove", member=account_of(world, dora).id)
    assert not works(world, tokens.access)


def test_a_connection_does_not_come_back_with_the_membership(
    world: World, alice: Person, dora: Person
) -> None:
    alice.new_vault("shared again", home(world, alice))
    app = Program.registered(world)
    tokens = app.connect(dora, [READ])
    send(world, alice, home(world, alice), "remove", member=account_of(world, dora).id)
    page = dora.open("/join?token=" + alice.invite("reader").partition("token=")[2])
    dora.submit(page, page.form(having="action"), ("action", "join"))
    assert role_of(world, alice, dora) == "reader"
    assert not works(world, tokens.access)
    assert app.refresh(tokens.refresh).json["error"] == "invalid_grant"


def test_an_invitation_is_shown_once_and_can_be_withdrawn(world: World, alice: Person) -> None:
    link = alice.invite("editor")
    page = alice.open("/members")
    assert link not in text(page.reply)
    form = page.form(having="invitation")
    alice.submit(page, form, ("action", "withdraw"))
    assert get(world, None, link.removeprefix(world.url)).status == 404


@pytest.mark.parametrize("action", ["remove", "role"])
def test_a_link_ends_with_its_owners_ownership(
    world: World, alice: Person, dora: Person, action: str
) -> None:
    organization, member = home(world, alice), account_of(world, dora).id
    send(world, alice, organization, "role", member=member, role="owner")
    link = dora.invite("owner").removeprefix(world.url)
    assert f"invited by {dora.email}" in alice.open("/members").text
    assert get(world, None, link).status == 200
    send(world, alice, organization, action, member=member, role="reader")
    assert get(world, None, link).status == 404
    assert f"invited by {dora.email}" not in alice.open("/members").text
    send(world, alice, organization, "role", member=member, role="reader")


def test_members_see_each_other_and_change_nothing(
    world: World, alice: Person, bob: Person
) -> None:
    page = bob.open("/members")
    assert alice.email in page.text
    assert "Invite somebody" not in page.text
    organization, owner = home(world, alice), account_of(world, alice).id
    own = account_of(world, bob).id
    assert send(world, bob, organization, "role", member=own, role="owner") == 403
    assert send(world, bob, organization, "remove", member=owner) == 403
    assert send(world, bob, organization, "invite", role="reader") == 403
    assert send(world, bob, organization, "withdraw", invitation="inv_x") == 403
    assert role_of(world, alice, bob) == "reader"


def test_strangers_find_no_organization(world: World, alice: Person, charlie: Person) -> None:
    page = charlie.open("/members")
    assert alice.email not in page.text
    assert "You belong to no organization" in page.text
    organization = home(world, alice)
    for action in ("role", "remove", "invite", "withdraw"):
        fields = {"member": account_of(world, alice).id, "role": "reader", "invitation": "inv_x"}
        assert send(world, charlie, organization, action, **fields) == 404


def test_bad_ids_are_not_found(world: World, alice: Person) -> None:
    organization = home(world, alice)
    assert send(world, alice, organization, "remove", member="acc_nobody") == 404
    assert send(world, alice, organization, "role", member="acc_nobody", role="reader") == 404
    assert send(world, alice, organization, "withdraw", invitation="inv_nothing") == 404
    assert send(world, alice, "org_nothing", "invite", role="reader") == 404


def test_an_organization_keeps_an_owner(world: World, alice: Person) -> None:
    organization, own = home(world, alice), account_of(world, alice).id
    assert send(world, alice, organization, "remove", member=own) == 409
    assert send(world, alice, organization, "role", member=own, role="reader") == 409
    assert role_of(world, alice, alice) == "owner"


def test_anybody_may_leave(world: World, alice: Person, dora: Person) -> None:
    own = account_of(world, dora).id
    assert send(world, dora, home(world, alice), "remove", member=own) == 303
    assert role_of(world, alice, dora) is None


@pytest.mark.parametrize("role", ["", "admin", "OWNER"])
def test_there_are_three_roles(world: World, alice: Person, dora: Person, role: str) -> None:
    member = account_of(world, dora).id
    assert send(world, alice, home(world, alice), "role", member=member, role=role) == 400
    assert send(world, alice, home(world, alice), "invite", role=role) == 400
    assert role_of(world, alice, dora) == "reader"


def test_a_bad_email_is_said_at_its_field(world: World, alice: Person) -> None:
    page = alice.open("/members")
    form = page.form(having="email")
    page = alice.submit(page, form, ("email", "nonsense"), ("action", "invite"))
    assert page.status == 400
    assert 'href="#email"' in text(page.reply)


def test_whoever_is_not_signed_in_is_led_there(world: World, alice: Person) -> None:
    assert leads_to_sign_in(world, "/members")


def test_forms_that_are_not_its_own_change_nothing(
    world: World, alice: Person, charlie: Person, dora: Person
) -> None:
    fields = {
        "organization": home(world, alice),
        "member": account_of(world, dora).id,
        "action": "remove",
    }
    refusals = refusals_of_forms_not_its_own(world, alice, charlie, "/members", fields)
    assert refusals == REFUSED
    assert role_of(world, alice, dora) == "reader"


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/members", "PUT", "DELETE")
