"""The pages in a real browser: with a passkey, with the keyboard, without scripts, at every width.

Slow: needs an installed Chromium, and axe-core from npm for what it knows about accessibility.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import Browser

from rememberd.model import Draft
from tests.clients.node import node
from tests.console.chromium import Scheme, Tab, callback, chromium
from tests.console.people import home, new_email, remember, vaults_of
from tests.oauth.person import PASSWORD, Person
from tests.oauth.program import READ, WRITE, Link, Program, Tokens, query_of, works
from tests.oauth.world import World, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SCHEMES: Sequence[Scheme] = get_args(Scheme)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def axe() -> str:
    return (node().folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def findings(tab: Tab, axe: str) -> list[str]:
    """What axe-core finds serious or worse."""
    tab.page.evaluate(axe)
    found = tab.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{tab.path}: {violation['id']}: {violation['nodes'][0]['html']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


def set_up(tab: Tab, world: World) -> None:
    token = world.do(world.app.auth.accounts.setup_link())
    tab.open(f"/setup?token={token}")
    tab.page.get_by_label("Email").fill("alice@example.com")
    tab.page.get_by_label("Password").fill(PASSWORD)
    tab.press("Make the account")


def sign_in(tab: Tab, email: str = "alice@example.com") -> None:
    tab.open("/sign-in")
    tab.page.get_by_label("Email").fill(email)
    tab.page.get_by_label("Password").fill(PASSWORD)
    tab.press("Sign in")


def redeem(app: Program, link: Link, landed: str) -> Tokens:
    said = query_of(landed)
    assert said["state"] == [link.state]
    return Tokens.of(app.redeem(said["code"][0], link.verifier))


# --- from the first link to the last click -------------------------------------------------------


@pytest.mark.quirk(number=13)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_from_setup_over_a_passkey_and_consent_to_revocation(
    tmp_path: Path, browser: Browser, axe: str, scheme: Scheme
) -> None:
    with running(tmp_path / "data") as world, callback() as redirect_uri:
        tab = Tab.opened(browser, world.url, color_scheme=scheme)
        tab.add_authenticator()
        set_up(tab, world)
        assert "Your account is ready" in tab.text()
        assert findings(tab, axe) == []
        tab.press("Add a passkey")
        tab.page.wait_for_url("**/account?done=passkey")
        tab.press("Sign out")

        app = Program.registered(world, client_name="Scribe", redirect_uris=[redirect_uri])
        link = app.link(f"{READ} {WRITE}")
        tab.open(link.url)
        assert "An app asks to use your memory" in tab.text()
        assert findings(tab, axe) == []
        tab.press("Sign in with a passkey")
        tab.page.wait_for_url("**/consent?request=*")
        assert "Let Scribe use your memory?" in tab.text()
        assert findings(tab, axe) == []
        tab.press("Connect")
        tab.page.wait_for_url(f"{redirect_uri}?*")
        assert tab.text() == "Back in the app."
        tokens = redeem(app, link, tab.page.url)
        assert works(world, tokens.access)

        tab.open("/connections")
        tab.page.get_by_role("link", name="Scribe").click()
        assert findings(tab, axe) == []
        tab.press("Disconnect Scribe")
        tab.page.wait_for_url("**/connections")
        assert not works(world, tokens.access)
        assert tab.complaints == []


def test_an_account_can_begin_with_a_passkey_alone(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path / "data") as world:
        tab = Tab.opened(browser, world.url)
        tab.add_authenticator()
        token = world.do(world.app.auth.accounts.setup_link())
        tab.open(f"/setup?token={token}")
        tab.page.get_by_label("Email").fill("alice@example.com")
        tab.press("Use a passkey instead of a password")
        assert "You chose no password" in tab.text()
        tab.press("Add a passkey")
        tab.page.wait_for_url("**/account?done=passkey")
        tab.press("Remove the passkey This device")
        assert "This is your only way to sign in" in tab.text()
        tab.press("Sign out")
        tab.open("/sign-in?next=%2Fvaults")
        tab.press("Sign in with a passkey")
        tab.page.wait_for_url("**/vaults")


# --- a server with something on every page -------------------------------------------------------


@pytest.fixture(scope="module")
def lived_in(world: World, alice: Person) -> World:
    """Members, invitations, keys, shared vaults, a connection, a memory with lineage."""
    alice.new_vault("team", home(world, alice))
    Person(world, new_email()).join(alice.invite("reader"))
    alice.invite("editor")
    vault = vaults_of(world, alice)["personal"]
    world.do(world.app.keys.create(vault.id, name="laptop"))
    app = Program.registered(world, client_name="A rather long name for an app " * 3)
    app.connect(alice, [READ])
    alice.change(alice.connections()[0], "revoke")
    app.connect(alice, [READ, WRITE])
    raw = remember(world, vault, Draft(text="word " * 200 + "x" * 200, tags=("a" * 40,)))
    remember(world, vault, Draft(text="Reflected.", tier=2, importance=8), raw)
    return world


def addresses(world: World, alice: Person, redirect_uri: str) -> list[str]:
    """Every page that somebody who is signed in can open."""

    vault = vaults_of(world, alice)["personal"]

    async def newest() -> list[str]:
        async with world.app.engine.store.vault(vault.id, "ro") as handle:
            rows = await handle.read(lambda tx: tx.all("recent_memories", limit=2))
        return [row["id"] for row in rows]

    app = Program.registered(world, client_name="Scribe", redirect_uris=[redirect_uri])
    return [
        *("/connections", f"/connections/{alice.connections()[0]}", "/vaults", "/members"),
        *("/account", "/sign-out", "/sign-in?again=yes", "/nowhere", "/consent?request=arq_x"),
        *(f"/memories/{memory_id}" for memory_id in world.do(newest())),
        app.link(" ".join((READ, WRITE))).url,
        *STRANGERS,
    ]


STRANGERS = ("/", "/sign-in", "/sign-in/recovery", "/setup?token=x", "/mcp")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious_anywhere(
    lived_in: World, alice: Person, browser: Browser, axe: str, scheme: Scheme
) -> None:
    tab = Tab.opened(browser, lived_in.url, color_scheme=scheme)
    found = list[str]()
    for path in (*STRANGERS, alice.invite("reader")):
        tab.open(path)
        found += findings(tab, axe)
    sign_in(tab)
    for path in addresses(lived_in, alice, "https://app.example/callback"):
        tab.open(path)
        found += findings(tab, axe)
    assert found == []
    assert tab.complaints == []


@pytest.mark.parametrize("width", [320, 640])  # 640 is a laptop at twice its size
def test_nothing_is_wider_than_the_screen(
    lived_in: World, alice: Person, browser: Browser, width: int
) -> None:
    tab = Tab.opened(browser, lived_in.url, viewport={"width": width, "height": 640})
    sign_in(tab)
    too_wide = list[str]()
    for path in addresses(lived_in, alice, "cursor://anysphere.cursor/callback"):
        tab.open(path)
        if tab.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            too_wide.append(path)
    assert too_wide == []


def test_the_keyboard_is_enough(lived_in: World, browser: Browser) -> None:
    with callback() as redirect_uri:
        tab = Tab.opened(browser, lived_in.url)
        app = Program.registered(lived_in, client_name="Keys only", redirect_uris=[redirect_uri])
        link = app.link(READ)
        tab.open(link.url)
        keys = tab.page.keyboard
        tab.tab_to("#email")
        keys.type("alice@example.com")
        tab.tab_to("#password")
        keys.type(PASSWORD)
        keys.press("Enter")
        tab.page.wait_for_url("**/consent?request=*")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.className") == "skip"
        tab.tab_to("[name=vault]")
        keys.press("Space")
        tab.tab_to("[name=scope][value='memories:write']")
        keys.press("Space")
        tab.tab_to("[value=approve]")
        keys.press("Enter")
        tab.page.wait_for_url(f"{redirect_uri}?*")
        assert redeem(app, link, tab.page.url).scope == f"{READ} {WRITE}"


def test_without_scripts_nothing_is_missing(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path / "data") as world, callback() as redirect_uri:
        tab = Tab.opened(browser, world.url, java_script_enabled=False)
        set_up(tab, world)
        codes = tab.page.locator(".codes code").all_inner_texts()
        assert len(codes) == 10
        assert "passkey" not in tab.text().lower()
        tab.page.get_by_role("link", name="I kept them, go on").click()
        app = Program.registered(world, client_name="Scribe", redirect_uris=[redirect_uri])
        link = app.link(READ)
        tab.open(link.url)
        tab.page.get_by_label("A new vault").check()
        tab.page.get_by_label("Its name").fill("work")
        tab.press("Connect")
        tab.page.wait_for_url(f"{redirect_uri}?*")
        tokens = redeem(app, link, tab.page.url)
        tab.open("/connections")
        tab.page.get_by_role("link", name="Scribe").click()
        tab.press("Allow: Save")
        tab.press("Disconnect Scribe")
        assert not works(world, tokens.access)
        tab.press("Sign out")
        tab.open("/sign-in/recovery")
        tab.page.get_by_label("Email").fill("alice@example.com")
        tab.page.get_by_label("Recovery code").fill(codes[0])
        tab.page.get_by_label("New password").fill("another long password")
        tab.press("Set the password and sign in")
        tab.open("/account")
        assert "9 unused codes left" in tab.text()
        assert "needs JavaScript" in tab.text()


def test_ticks_follow_the_role_in_the_picked_vault(
    lived_in: World, alice: Person, browser: Browser
) -> None:
    dora = Person(lived_in, new_email()).join(alice.invite("reader"))
    dora.new_vault("own")
    tab = Tab.opened(browser, lived_in.url)
    sign_in(tab, dora.email)
    tab.open(Program.registered(lived_in).link(f"{READ} {WRITE}").url)
    save = tab.page.get_by_label("Save")
    assert save.is_checked()
    tab.page.get_by_label("team").check()
    assert not save.is_checked()
    assert save.is_disabled()
    assert "As reader of this vault you cannot allow this." in tab.text()
    tab.page.get_by_label("own").check()
    assert save.is_enabled()
    assert "cannot allow this" not in tab.text()


def test_whoever_wants_no_motion_gets_none(lived_in: World, browser: Browser) -> None:
    tab = Tab.opened(browser, lived_in.url)
    tab.open("/sign-in")
    duration = "getComputedStyle(document.querySelector('button')).transitionDuration"
    assert tab.page.evaluate(duration) == "0s"
    tab.page.emulate_media(reduced_motion="no-preference")
    assert tab.page.evaluate(duration) != "0s"
