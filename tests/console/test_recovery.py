"""`/sign-in/recovery`: back in with a code that was kept, and a new password."""

from urllib.parse import urlencode, urlsplit

import pytest

from tests.console.people import get, methods_not_allowed, new_email, post
from tests.oauth.person import Page, Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World

NEW = "an entirely different password"


@pytest.fixture
def dora(world: World, alice: Person) -> Person:
    return Person(world, new_email()).join(alice.invite("reader"))


def recover(browser: Person, email: str, code: str, password: str = NEW, then: str = "/") -> Page:
    page = browser.open(f"/sign-in/recovery?{urlencode({'next': then})}")
    form = page.form(having="code")
    return browser.submit(page, form, ("email", email), ("code", code), ("password", password))


def test_a_code_lets_in_once_with_a_new_password(world: World, dora: Person) -> None:
    browser = Person(world, dora.email)
    page = recover(browser, dora.email, dora.recovery_codes[0])
    assert (page.status, urlsplit(page.url).path) == (200, "/account")
    assert "9 unused codes left" in page.text
    assert recover(Person(world, ""), dora.email, dora.recovery_codes[0]).status == 403
    assert Person(world, dora.email, NEW).sign_in().status == 200
    assert Person(world, dora.email, dora.password).sign_in().status == 403


def test_every_other_browser_is_signed_out(world: World, dora: Person) -> None:
    assert get(world, dora, "/account").status == 200
    recover(Person(world, dora.email), dora.email, dora.recovery_codes[1])
    assert get(world, dora, "/account").status == 303


def test_what_else_can_still_get_in_is_shown_first(world: World, dora: Person) -> None:
    page = recover(Person(world, ""), dora.email, dora.recovery_codes[5])
    assert "No passkey and no connected app can use this account besides." in page.text
    assert "Go on" not in page.text
    Program.registered(world).connect(Person(world, dora.email, NEW), [READ], new_vault="boats")
    wanted = "/consent?request=arq_1"
    page = recover(Person(world, ""), dora.email, dora.recovery_codes[6], then=wanted)
    assert "they still work: 1 connected app ." in page.text
    assert wanted in page.links


@pytest.mark.parametrize("password", ["short", "password1234", "abcdefghijkl"])
def test_a_code_is_not_used_up_by_a_password_that_is_too_weak(
    world: World, dora: Person, password: str
) -> None:
    code = dora.recovery_codes[2]
    page = recover(Person(world, ""), dora.email, code, password)
    assert page.status == 400
    assert 'href="#password"' in page.reply.body.decode()
    assert recover(Person(world, ""), dora.email, f" {code.upper()} ").status == 200


def test_a_code_of_somebody_else_is_worth_nothing(
    world: World, alice: Person, dora: Person
) -> None:
    page = recover(Person(world, ""), alice.email, dora.recovery_codes[3])
    assert page.status == 403
    assert "Email or recovery code is wrong" in page.text


def test_an_unknown_email_gets_the_same_answer(world: World, dora: Person) -> None:
    page = recover(Person(world, ""), "nobody@example.com", "aaaa-bbbb-cccc-dddd")
    assert page.status == 403
    assert "Email or recovery code is wrong" in page.text


def test_a_form_that_is_not_its_own_recovers_nothing(world: World, dora: Person) -> None:
    fields = {"email": dora.email, "code": dora.recovery_codes[4], "password": NEW}
    assert post(world, None, "/sign-in/recovery", fields).status == 403
    assert Person(world, dora.email, dora.password).sign_in().status == 200


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/sign-in/recovery", "PUT", "DELETE")
