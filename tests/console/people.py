"""What every page is asked: by whom, with whose form, in which way; and who is behind a browser."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from urllib.parse import urlencode

from rememberd.console.forms import FORM_TOKEN
from rememberd.model import Account, Draft, Memory, Vault
from rememberd.store import accounts, memories
from tests.http.serving import Reply
from tests.oauth.person import Page, Person
from tests.oauth.world import World

HERE = ("Sec-Fetch-Site", "same-origin")
HTML = ("Accept", "text/html")
_NUMBERS = itertools.count(1)


def cookie(person: Person | None) -> list[tuple[str, str]]:
    if person is None or not person.cookies:
        return []
    return [("Cookie", "; ".join(f"{name}={value}" for name, value in person.cookies.items()))]


def get(world: World, person: Person | None, path: str, *headers: tuple[str, str]) -> Reply:
    """One request; nothing is followed."""
    return world.get(path, *cookie(person), *headers)


def post(
    world: World,
    person: Person | None,
    path: str,
    fields: Mapping[str, str],
    *headers: tuple[str, str],
) -> Reply:
    return world.form(path, fields, *cookie(person), *(headers or (HERE,)))


def form_token(page: Page) -> str:
    return next(
        field.value for form in page.forms for field in form.fields if field.name == FORM_TOKEN
    )


def text(reply: Reply) -> str:
    return reply.body.decode()


def new_email() -> str:
    return f"person{next(_NUMBERS)}@example.com"


# --- the questions -------------------------------------------------------------------------------


def leads_to_sign_in(world: World, path: str) -> bool:
    """A stranger is sent to sign in, and told where to come back to."""
    reply = get(world, None, path)
    return (reply.status, reply.headers.get("location")) == (
        303,
        f"/sign-in?{urlencode({'next': path})}",
    )


def refusals_of_forms_not_its_own(
    world: World, person: Person, other: Person, path: str, fields: Mapping[str, str]
) -> dict[str, int]:
    """What a page answers to a form without a token, with another browser's, from another site."""
    own, foreign = (form_token(one.open("/sign-out")) for one in (person, other))
    own_form, foreign_form = {**fields, FORM_TOKEN: own}, {**fields, FORM_TOKEN: foreign}
    return {
        "without": post(world, person, path, fields).status,
        "foreign": post(world, person, path, foreign_form).status,
        "cross-site": post(world, person, path, own_form, ("Sec-Fetch-Site", "cross-site")).status,
        "same-site": post(world, person, path, own_form, ("Sec-Fetch-Site", "same-site")).status,
        "origin": post(world, person, path, own_form, ("Origin", "https://evil.example")).status,
    }


REFUSED = dict.fromkeys(("without", "foreign", "cross-site", "same-site", "origin"), 403)


def methods_not_allowed(world: World, person: Person, path: str, *methods: str) -> bool:
    answers = {world.send(method, path, None, cookie(person)).status for method in methods}
    return answers == {405}


# --- behind the pages ----------------------------------------------------------------------------


def account_of(world: World, person: Person) -> Account:
    def look() -> Account:
        found = world.app.engine.store.control.read_here(
            lambda tx: accounts.by_email(tx, person.email)
        )
        assert found is not None, person.email
        return found.account

    return look()


def home(world: World, person: Person) -> str:
    """The id of the organization that they belong to."""
    held = world.do(world.app.auth.members.organizations(account_of(world, person)))
    return held[0].organization_id


def vaults_of(world: World, person: Person) -> dict[str, Vault]:
    found = world.do(world.app.auth.consents.choices(account_of(world, person)))
    return {choice.vault.name: choice.vault for choice in found}


def remember(world: World, vault: Vault, draft: Draft, *sources: Memory) -> Memory:
    """Store a memory, or a reflection made from `sources`, past every tool."""
    engine = world.app.engine

    async def store() -> Memory:
        async with engine.store.vault(vault.id, "rw") as handle:

            def enter(tx: memories.Transaction) -> Memory:
                memory = memories.insert(tx, draft, engine.clock)
                memories.link(tx, memory, [source.seq for source in sources])
                return memory

            return await handle.write(enter)

    return world.do(store())
