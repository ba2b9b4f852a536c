"""What must hold for every page: headers, nothing inline, cookies, static files, plain refusals."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rememberd.console.cookies import SessionCookie
from rememberd.console.statics import Statics
from rememberd.model import Draft
from tests.console.people import HTML, cookie, get, post, remember, text, vaults_of
from tests.oauth.person import Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World, running

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@pytest.fixture(scope="module")
def pages(world: World, alice: Person) -> dict[str, str]:
    """Every page there is, by path, as HTML; the form pages once more with what was refused."""
    Program.registered(world).connect(alice, [READ])
    memory = remember(world, vaults_of(world, alice)["personal"], Draft(text="A memory."))
    consent = alice.ask_consent(Program.registered(world).link(READ).url).url
    paths = [
        *("/connections", "/vaults", "/members", "/account", "/sign-out"),
        f"/connections/{alice.connections()[0]}",
        f"/memories/{memory.id}",
        *("/memories/mem_nothing", "/consent?request=arq_nothing"),
        consent.removeprefix(world.url),
    ]
    seen = {path: get(world, alice, path) for path in paths}
    invitation = alice.invite("reader").removeprefix(world.url)
    for path in ("/", "/sign-in", "/sign-in/recovery", invitation, "/setup?token=x"):
        seen[path] = get(world, None, path)
    seen["POST /account"] = post(world, alice, "/account", {"action": "codes"})
    for reply in seen.values():
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
    return {path: text(reply) for path, reply in seen.items()}


@pytest.mark.threat(number=6)
@pytest.mark.threat(number=18)
def test_pages_are_guarded_by_their_headers(world: World, alice: Person) -> None:
    for person, path in ((alice, "/account"), (None, "/sign-in"), (alice, "/memories/mem_x")):
        headers = get(world, person, path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.threat(number=17)
def test_nothing_is_inline(pages: dict[str, str]) -> None:
    for path, html in pages.items():
        assert not re.search(r"\sstyle=|\son\w+=|<style|javascript:", html), path
        for script in re.findall(r"<script\b[^>]*>(.*?)</script>", html, re.DOTALL):
            assert script == "", path


def test_pages_ask_no_other_host_for_anything(pages: dict[str, str], world: World) -> None:
    for path, html in pages.items():
        for target in re.findall(r'(?:src|href|action)="([^"]*)"', html):
            is_ours = target.startswith(("/", "#", "data:text/plain")) or target == ""
            assert is_ours, (path, target)
            assert not target.startswith("//"), (path, target)


def test_pages_are_whole(pages: dict[str, str]) -> None:
    for path, html in pages.items():
        assert html.startswith("<!doctype html>"), path
        assert html.count("<h1") == 1, path
        assert re.search(r"<title>[^<]+ · rememberd</title>", html), path
        levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
        jumps = [(a, b) for a, b in itertools.pairwise(levels) if b > a + 1]
        assert jumps == [], path
        ids = re.findall(r'\sid="([^"]*)"', html)
        assert sorted(ids) == sorted(set(ids)), path


def test_every_field_has_a_label(pages: dict[str, str]) -> None:
    for path, html in pages.items():
        labelled = set(re.findall(r'<label[^>]*\sfor="([^"]*)"', html))
        for tag in re.findall(r"<(?:input|select)\b[^>]*>", html):
            if 'type="hidden"' in tag or "aria-label=" in tag:
                continue
            named = re.search(r'\sid="([^"]*)"', tag)
            inside = re.search(r"<label class=\"choice\">\s*" + re.escape(tag), html)
            assert inside or (named and named[1] in labelled), (path, tag)


@pytest.mark.threat(number=7)
def test_every_form_is_posted_with_its_token(pages: dict[str, str]) -> None:
    for path, html in pages.items():
        for form in re.findall(r"<form\b.*?</form>", html, re.DOTALL):
            assert 'method="post"' in form, path
            assert 'name="form_token" value="' in form, path
            assert 'name="form_token" value=""' not in form, path


# --- the cookie ----------------------------------------------------------------------------------


@pytest.fixture
def public(tmp_path: Path) -> Iterator[World]:
    """Behind a proxy that ends TLS."""
    with running(tmp_path / "data", public_url="https://memory.example.com") as world:
        yield world


@pytest.mark.threat(number=7)
def test_over_https_the_cookie_belongs_to_this_host_alone(public: World) -> None:
    said = get(public, None, "/sign-in").headers["set-cookie"].split("; ")
    assert said[0].startswith("__Host-rememberd=mss_")
    assert set(said[1:]) == {"HttpOnly", "Path=/", "SameSite=lax", "Secure"}
    alice = Person(public, "alice@example.com").set_up()
    assert get(public, alice, "/account").status == 200


def test_on_this_machine_the_cookie_belongs_to_this_port(world: World, alice: Person) -> None:
    said = get(world, None, "/sign-in").headers["set-cookie"].split("; ")
    assert said[0].startswith(f"rememberd-{world.port}=mss_")
    assert set(said[1:]) == {"HttpOnly", "Path=/", "SameSite=lax"}


def test_over_plain_http_nobody_can_sign_in(tmp_path: Path) -> None:
    with running(tmp_path / "data", public_url="http://memory.example.com") as exposed:
        for path in ("/sign-in", "/setup?token=x", "/account"):
            reply = get(exposed, None, path)
            assert reply.status == 403
            assert "Signing in needs HTTPS" in text(reply)
            assert "set-cookie" not in reply.headers
        assert post(exposed, None, "/sign-in", {"email": "a", "password": "b"}).status == 403
        assert post(exposed, None, "/sign-in/passkey-options", {}).status == 403


@pytest.mark.parametrize(
    ("url", "name", "is_secure", "is_safe"),
    [
        ("https://m.example", "__Host-rememberd", True, True),
        ("http://localhost:8420", "rememberd-8420", False, True),
        ("http://127.0.0.1", "rememberd-80", False, True),
        ("http://[::1]:8420", "rememberd-8420", False, True),
        ("http://localhost.evil.example", "rememberd-80", False, False),
        ("http://192.168.1.2:8420", "rememberd-8420", False, False),
    ],
)
def test_a_cookie_goes_in_clear_on_loopback_alone(
    url: str, name: str, is_secure: bool, is_safe: bool
) -> None:
    assert SessionCookie.of(url) == SessionCookie(name, is_secure, is_safe)


@pytest.mark.threat(number=12)
def test_a_session_is_worth_nothing_to_apps(world: World, alice: Person) -> None:
    assert world.send("POST", "/mcp", b"{}", cookie(alice)).status == 401


# --- what pages are made of ----------------------------------------------------------------------


def test_static_files_are_named_after_their_bytes_and_kept_for_good(
    world: World, pages: dict[str, str]
) -> None:
    named = set(re.findall(r'"(/static/[^"]+)"', "".join(pages.values())))
    assert len(named) == 3
    for path in named:
        reply = world.get(path)
        assert reply.status == 200
        assert "immutable" in reply.headers["cache-control"]
        assert "set-cookie" not in reply.headers
        assert re.search(r"\.[0-9a-f]{12}\.(css|js|svg)$", path)


@pytest.mark.parametrize(
    "name", ["console.css", "console.000000000000.css", "..%2Frender.py", "%00", "templates"]
)
def test_nothing_else_is_served(world: World, name: str) -> None:
    assert world.get(f"/static/{name}").status == 404


def test_the_style_sheet_is_small() -> None:
    statics = Statics()
    folder = Path(__file__).parents[2] / "src" / "rememberd" / "console" / "static"
    assert (folder / "console.css").stat().st_size < 10_000
    assert statics.url("console.css") != statics.url("console.js")


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/nowhere", 404, "Nothing is here"),
        ("DELETE", "/account", 405, "That cannot be done here"),
        ("GET", "/static/nothing", 404, "Nothing is here"),
    ],
)
def test_people_get_a_page_where_programs_get_json(
    world: World, method: str, path: str, status: int, said: str
) -> None:
    for_people = world.send(method, path, None, [HTML])
    for_programs = world.send(method, path, None, [("Accept", "application/json, */*")])
    assert for_people.status == for_programs.status == status
    assert said in text(for_people)
    assert for_people.headers["content-security-policy"] == POLICY
    assert for_programs.json["error"]
    assert for_people.headers.get("www-authenticate") == for_programs.headers.get(
        "www-authenticate"
    )


JAVA = ("Accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/token"),
        ("POST", "/register"),
        ("POST", "/revoke"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("GET", "/.well-known/nothing"),
    ],
)
def test_a_program_gets_json_whatever_its_library_accepts_first(
    world: World, method: str, path: str
) -> None:
    reply = world.send(method, path, b"" if method == "POST" else None, [JAVA])
    assert reply.status >= 400
    assert reply.json["error"]


def test_a_person_who_opens_an_address_for_apps_gets_a_page(world: World) -> None:
    reply = world.send("GET", "/mcp", None, [HTML, ("Sec-Fetch-Mode", "navigate")])
    assert reply.status == 401
    assert "This address is for apps" in text(reply)
    assert "www-authenticate" in reply.headers


def test_another_host_name_is_refused_with_a_page(world: World) -> None:
    reply = world.send("GET", "/sign-in", None, [HTML, ("Host", "evil.example")])
    assert reply.status == 421
    assert "This host name is not served here" in text(reply)


def test_a_form_that_cannot_be_read_is_refused(world: World, alice: Person) -> None:
    headers = [*cookie(alice), ("Content-Type", "application/x-www-form-urlencoded")]
    for body in (b"\xff\xfe", b"&".join(b"a=1" for _ in range(200)), b"a=%ED%A0%80"):
        reply = world.send("POST", "/account", body, headers)
        assert reply.status in (400, 403)
        assert "html" in reply.headers["content-type"]


@pytest.mark.parametrize("origin", ["null", "https://memory.example.com", None])
def test_browsers_without_fetch_metadata_send_forms_too(public: World, origin: str | None) -> None:
    alice = Person(public, "alice@example.com").set_up()
    token = alice.open("/vaults").form(having="name").pairs()[0]
    headers = [*cookie(alice), *([("Origin", origin)] if origin else [])]
    reply = public.form("/vaults", [token, ("name", "made")], *headers)
    assert reply.status == 303


@pytest.mark.threat(number=27)
def test_what_a_form_says_twice_counts_once(world: World, alice: Person) -> None:
    """The first token is looked at, so adding the right one behind it does not help."""
    page = alice.open("/sign-out")
    right = page.forms[0].pairs()[0]
    fields = [("form_token", "wrong"), right]
    reply = world.form("/sign-out", fields, *cookie(alice))
    assert reply.status == 403
