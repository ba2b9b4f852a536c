"""`/sign-out`: the session ends here and now."""

from tests.console.people import get, methods_not_allowed, post
from tests.oauth.person import Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World


def test_the_session_is_worth_nothing_afterwards(world: World, alice: Person) -> None:
    browser = Person(world, alice.email)
    browser.sign_in()
    before = dict(browser.cookies)
    browser.sign_out()
    assert browser.cookies != before
    for cookies in (before, browser.cookies):
        browser.cookies = dict(cookies)
        assert get(world, browser, "/account").status == 303


def test_other_browsers_stay_signed_in(world: World, alice: Person) -> None:
    browser = Person(world, alice.email)
    browser.sign_in()
    browser.sign_out()
    assert get(world, alice, "/account").status == 200


def test_another_account_can_answer_what_an_app_asked(
    world: World, alice: Person, bob: Person
) -> None:
    browser = Person(world, alice.email)
    page = browser.ask_consent(Program.registered(world).link(READ).url)
    assert alice.email in page.text
    other = next(form for form in page.forms if form.action.startswith("/sign-out"))
    page = browser.submit(page, other)
    browser.email, browser.password = bob.email, bob.password
    page = browser.sign_in_at(page)
    assert page.url.startswith(f"{world.url}/consent?request=")
    assert bob.email in page.text


def test_a_form_that_is_not_its_own_signs_nobody_out(world: World, alice: Person) -> None:
    assert post(world, alice, "/sign-out", {}).status == 403
    assert get(world, alice, "/account").status == 200


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/sign-out", "PUT", "DELETE")
