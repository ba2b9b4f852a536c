"""`/account`: how somebody signs in, and where they are signed in."""

import pytest

from tests.console.people import (
    REFUSED,
    account_of,
    form_token,
    get,
    leads_to_sign_in,
    methods_not_allowed,
    new_email,
    post,
    refusals_of_forms_not_its_own,
    text,
)
from tests.oauth.person import Page, Person
from tests.oauth.world import World

NEW = "an entirely different password"


@pytest.fixture
def dora(world: World, alice: Person) -> Person:
    """Somebody whose secrets a test may change, signed in just now."""
    return Person(world, new_email()).join(alice.invite("reader"))


def act(person: Person, action: str, **typed: str) -> Page:
    page = person.open("/account")
    form = next(
        form for form in page.forms if action in {one.value for one in form.named("action")}
    )
    return person.submit(page, form, *typed.items(), ("action", action))


def test_it_shows_who_one_is_and_what_one_has(world: World, dora: Person) -> None:
    page = dora.open("/account")
    assert dora.email in page.text
    assert "10 unused codes left" in page.text
    assert "signed in nowhere else" in page.text


def test_it_shows_nothing_of_anybody_else(world: World, alice: Person, charlie: Person) -> None:
    page = charlie.open("/account")
    assert charlie.email in page.text
    assert alice.email not in text(page.reply)


@pytest.mark.threat(number=20)
def test_a_new_password_ends_every_other_session_and_changes_this_one(
    world: World, dora: Person
) -> None:
    elsewhere = Person(world, dora.email)
    elsewhere.sign_in()
    before = dict(dora.cookies)
    page = act(dora, "password", current=dora.password, password=NEW)
    assert "The password was changed" in page.text
    assert dora.cookies != before
    assert get(world, elsewhere, "/account").status == 303
    elsewhere.cookies = before
    assert get(world, elsewhere, "/account").status == 303
    assert Person(world, dora.email, NEW).sign_in().status == 200


def test_the_current_password_has_to_be_right(world: World, dora: Person) -> None:
    page = act(dora, "password", current="wrong wrong wrong", password=NEW)
    assert page.status == 403
    assert Person(world, dora.email).sign_in().status == 200


def test_guessing_the_current_password_gets_slow(world: World, dora: Person) -> None:
    answers = [act(dora, "password", current="wrong", password=NEW).status for _ in range(6)]
    assert answers == [403] * 5 + [429]


def test_new_codes_replace_the_old_ones_and_are_shown_once(world: World, dora: Person) -> None:
    act(dora, "codes")
    page = act(dora, "codes")
    codes = [word for word in page.text.split() if word.count("-") == 3 and len(word) == 19]
    assert len(set(codes)) == 10
    assert not set(codes) & set(dora.recovery_codes)
    assert codes[0] not in dora.open("/account").text
    accounts = world.app.auth.accounts
    world.do(accounts.recover(dora.email, codes[0], ""))


def test_other_browsers_can_be_signed_out(world: World, dora: Person) -> None:
    elsewhere = Person(world, dora.email)
    elsewhere.sign_in()
    assert "in 1 other browser" in dora.open("/account").text
    assert "Every other browser was signed out" in act(dora, "sessions").text
    assert get(world, elsewhere, "/account").status == 303
    assert get(world, dora, "/account").status == 200


@pytest.mark.parametrize("action", ["codes", "passkey", "remove-passkey"])
def test_after_a_while_another_way_in_needs_a_new_sign_in(
    world: World, dora: Person, action: str
) -> None:
    token = form_token(dora.open("/account"))
    world.clock.move(minutes=16)
    reply = post(world, dora, "/account", {"form_token": token, "action": action})
    assert (reply.status, reply.headers["location"]) == (
        303,
        "/sign-in?next=%2Faccount&again=yes",
    )
    page = dora.open(reply.headers["location"])
    assert "Sign in again" in page.text
    assert dora.sign_in_at(page).url == f"{world.url}/account"
    assert act(dora, "codes").status == 200


def test_a_passkey_that_was_not_made_here_is_refused(world: World, dora: Person) -> None:
    token = form_token(dora.open("/account"))
    options = post(world, dora, "/account/passkey-options", {"form_token": token})
    assert options.json["rp"]["id"] == "localhost"
    assert options.json["user"]["name"] == dora.email
    for credential in ("", "{}", "[1]", '{"id": "AAAA", "type": "public-key"}', "\x00"):
        fields = {"form_token": token, "action": "passkey", "credential": credential}
        assert post(world, dora, "/account", fields).status in (400, 403)
    assert "There are none" in dora.open("/account").text


def test_a_passkey_that_is_not_there_is_not_found(world: World, dora: Person) -> None:
    token = form_token(dora.open("/account"))
    fields = {"form_token": token, "action": "remove-passkey", "passkey": "pky_nothing"}
    assert post(world, dora, "/account", fields).status == 404


def test_an_unknown_action_does_nothing(world: World, dora: Person) -> None:
    token = form_token(dora.open("/account"))
    for action in ("", "delete", "password "):
        fields = {"form_token": token, "action": action}
        assert post(world, dora, "/account", fields).status in (400, 403)


def test_whoever_is_not_signed_in_is_led_there(world: World, alice: Person) -> None:
    assert leads_to_sign_in(world, "/account")
    assert post(world, None, "/account", {"action": "codes"}).status == 303
    assert post(world, None, "/account/passkey-options", {}).status == 403


def test_forms_that_are_not_its_own_change_nothing(
    world: World, dora: Person, charlie: Person
) -> None:
    for action in ("codes", "sessions"):
        refusals = refusals_of_forms_not_its_own(
            world, dora, charlie, "/account", {"action": action}
        )
        assert refusals == REFUSED
    assert "10 unused codes left" in dora.open("/account").text


def test_it_takes_a_look_and_a_form(world: World, dora: Person) -> None:
    assert methods_not_allowed(world, dora, "/account", "PUT", "DELETE")
    assert methods_not_allowed(world, dora, "/account/passkey-options", "GET", "PUT")


def test_a_person_who_is_disabled_is_out_at_once(world: World, dora: Person) -> None:
    gone = account_of(world, dora).id

    async def disable() -> None:
        await world.app.engine.store.control.write(
            lambda tx: tx.connection.execute(
                "UPDATE account SET disabled_at = 1 WHERE id = ?", (gone,)
            )
        )

    world.do(disable())
    assert get(world, dora, "/account").status == 303
    assert Person(world, dora.email).sign_in().status == 403
