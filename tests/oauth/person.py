"""A person with a browser and no screen: reads pages, fills in their forms, sends what is ticked.

Cookies, hidden fields and ticks come from the pages alone, so what a page forgets is missing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

from tests.http.serving import Reply
from tests.oauth.world import FORM, World

PASSWORD = "copper lantern over the fjord"


@dataclass
class Field:
    name: str
    value: str
    kind: str = "hidden"
    is_sent: bool = True  #: ticked, picked, or plain text
    is_disabled: bool = False


@dataclass
class Form:
    action: str
    fields: list[Field] = field(default_factory=list[Field])

    def pairs(self) -> list[tuple[str, str]]:
        """What a browser would send, without any button."""
        return [
            (one.name, one.value)
            for one in self.fields
            if one.is_sent and not one.is_disabled and one.kind != "button"
        ]

    def named(self, name: str) -> list[Field]:
        return [one for one in self.fields if one.name == name]

    def ticked(self, name: str) -> set[str]:
        return {one.value for one in self.named(name) if one.is_sent and not one.is_disabled}


class _Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self._is_in_form = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag == "form":
            self.forms.append(Form(said.get("action") or ""))
            self._is_in_form = True
        elif tag == "a" and said.get("href"):
            self.links.append(said["href"] or "")
        elif self._is_in_form and tag in ("input", "button") and said.get("name"):
            self.forms[-1].fields.append(_field(tag, said))

    def handle_endtag(self, tag: str) -> None:
        self._is_in_form = self._is_in_form and tag != "form"

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _field(tag: str, said: dict[str, str | None]) -> Field:
    kind = "button" if tag == "button" else said.get("type") or "text"
    ticks = kind in ("checkbox", "radio")
    value = said.get("value") or ("on" if ticks else "")
    return Field(
        said["name"] or "", value, kind, not ticks or "checked" in said, "disabled" in said
    )


@dataclass(frozen=True)
class Page:
    """An answer, where it came from, and what can be read and filled in there."""

    url: str
    reply: Reply
    forms: list[Form]
    text: str
    links: list[str]

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def location(self) -> str | None:
        return self.reply.headers.get("location")

    def form(self, *, having: str) -> Form:
        """The form that has a field or button of this name."""
        for form in self.forms:
            if form.named(having):
                return form
        raise AssertionError(f"no form with {having} at {self.url} ({self.status}): {self.text}")


@dataclass
class Person:
    """`browser` holds the cookies. Two people never share one."""

    world: World
    email: str
    password: str = PASSWORD
    cookies: dict[str, str] = field(default_factory=dict[str, str])
    recovery_codes: list[str] = field(default_factory=list[str])
    address: str | None = None  #: where a proxy says that the person is

    # -- the browser -------------------------------------------------------------------------------

    def open(self, address: str) -> Page:
        """GET an address of this server; redirects to pages of this server are followed."""
        page = self._ask("GET", address)
        while page.status == 303 and page.location and self._is_here(page.location):
            page = self._ask("GET", urljoin(page.url, page.location))
        return page

    def submit(self, page: Page, form: Form, *more: tuple[str, str], follow: bool = True) -> Page:
        """Send a form as it stands, with `more` added (a button, or what was typed)."""
        typed = {name for name, _ in more}
        pairs = [pair for pair in form.pairs() if pair[0] not in typed]
        body = urlencode([*pairs, *more]).encode()
        sent = self._ask("POST", urljoin(page.url, form.action), body)
        if follow and sent.status == 303 and sent.location and self._is_here(sent.location):
            return self.open(urljoin(sent.url, sent.location))
        return sent

    def _is_here(self, location: str) -> bool:
        return location.startswith("/") or location.startswith(f"{self.world.url}/")

    def _ask(self, method: str, address: str, body: bytes | None = None) -> Page:
        url = urljoin(f"{self.world.url}/", address)
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        headers = [("Sec-Fetch-Site", "same-origin" if body is not None else "none")]
        if self.cookies:
            jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            headers.append(("Cookie", jar))
        if self.address:
            headers.append(("X-Forwarded-For", self.address))
        if body is not None:
            headers.append(FORM)
        reply = self.world.send(method, path, body, headers)
        for name, morsel in SimpleCookie(reply.headers.get("set-cookie", "")).items():
            self.cookies[name] = morsel.value
        html = reply.body.decode() if "html" in reply.headers.get("content-type", "") else ""
        read = _Reader(html)
        return Page(url, reply, read.forms, " ".join(" ".join(read.text).split()), read.links)

    # -- coming in ---------------------------------------------------------------------------------

    def set_up(self) -> Person:
        """Take the first link, as printed at the server's start."""
        token = self.world.do(self.world.app.auth.accounts.setup_link())
        assert token, "this server is set up already"
        return self._make_account(f"/setup?token={token}")

    def join(self, link: str) -> Person:
        return self._make_account(link)

    def _make_account(self, address: str) -> Person:
        page = self.open(address)
        form = page.form(having="password")
        page = self.submit(page, form, ("email", self.email), ("password", self.password))
        assert page.status == 200, page.text
        codes = [text for text in page.text.split() if text.count("-") == 3 and len(text) == 19]
        self.recovery_codes = codes
        return self

    def sign_in(self) -> Page:
        return self.sign_in_at(self.open("/sign-in"))

    def sign_in_at(self, page: Page, follow: bool = True) -> Page:
        """Fill in the sign-in page that one was sent to."""
        form = page.form(having="password")
        typed = (("email", self.email), ("password", self.password))
        return self.submit(page, form, *typed, follow=follow)

    def sign_out(self) -> None:
        page = self.open("/sign-out")
        self.submit(page, page.forms[0])

    # -- letting apps in ---------------------------------------------------------------------------

    def ask_consent(self, authorize_url: str) -> Page:
        """Follow an app's link up to the consent page, signing in on the way if need be."""
        page = self.open(authorize_url)
        if page.url.startswith(f"{self.world.url}/sign-in"):
            page = self.sign_in_at(page)
        return page

    def decide(
        self,
        page: Page,
        *,
        scopes: Iterable[str] | None = None,
        vault: str | None = None,
        new_vault: str | None = None,
        decision: str = "approve",
    ) -> Page:
        """Answer the consent page. `scopes` None leaves the ticks as they are, `vault` None the
        pick. Nothing is followed: where the answer goes is in `location`.
        """
        form = page.form(having="decision")
        for tick in form.named("scope"):
            tick.is_sent = tick.is_sent if scopes is None else tick.value in set(scopes)
        picked = "new" if new_vault else vault
        offered = form.named("vault")
        if picked is None and not any(one.is_sent for one in offered):
            picked = offered[0].value
        more = [("decision", decision)]
        more += [("vault", picked)] if picked else []
        more += [("new_vault", new_vault)] if new_vault else []
        return self.submit(page, form, *more, follow=False)

    def consent(
        self,
        authorize_url: str,
        *,
        scopes: Iterable[str] | None = None,
        vault: str | None = None,
        new_vault: str | None = None,
        decision: str = "approve",
    ) -> str:
        """From an app's link to where the answer sends the browser."""
        page = self.decide(
            self.ask_consent(authorize_url),
            scopes=scopes,
            vault=vault,
            new_vault=new_vault,
            decision=decision,
        )
        assert page.location, page.text
        return page.location

    # -- connections -------------------------------------------------------------------------------

    def connections(self) -> list[str]:
        """The ids of the grants that the page lists, live ones first, newest first."""
        links = self.open("/connections").links
        found = [link.rpartition("/")[2] for link in links if link.startswith("/connections/")]
        return list(dict.fromkeys(found))

    def change(self, grant: str, action: str) -> Page:
        """`allow SCOPE`, `stop SCOPE` or `revoke`: press the button that says so."""
        page = self.open(f"/connections/{grant}")
        form = next(
            form for form in page.forms if action in {one.value for one in form.named("action")}
        )
        return self.submit(page, form, ("action", action))

    # -- vaults and members ------------------------------------------------------------------------

    def new_vault(self, name: str, share: str | None = None) -> None:
        page = self.open("/vaults")
        more = [("name", name), *([("share", share)] if share else [])]
        assert self.submit(page, page.form(having="name"), *more).status == 200

    def invite(self, role: str, project: str = "") -> str:
        """The link for a new member of the organization that one owns, or of its project."""
        page = self.open("/members")
        form = next(
            form for form in page.forms if "invite" in {one.value for one in form.named("action")}
        )
        typed = [("role", role), *([("project", project)] if project else [])]
        page = self.submit(page, form, *typed, ("action", "invite"))
        return next(word for word in page.text.split() if "/join?token=" in word)
