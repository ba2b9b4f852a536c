"""`/join`: an invitation, taken up with a new account or the one that somebody has."""

import pytest

from rememberd.engine import vaults
from tests.console.people import (
    account_of,
    form_token,
    get,
    home,
    methods_not_allowed,
    post,
    vaults_of,
)
from tests.oauth.person import Person
from tests.oauth.world import World


def role(world: World, alice: Person, person: Person) -> str | None:
    members = world.do(world.app.auth.members.list(account_of(world, alice), home(world, alice)))
    return next((one.role for one in members if one.email == person.email), None)


def path_of(invitation: str) -> str:
    return "/join?token=" + invitation.partition("token=")[2]


def test_a_new_account_gets_the_role_it_was_invited_for(world: World, alice: Person) -> None:
    dora = Person(world, "dora@example.com").join(alice.invite("editor"))
    assert len(dora.recovery_codes) == 10
    assert role(world, alice, dora) == "editor"


def test_it_says_to_what_and_as_what(world: World, alice: Person) -> None:
    page = Person(world, "new@example.com").open(path_of(alice.invite("editor")))
    assert "local" in page.text
    assert "editor" in page.text


def test_somebody_who_has_an_account_joins_with_it(
    world: World, alice: Person, charlie: Person
) -> None:
    page = charlie.open(path_of(alice.invite("reader")))
    page = charlie.submit(page, page.form(having="action"), ("action", "join"))
    assert page.status == 200
    assert role(world, alice, charlie) == "reader"
    owner, member = account_of(world, alice), account_of(world, charlie)
    world.do(world.app.auth.members.remove(owner, home(world, alice), member.id))


def test_whoever_is_a_member_already_is_told_so(world: World, alice: Person) -> None:
    page = alice.open(path_of(alice.invite("reader")))
    assert "You, alice@example.com , are a member already, as owner." in page.text
    assert "Join as" not in page.text


def test_a_link_never_lowers_a_role(world: World, alice: Person) -> None:
    path = path_of(alice.invite("reader"))
    token = form_token(alice.open("/sign-out"))
    assert post(world, alice, path, {"form_token": token, "action": "join"}).status == 409
    assert role(world, alice, alice) == "owner"


def test_an_invitation_to_a_project_opens_that_project(
    world: World, alice: Person, charlie: Person
) -> None:
    engine = world.app.engine
    project = world.do(vaults.create_project(engine, "boats"))
    world.do(vaults.create_vault(engine, "logbook", project.name))
    link = alice.invite("editor", project.id)
    assert "Whoever has the link , as editor of the project boats" in alice.open("/members").text
    page = charlie.open(path_of(link))
    assert "Join the project boats of local as editor" in page.text
    page = charlie.submit(page, page.form(having="action"), ("action", "join"))
    assert page.url == f"{world.url}/vaults"
    assert "logbook" in page.text
    assert role(world, alice, charlie) is None
    again = path_of(alice.invite("reader", project.id))
    assert "are a member already, as editor" in charlie.open(again).text
    token = form_token(charlie.open("/sign-out"))
    assert post(world, charlie, again, {"form_token": token, "action": "join"}).status == 409
    assert vaults_of(world, charlie)["logbook"].id
    assert "are a member already, as owner" in alice.open(again).text


def test_nobody_is_invited_to_a_project_of_others(world: World, alice: Person) -> None:
    page = alice.open("/members")
    form = next(form for form in page.forms if form.named("role") and form.named("email"))
    typed = (("role", "reader"), ("project", "prj_nothing"), ("action", "invite"))
    assert alice.submit(page, form, *typed).status == 404


def test_sign_in_leads_back_to_it(world: World, alice: Person, bob: Person) -> None:
    page = Person(world, bob.email).open(path_of(alice.invite("reader")))
    sign_in = next(link for link in page.links if link.startswith("/sign-in?"))
    stranger = Person(world, bob.email)
    page = stranger.sign_in_at(stranger.open(sign_in))
    assert page.url.startswith(f"{world.url}/join?token=")


def test_a_link_for_one_email_is_not_for_another(world: World, alice: Person) -> None:
    owner, organization = account_of(world, alice), home(world, alice)
    members = world.app.auth.members
    token = world.do(members.invite(owner, organization, "reader", "eric@example.com"))
    eve = Person(world, "eve@example.com")
    page = eve.open(f"/join?token={token}")
    form = page.form(having="password")
    page = eve.submit(page, form, ("email", eve.email), ("password", eve.password))
    assert page.status == 400
    assert role(world, alice, eve) is None


def test_a_used_link_is_not_found(world: World, alice: Person) -> None:
    path = path_of(alice.invite("reader"))
    Person(world, "once@example.com").join(path)
    assert get(world, None, path).status == 404


@pytest.mark.parametrize("token", ["", "mil_nonsense"])
def test_a_bad_link_is_not_found(world: World, alice: Person, token: str) -> None:
    assert get(world, None, f"/join?token={token}").status == 404


def test_a_taken_email_is_told_to_its_holder_alone(world: World, alice: Person) -> None:
    """Only somebody with an invitation gets this far."""
    page = Person(world, "x@example.com").open(path_of(alice.invite("reader")))
    other = Person(world, "x@example.com")
    page = other.open(page.url)
    form = page.form(having="password")
    page = other.submit(page, form, ("email", alice.email), ("password", other.password))
    assert page.status == 409


def test_a_form_that_is_not_its_own_makes_nobody_join(
    world: World, alice: Person, charlie: Person, bob: Person
) -> None:
    path = path_of(alice.invite("owner"))
    assert post(world, charlie, path, {"action": "join"}).status == 403
    foreign = form_token(bob.open("/sign-out"))
    assert post(world, charlie, path, {"action": "join", "form_token": foreign}).status == 403
    assert role(world, alice, charlie) is None


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, path_of(alice.invite("reader")), "PUT", "DELETE")
