"""What happens before anybody consents: nothing is sent anywhere that was not found to be right."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.oauth.person import Page, Person
from tests.oauth.program import (
    ALL,
    CALLBACK,
    READ,
    Program,
    Tokens,
    challenge_of,
    query_of,
)
from tests.oauth.world import World

EVIL = "https://evil.example/steal"
CHALLENGE = challenge_of("v" * 43)


@pytest.fixture(scope="module")
def app(world: World, alice: Person) -> Program:
    """An app that somebody has let in before."""
    app = Program.registered(world)
    app.connect(alice)
    return app


def is_shown(page: Page) -> bool:
    """The person is told, and nobody else."""
    return page.status == 400 and page.location is None and "<html" in page.reply.body.decode()


def sent_back(page: Page) -> dict[str, list[str]]:
    assert page.status == 303, page.text
    assert page.location
    assert page.location.startswith(CALLBACK)
    return query_of(page.location)


# --- where nothing may be sent back --------------------------------------------------------------


@pytest.mark.threat(number=1)
@pytest.mark.threat(number=2)
@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "clt_unknown"},
        {"client_id": None},
        {"redirect_uri": EVIL},
        {"redirect_uri": EVIL, "response_type": "token"},
        {"redirect_uri": EVIL, "code_challenge": None},
        {"redirect_uri": EVIL, "client_id": "clt_unknown"},
        {"redirect_uri": f"{CALLBACK}/../steal"},
        {"redirect_uri": f"{CALLBACK}?next={EVIL}"},
        {"redirect_uri": f"{CALLBACK}#"},
        {"redirect_uri": "https://127.0.0.1:9999/callback"},
        {"redirect_uri": "http://localhost:9999/callback"},
        {"redirect_uri": "http://127.0.0.1:9999/Callback"},
        {"redirect_uri": "http://127.0.0.1:80@evil.example/callback"},
        {"redirect_uri": "http://127.0.0.1\\@evil.example/callback"},
        {"redirect_uri": "http://127.0.0.1.evil.example:9999/callback"},
        {"redirect_uri": "//evil.example/callback"},
        {"redirect_uri": "\thttp://127.0.0.1:9999/callback"},
        {"redirect_uri": "http://127.0.0.1:9999/callback\r\nSet-Cookie: a=b"},
    ],
    ids=str,
)
def test_an_app_or_address_that_is_not_known_is_shown_and_never_redirected_to(
    world: World, alice: Person, app: Program, changes: dict[str, str | None]
) -> None:
    for person in (alice, Person(world, "stranger@example.com")):
        page = person.open(app.link(**changes).url)
        assert is_shown(page)
        assert "evil.example" not in str(page.reply.headers)


@pytest.mark.quirk(number=28)
def test_the_page_says_what_to_do_about_a_client_that_was_forgotten(
    world: World, app: Program
) -> None:
    page = Person(world, "stranger@example.com").open(app.link(client_id="clt_purged").url)
    assert "remove the connection in the app and add it again" in page.text


@pytest.mark.threat(number=27)
@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "scope", "resource", "x"])
def test_a_parameter_that_is_sent_twice_is_shown(
    world: World, alice: Person, app: Program, name: str
) -> None:
    pairs = [*parse_qsl(urlsplit(app.link().url).query), (name, "a"), (name, "b")]
    assert is_shown(alice.open(f"/authorize?{urlencode(pairs)}"))


def test_a_flood_of_parameters_is_shown(alice: Person, app: Program) -> None:
    more = "&".join(f"p{n}=1" for n in range(200))
    assert is_shown(alice.open(f"{app.link().url}&{more}"))


def test_bytes_that_are_no_text_are_shown(alice: Person, app: Program) -> None:
    assert is_shown(alice.open(f"{app.link(state=None).url}&state=%ff%fe"))


# --- where the app is told -----------------------------------------------------------------------


@pytest.mark.threat(number=5)
@pytest.mark.parametrize(
    "changes, error",
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": "http://localhost/mcp"}, "invalid_target"),
        # PKCE: no challenge, no method (which means plain), another method, another shape
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge": CHALLENGE[:42]}, "invalid_request"),
        ({"code_challenge": f"{CHALLENGE}A"}, "invalid_request"),
        ({"code_challenge": f"{CHALLENGE[:42]}="}, "invalid_request"),
        ({"code_challenge": f"{CHALLENGE[:42]}+"}, "invalid_request"),
        ({"code_challenge": f"{CHALLENGE}\n"}, "invalid_request"),
    ],
    ids=str,
)
def test_an_app_is_told_what_is_wrong_with_its_request(
    world: World, alice: Person, app: Program, changes: dict[str, str | None], error: str
) -> None:
    link = app.link(**changes)
    said = sent_back(alice.open(link.url))
    assert said["error"] == [error]
    assert said["state"] == [link.state]
    assert said["iss"] == [world.url]
    assert "code" not in said


@pytest.mark.threat(number=5)
@pytest.mark.threat(number=27)
def test_a_challenge_that_is_sent_twice_is_not_chosen_from(alice: Person, app: Program) -> None:
    assert is_shown(alice.open(f"{app.link().url}&code_challenge={CHALLENGE}"))


def test_a_state_that_is_too_long_is_not_repeated(alice: Person, app: Program) -> None:
    said = sent_back(alice.open(app.link(state="s" * 5_000).url))
    assert said["error"] == ["invalid_request"]
    assert "state" not in said


@pytest.mark.threat(number=1)
@pytest.mark.parametrize("uri", ["https://evil.example/cb", "com.evil.app:/cb"])
def test_an_app_that_nobody_let_in_yet_cannot_use_us_to_send_people_away(
    world: World, alice: Person, uri: str
) -> None:
    """Anybody may register any address; a link to us must not lead there by itself (OAuth 2.1
    §7.12.2, RFC 9700 §4.11.2).
    """
    app = Program.registered(world, redirect_uris=[uri])
    for person in (alice, Person(world, "stranger@example.com")):
        assert is_shown(person.open(app.link(response_type="token").url))
    app.connect(alice, [READ])
    page = alice.open(app.link(response_type="token").url)
    assert page.location
    assert page.location.startswith(uri)


def test_a_program_on_the_same_computer_is_told_even_if_nobody_let_it_in_yet(
    world: World, alice: Person
) -> None:
    app = Program.registered(world)
    assert sent_back(alice.open(app.link(response_type="token").url))["error"]


# --- the answer ----------------------------------------------------------------------------------


@pytest.mark.threat(number=3)
@pytest.mark.parametrize("decision", ["approve", "deny"])
@pytest.mark.parametrize(
    "query", ["iss=https://evil.example", "a=1&state=x&code=y", "%69ss=evil&c%6fde=z&+iss=w"]
)
def test_the_answer_has_each_of_our_parameters_once(
    world: World, alice: Person, query: str, decision: str
) -> None:
    """Whatever stands in the registered address (RFC 9207 §2.4)."""
    app = Program.registered(world, redirect_uris=[f"{CALLBACK}?{query}"])
    link = app.link()
    location = alice.consent(link.url, decision=decision)
    said = query_of(location)
    assert said["iss"] == [world.url]
    assert said["state"] == [link.state]
    assert len(said.get("code", said.get("error", []))) == 1
    assert urlsplit(location).netloc == "127.0.0.1:9999"
    if query.startswith("a=1"):
        assert said["a"] == ["1"]


@pytest.mark.threat(number=3)
def test_no_is_told_with_the_issuer(world: World, alice: Person, app: Program) -> None:
    link = app.link()
    said = query_of(alice.consent(link.url, decision="deny"))
    assert said["error"] == ["access_denied"]
    assert said["iss"] == [world.url]
    assert said["state"] == [link.state]


def test_a_state_comes_back_byte_for_byte(alice: Person, app: Program) -> None:
    state = "a b+c%20&=é🙂\"'<>#?"
    assert query_of(alice.consent(app.link(state=state).url))["state"] == [state]


def test_no_state_is_no_state(alice: Person, app: Program) -> None:
    assert "state" not in query_of(alice.consent(app.link(state=None).url))


def test_a_request_may_be_posted(world: World, alice: Person, app: Program) -> None:
    """OpenID Connect Core §3.1.2.1. The answer makes a GET of it, so nothing is posted on."""
    link = app.link()
    fields = dict(parse_qsl(urlsplit(link.url).query))
    reply = world.form("/authorize", fields)
    assert reply.status == 303
    assert reply.headers["location"].startswith("/sign-in?")


def test_sign_in_leads_back_to_what_was_asked(world: World, alice: Person, app: Program) -> None:
    person = Person(world, alice.email)
    link = app.link()
    code = app.code(person, link, [READ])
    assert Tokens.of(app.redeem(code, link.verifier)).scope == READ


@pytest.mark.quirk(number=22)
@pytest.mark.parametrize(
    "scope, asked",
    [
        (None, {READ}),
        ("", {READ}),
        ("offline_access", {READ}),
        ("openid profile unknown", {READ}),
        (" ".join(ALL), set(ALL)),
        (f"{READ} offline_access openid", {READ}),
    ],
)
def test_unknown_scopes_are_passed_over(
    alice: Person, app: Program, scope: str | None, asked: set[str]
) -> None:
    page = alice.ask_consent(app.link(scope).url)
    assert page.text.count("asked for") == len(asked)


@pytest.mark.threat(number=8)
@pytest.mark.quirk(number=17)
@pytest.mark.parametrize("prompt", ["consent", "none", "login", "select_account"])
def test_a_prompt_changes_nothing(alice: Person, app: Program, prompt: str) -> None:
    """The page is always shown; clients that ask for offline_access add `consent`."""
    assert alice.open(app.link(prompt=prompt).url).form(having="decision")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_it_takes_a_look_and_a_form(world: World, method: str) -> None:
    reply = world.send(method, "/authorize")
    assert reply.status == 405
    assert "access-control-allow-origin" not in reply.headers
