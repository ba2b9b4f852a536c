"""`/consent`: what an app asks for, and what a person lets it have."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from rememberd.engine import vaults
from rememberd.model import VaultKind
from tests.console.people import (
    REFUSED,
    form_token,
    get,
    home,
    leads_to_sign_in,
    methods_not_allowed,
    post,
    refusals_of_forms_not_its_own,
    text,
    vaults_of,
)
from tests.oauth.person import Page, Person
from tests.oauth.program import (
    ALL,
    CALLBACK,
    DELETE,
    READ,
    REFLECT,
    WRITE,
    Program,
    found,
    query_of,
    store,
)
from tests.oauth.world import World

WEB = "https://app.example/callback"


def asked(person: Person, scope: str = READ, **metadata: object) -> Page:
    """The consent page for a fresh app."""
    app = Program.registered(person.world, **metadata)
    return person.ask_consent(app.link(scope).url)


def path_of(page: Page) -> str:
    parts = urlsplit(page.url)
    return f"{parts.path}?{parts.query}"


# --- what it shows -------------------------------------------------------------------------------


@pytest.mark.threat(number=8)
def test_it_says_who_asks_that_nobody_checked_it_and_where_the_answer_goes(
    world: World, alice: Person
) -> None:
    page = asked(alice, client_name="Scribe", redirect_uris=[WEB])
    assert page.status == 200
    for said in ("Let Scribe use your memory?", "not verified", "goes to app.example"):
        assert said in page.text
    assert "Was it you, just now?" not in page.text


@pytest.mark.threat(number=8)
@pytest.mark.parametrize(
    ("uri", "said"),
    [
        (CALLBACK, "a program on your computer (127.0.0.1)"),
        ("http://localhost:33418/", "a program on your computer (localhost)"),
        (
            "cursor://anysphere.cursor/callback",
            "cursor: links (cursor://anysphere.cursor/callback)",
        ),
        ("com.example.app:/cb", "com.example.app: links (com.example.app:/cb)"),
    ],
)
def test_it_warns_where_any_program_on_the_computer_could_have_asked(
    world: World, alice: Person, uri: str, said: str
) -> None:
    page = asked(alice, redirect_uris=[uri])
    assert said in page.text
    assert "Was it you, just now?" in page.text


@pytest.mark.threat(number=8)
@pytest.mark.parametrize(
    ("asking", "ticked"),
    [
        (READ, {READ}),
        (f"{READ} {WRITE}", {READ, WRITE}),
        (" ".join(ALL), {READ, WRITE}),
        (f"{DELETE} {REFLECT}", set[str]()),
    ],
)
def test_read_and_write_are_ticked_when_asked_for_and_nothing_else_ever_is(
    world: World, alice: Person, asking: str, ticked: set[str]
) -> None:
    page = asked(alice, asking)
    form = page.form(having="decision")
    assert {one.value for one in form.named("scope")} == set(ALL)
    assert form.ticked("scope") == ticked
    assert page.text.count("asked for") == len(asking.split())
    assert "Without this, the app cannot save." in page.text


def test_a_vault_is_picked_beforehand_only_if_there_is_no_choice(moving: World) -> None:
    alice = Person(moving, "alice@example.com").set_up()
    lone = Person(moving, "lone@example.com").join(alice.invite("reader"))
    form = asked(lone).form(having="decision")
    assert form.ticked("vault") == {"new"}
    assert [one.value for one in form.named("new_vault")] == ["personal"]
    lone.new_vault("only")
    (only,) = vaults_of(moving, lone).values()
    assert asked(lone).form(having="decision").ticked("vault") == {only.id}
    lone.new_vault("second")
    assert asked(lone).form(having="decision").ticked("vault") == set()


@pytest.mark.threat(number=17)
@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7 * 7 }}",
        "Claude\u202eexe.evil",
        "a\u200bb\u2066c",
        "x" * 500,
        "<style>body{display:none}</style>",
    ],
)
def test_a_name_is_shown_as_text_bounded_and_without_tricks(
    world: World, alice: Person, name: str
) -> None:
    html = text(asked(alice, client_name=name).reply)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "<style" not in html
    assert "49" not in html.partition("<h1>")[2].partition("</h1>")[0]
    assert not {"\u202e", "\u200b", "\u2066"} & set(html)
    assert "x" * 61 not in html


@pytest.mark.threat(number=17)
def test_links_and_logos_of_an_app_are_never_shown(world: World, alice: Person) -> None:
    page = asked(
        alice,
        client_uri="https://evil.example/a",
        logo_uri="https://evil.example/b.png",
        policy_uri="https://evil.example/c",
        tos_uri="javascript:alert(1)",
    )
    assert "evil.example" not in text(page.reply)
    assert "javascript:" not in text(page.reply)


# --- yes -----------------------------------------------------------------------------------------


def test_yes_sends_the_browser_to_the_app_with_a_code(world: World, alice: Person) -> None:
    page = alice.decide(asked(alice, redirect_uris=[f"{WEB}?tenant=%20a+b"]))
    assert page.status == 303
    assert page.location
    assert page.location.startswith(f"{WEB}?tenant=%20a+b&code=")
    assert "form-action" not in page.reply.headers.get("content-security-policy", "")


@pytest.mark.threat(number=8)
def test_it_is_shown_again_however_often_an_app_was_let_in(world: World, alice: Person) -> None:
    app = Program.registered(world)
    alice.consent(app.link(READ).url)
    page = alice.ask_consent(app.link(READ).url)
    assert page.status == 200
    assert page.form(having="decision")


@pytest.mark.quirk(number=13)
def test_a_second_click_gets_the_same_answer(world: World, alice: Person) -> None:
    page = asked(alice)
    first, second = alice.decide(page), alice.decide(page)
    assert first.location == second.location
    assert "answered already" in alice.open(page.url).text
    again = alice.open(page.url)
    sent = alice.submit(again, again.form(having="decision"), ("decision", "again"), follow=False)
    assert sent.location == first.location


def test_a_no_after_a_yes_changes_nothing(world: World, alice: Person) -> None:
    page = asked(alice)
    first = alice.decide(page)
    assert alice.decide(page, decision="deny").location == first.location


@pytest.mark.quirk(number=13)
def test_clicks_at_once_make_one_grant_and_one_vault(world: World, alice: Person) -> None:
    page = asked(alice)
    form = page.form(having="decision")
    fields = {
        **dict(form.pairs()),
        "vault": "new",
        "new_vault": "made by clicking",
        "decision": "approve",
    }
    before = len(alice.connections())
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(post, world, alice, path_of(page), fields) for _ in range(8)]
        answers = {one.result().headers.get("location") for one in sent}
    assert len(answers) == 1
    assert answers.pop().startswith(CALLBACK)  # type: ignore[union-attr]
    assert len(alice.connections()) == before + 1


def test_a_new_vault_is_made_on_the_way(world: World, alice: Person, bob: Person) -> None:
    page = asked(bob)
    assert bob.decide(page, new_vault="fresh").status == 303
    assert vaults_of(world, bob)["fresh"].kind is VaultKind.PERSONAL
    assert "fresh" not in vaults_of(world, alice)


# --- no ------------------------------------------------------------------------------------------


def test_no_is_told_to_the_app_and_grants_nothing(world: World, alice: Person) -> None:
    before = alice.connections()
    page = alice.decide(asked(alice), decision="deny")
    assert page.location
    assert query_of(page.location)["error"] == ["access_denied"]
    assert alice.connections() == before


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"scope": READ}, "vault"),
        ({"vault": "new", "new_vault": "unticked"}, "scope"),
        ({"vault": "new", "new_vault": "<b>", "scope": READ}, "name"),
        ({"vault": "new", "new_vault": "", "scope": READ}, "name"),
        ({"vault": "new", "new_vault": "odd", "scope": "memories:everything"}, "scope"),
    ],
)
def test_what_is_missing_is_said_at_its_field_and_nothing_is_granted(
    world: World, alice: Person, fields: dict[str, str], field: str
) -> None:
    alice.new_vault(f"one more {field} {len(fields)} {len(fields.get('new_vault', ''))}")
    page, before = asked(alice), alice.connections()
    sent = {"form_token": form_token(page), "decision": "approve", **fields}
    reply = post(world, alice, path_of(page), sent)
    assert reply.status == 400
    assert f'href="#{field}"' in text(reply)
    assert alice.connections() == before


@pytest.mark.parametrize("decision", ["", "again", "yes"])
def test_only_a_plain_yes_is_one(world: World, alice: Person, decision: str) -> None:
    page, before = asked(alice), alice.connections()
    assert alice.decide(page, decision=decision).status == 400
    assert alice.connections() == before


# --- roles ---------------------------------------------------------------------------------------


def test_a_reader_lets_an_app_read_and_no_more(world: World, alice: Person) -> None:
    dora = Person(world, "reader@example.com").join(alice.invite("reader"))
    alice.new_vault("for readers", home(world, alice))
    shared = vaults_of(world, alice)["for readers"]
    assert asked(dora, f"{READ} {WRITE}").form(having="decision").ticked("scope") == {READ}
    dora.new_vault("my own")
    page = asked(dora, f"{READ} {WRITE}")
    assert "You are a reader there, so an app can only read." in page.text
    refused = dora.decide(page, scopes=[READ, WRITE], vault=shared.id)
    assert refused.status == 400
    form = refused.form(having="decision")
    assert form.ticked("scope") == {READ}
    assert {one.value for one in form.named("scope") if one.is_disabled} == {*ALL} - {READ}
    assert "As reader of this vault you cannot allow this." in refused.text
    assert dora.submit(refused, form, ("decision", "approve"), follow=False).status == 303


@pytest.mark.threat(number=9)
def test_a_vault_of_somebody_else_cannot_be_picked(
    world: World, alice: Person, charlie: Person
) -> None:
    page, answers = asked(charlie), set[str]()
    for vault in (vaults_of(world, alice)["personal"].id, "vlt_nothing"):
        sent = {
            "form_token": form_token(page),
            "decision": "approve",
            "vault": vault,
            "scope": READ,
        }
        reply = post(world, charlie, path_of(page), sent)
        assert reply.status == 400
        answers.add(text(reply))
    assert len(answers) == 1, "whether it exists is nobody else's business"
    assert "You cannot open that vault. Pick another one." in answers.pop()
    assert charlie.connections() == []


def test_a_vault_that_went_while_the_page_was_open_costs_a_second_look(
    world: World, alice: Person
) -> None:
    alice.new_vault("short-lived")
    short_lived = vaults_of(world, alice)["short-lived"].id
    page = asked(alice)
    world.do(vaults.erase_vault(world.app.engine, "short-lived", "alice"))
    page = alice.decide(page, scopes=[READ], vault=short_lived)
    assert page.status == 400
    assert "You cannot open that vault. Pick another one." in page.text
    assert short_lived not in {one.value for one in page.form(having="decision").named("vault")}
    personal = vaults_of(world, alice)["personal"].id
    assert alice.decide(page, scopes=[READ], vault=personal).status == 303


@pytest.mark.threat(number=9)
def test_another_vault_is_another_connection(world: World, alice: Person) -> None:
    """No second consent moves what was agreed to in the first: a grant keeps its vault."""
    app = Program.registered(world)
    one = app.connect(alice, [READ, WRITE], new_vault="kept apart")
    store(world, one.access, "The boat is called Petrel.")
    (first, *_), before = alice.connections(), len(alice.connections())
    other = app.connect(alice, [READ, WRITE], new_vault="somewhere else")
    assert len(alice.connections()) == before + 1
    assert found(world, other.access, "boat") == []
    assert found(world, one.access, "boat") == ["The boat is called Petrel."]
    page = alice.open(f"/connections/{first}")
    assert "kept apart" in page.text
    assert "somewhere else" not in page.text


# --- whose request -------------------------------------------------------------------------------


@pytest.mark.threat(number=7)
def test_a_request_of_another_browser_is_not_found(
    world: World, alice: Person, charlie: Person
) -> None:
    page = asked(alice)
    assert get(world, charlie, path_of(page)).status == 404
    sent = {"form_token": form_token(charlie.open("/sign-out")), "decision": "deny"}
    assert post(world, charlie, path_of(page), sent).status == 404
    assert alice.decide(page).status == 303


@pytest.mark.parametrize("request_id", ["", "arq_nothing", "'", "%E2%80%AE"])
def test_an_unknown_request_is_not_found(world: World, alice: Person, request_id: str) -> None:
    page = alice.open(f"/consent?request={request_id}")
    assert page.status == 404
    assert "Start again in the app" in page.text


def test_a_request_lasts_a_quarter_of_an_hour(world: World, alice: Person) -> None:
    page = asked(alice)
    world.clock.move(minutes=16)
    assert alice.decide(page).status == 404


@pytest.mark.threat(number=7)
def test_two_requests_in_two_tabs_do_not_disturb_each_other(world: World, alice: Person) -> None:
    one, other = asked(alice, client_name="One"), asked(alice, client_name="Other")
    assert alice.decide(other).status == 303
    assert alice.decide(one).status == 303


def test_an_unknown_client_is_shown_and_never_redirected(world: World, alice: Person) -> None:
    app = Program(world, "no-such-client")
    page = alice.open(app.link(READ, redirect_uri="https://evil.example/").url)
    assert page.status == 400
    assert "remove the connection in the app and add it again" in page.text


def test_whoever_is_not_signed_in_is_led_there(world: World, alice: Person) -> None:
    assert leads_to_sign_in(world, "/consent?request=arq_1")


@pytest.mark.threat(number=7)
def test_forms_that_are_not_its_own_answer_nothing(
    world: World, alice: Person, charlie: Person
) -> None:
    page = asked(alice)
    fields = {
        "decision": "approve",
        "vault": vaults_of(world, alice)["personal"].id,
        "scope": READ,
    }
    refusals = refusals_of_forms_not_its_own(world, alice, charlie, path_of(page), fields)
    assert refusals == REFUSED
    assert "Let " in alice.open(page.url).text, "it was answered"


def test_it_takes_a_look_and_a_form(world: World, alice: Person) -> None:
    assert methods_not_allowed(world, alice, "/consent?request=arq_1", "PUT", "DELETE")
