"""`/sign-in`: who somebody is, and then back to where they were going."""

from urllib.parse import urlencode

import pytest

from tests.console.people import cookie, form_token, get, methods_not_allowed, post, text
from tests.oauth.person import Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World


def again(world: World, person: Person) -> Person:
    """The same person in another browser."""
    return Person(world, person.email, person.password)


def test_a_password_lets_in_and_leads_on(world: World, alice: Person) -> None:
    browser = again(world, alice)
    page = browser.open("/vaults")
    assert page.url == f"{world.url}/sign-in?next=%2Fvaults"
    page = browser.sign_in_at(page)
    assert (page.status, page.url) == (200, f"{world.url}/vaults")


@pytest.mark.threat(number=20)
def test_the_session_id_changes_and_the_old_one_is_worth_nothing(
    world: World, alice: Person
) -> None:
    browser = again(world, alice)
    page = browser.open("/sign-in")
    before = dict(browser.cookies)
    browser.sign_in_at(page)
    assert browser.cookies != before
    fixed = again(world, alice)
    fixed.cookies = before
    assert get(world, fixed, "/account").status == 303


@pytest.mark.threat(number=20)
def test_signing_in_again_and_signing_out_end_the_session_of_before(
    world: World, alice: Person
) -> None:
    browser, copied = again(world, alice), again(world, alice)
    browser.sign_in()
    copied.cookies = dict(browser.cookies)
    assert get(world, copied, "/account").status == 200
    browser.sign_in_at(browser.open("/sign-in?again=1"))
    assert get(world, browser, "/account").status == 200
    assert get(world, copied, "/account").status == 303
    copied.cookies = dict(browser.cookies)
    browser.sign_out()
    assert get(world, copied, "/account").status == 303


@pytest.mark.threat(number=21)
def test_a_wrong_email_and_a_wrong_password_get_the_same_answer(
    world: World, alice: Person
) -> None:
    answers = set[tuple[int, str]]()
    for email, password in ((alice.email, "wrong wrong wrong"), ("no@example.com", "wrong")):
        browser = Person(world, "", "")
        page = browser.open("/sign-in")
        form = page.form(having="password")
        page = browser.submit(page, form, ("email", email), ("password", password))
        answers.add((page.status, page.text))
    assert len(answers) == 1
    assert answers.pop()[0] == 403


def test_too_many_wrong_passwords_have_to_wait(world: World, alice: Person, bob: Person) -> None:
    guesser = Person(world, bob.email, "not the password")
    page = guesser.open("/sign-in")
    form = page.form(having="password")
    typed = (("email", bob.email), ("password", "not the password"))
    answers = [guesser.submit(page, form, *typed) for _ in range(7)]
    assert answers[-1].status == 429
    assert int(answers[-1].reply.headers["retry-after"]) > 0
    assert get(world, bob, "/account").status == 200, "somebody else locked Bob out"
    world.clock.move(minutes=10)
    assert again(world, bob).sign_in().status == 200


def test_an_app_that_asks_is_mentioned(world: World, alice: Person) -> None:
    app = Program.registered(world)
    page = again(world, alice).open(app.link(READ).url)
    assert page.url.startswith(f"{world.url}/sign-in?next=%2Fauthorize")
    assert "An app asks to use your memory" in page.text


@pytest.mark.threat(number=1)
@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/sign-in",
        "/sign-out",
        "/unknown",
        "/connections/../sign-out",
        "/memories/a/b",
        "/authorize#x",
        "/authorize?" + "a" * 17_000,
        "/vaults\r\nSet-Cookie: a=b",
        "/vaults?\u202e",
    ],
)
def test_it_leads_to_pages_of_ours_alone(world: World, alice: Person, elsewhere: str) -> None:
    path = f"/sign-in?{urlencode({'next': elsewhere})}"
    reply = get(world, alice, path)
    assert (reply.status, reply.headers["location"]) == (303, "/")


def test_it_leads_back_byte_for_byte(world: World, alice: Person) -> None:
    wanted = "/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&scope=a+b&state=%2B%25"
    reply = get(world, alice, f"/sign-in?{urlencode({'next': wanted})}")
    assert reply.headers["location"] == wanted


def test_a_tab_left_behind_goes_on_with_the_session_of_the_other(
    world: World, alice: Person
) -> None:
    browser = again(world, alice)
    left_behind = browser.open("/sign-in?next=%2Fmembers")
    browser.sign_in()
    page = browser.sign_in_at(left_behind)
    assert page.url == f"{world.url}/members"


def test_two_first_tabs_at_once_cost_one_more_try(world: World, alice: Person) -> None:
    """Neither had a cookie yet, so the second one's won."""
    browser = again(world, alice)
    first = browser.open("/sign-in")
    browser.cookies.clear()
    browser.open("/sign-in")
    page = browser.sign_in_at(first)
    assert page.status == 403
    assert f'value="{alice.email}"' in text(page.reply)
    assert browser.sign_in_at(page).status == 200


@pytest.mark.threat(number=7)
def test_nobody_is_signed_in_with_a_form_that_was_made_elsewhere(
    world: World, alice: Person, bob: Person
) -> None:
    """Login CSRF: a page elsewhere would like the visitor to use its author's account."""
    fields = {"email": bob.email, "password": bob.password}
    assert post(world, None, "/sign-in", fields).status == 403
    visitor, author = again(world, alice), again(world, bob)
    visitor.open("/sign-in")
    stolen = {**fields, "form_token": form_token(author.open("/sign-in"))}
    reply = post(world, visitor, "/sign-in", stolen)
    assert reply.status == 403
    assert "location" not in reply.headers


def test_a_session_ends_after_twelve_idle_hours(moving: World) -> None:
    browser = Person(moving, "alice@example.com").set_up()
    moving.clock.move(hours=11)
    assert get(moving, browser, "/account").status == 200
    moving.clock.move(hours=11)
    assert get(moving, browser, "/account").status == 200
    moving.clock.move(hours=13)
    assert get(moving, browser, "/account").status == 303


def test_a_passkey_nobody_knows_lets_nobody_in(world: World, alice: Person) -> None:
    browser = again(world, alice)
    token = form_token(browser.open("/sign-in"))
    options = post(world, browser, "/sign-in/passkey-options", {"form_token": token})
    assert options.json["userVerification"] == "required"
    assert "allowCredentials" not in options.json or options.json["allowCredentials"] == []
    for credential in ("", "{}", "[]", '{"id": 3}', '{"id": "AAAA"}', "\x00"):
        fields = {"form_token": token, "action": "passkey", "credential": credential}
        assert post(world, browser, "/sign-in", fields).status == 403


def test_passkey_options_are_for_the_pages_own_script(world: World, alice: Person) -> None:
    assert post(world, None, "/sign-in/passkey-options", {}).status == 403
    assert world.send("GET", "/sign-in/passkey-options", None, cookie(alice)).status == 405


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/sign-in", "PUT", "DELETE")


def test_a_session_ends_after_thirty_days_however_much_it_is_used(moving: World) -> None:
    browser = Person(moving, "alice@example.com").set_up()
    for _ in range(66):
        assert get(moving, browser, "/account").status == 200
        moving.clock.move(hours=11)
    assert get(moving, browser, "/account").status == 303
