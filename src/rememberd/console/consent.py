"""`/consent`: an app asks, a person picks one vault and says what may be done there.

The page is always shown and never answers by itself. What an app says about itself is shown as
unverified; where its answer goes is not (CIMD §6.3, OAuth 2.1 §7.12.2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from rememberd.auth import roles
from rememberd.auth.consents import Consents, Pending
from rememberd.auth.scopes import ordered
from rememberd.console import words
from rememberd.console.forms import Form
from rememberd.console.problems import Problem
from rememberd.console.redirects import go_to, see_other
from rememberd.console.render import Pages
from rememberd.console.vaults import OpenVault
from rememberd.console.visits import Visit
from rememberd.engine import vaults
from rememberd.engine.engine import Engine
from rememberd.errors import InvalidInput
from rememberd.model import READ, SCOPES, WRITE, Account, Role

NEW = "new"
FIRST_NAME = "personal"
# The rest is ticked by hand alone, whatever an app asks for.
_TICKED_WHEN_ASKED = frozenset({READ, WRITE})


@dataclass(frozen=True, slots=True)
class Tick:
    """One scope on the page; `reason` says why it cannot be ticked."""

    scope: str
    is_asked: bool
    is_ticked: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Asker:
    """What is known of the app, and where the answer goes."""

    name: str
    host: str | None  #: of a client that is identified by a URL
    destination: str
    is_on_computer: bool
    first_seen: datetime

    @classmethod
    def of(cls, pending: Pending) -> Asker:
        redirect_uri = pending.request.redirect_uri
        return cls(
            words.app_name(pending.client.name),
            words.host_of(pending.client.id),
            words.destination(redirect_uri),
            words.stays_on_computer(redirect_uri),
            pending.client.created_at,
        )


class ConsentPage:
    def __init__(self, pages: Pages, engine: Engine, consents: Consents) -> None:
        self._pages = pages
        self._engine = engine
        self._consents = consents
        self._making = asyncio.Lock()

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        account = visit.account
        pending = await self._consents.pending(await visit.known(), visit.query("request"))
        if pending.answer is not None:
            return await self._pages.page(visit, "consent_answered.html", asker=Asker.of(pending))
        offered = [OpenVault.of(choice) for choice in await self._consents.choices(account)]
        picked = visit.form.get("vault") or _only(offered)
        return await self._pages.page(
            visit,
            "consent.html",
            problem,
            asker=Asker.of(pending),
            vaults=offered,
            picked=picked,
            new=NEW,
            new_name=visit.form.get("new_vault") or ("" if offered else FIRST_NAME),
            ticks=_ticks(pending, visit.form, _role_in(offered, picked)),
            allowed={role: " ".join(ordered(roles.scopes_of(role))) for role in roles.ORDER},
            other=see_other("/sign-out", next=visit.here).headers["location"],
        )

    async def submit(self, visit: Visit) -> Response:
        """Of two clicks the second gets the first one's answer, also while that is under way."""
        account = visit.account
        if visit.form.get("decision") == "deny":
            browser = await visit.known()
            return go_to(await self._consents.deny(browser, visit.query("request")))
        if visit.form.get("vault") != NEW:
            return go_to(await self._approve(visit, account))
        async with self._making:  # each of two clicks would make a vault
            return go_to(await self._approve(visit, account))

    async def _approve(self, visit: Visit, account: Account) -> str:
        browser, request_id = await visit.known(), visit.query("request")
        pending = await self._consents.pending(browser, request_id)
        if pending.answer is not None:
            return pending.answer
        if visit.form.get("decision") != "approve":
            raise InvalidInput("Say whether the app is to be connected.")
        scopes = visit.form.all("scope") & frozenset(SCOPES)
        if not scopes:
            raise InvalidInput("Tick at least one thing that the app may do.", field="scope")
        vault_id = await self._vault(visit, account)
        return await self._consents.approve(browser, account, request_id, vault_id, scopes)

    async def _vault(self, visit: Visit, account: Account) -> str:
        """The picked one, or a new one made for this. Raises InvalidInput, Conflict."""
        picked = visit.form.get("vault")
        if not picked:
            raise InvalidInput("Pick the vault that the app may use.", field="vault")
        if picked != NEW:
            return picked
        return (await vaults.create_own(self._engine, account, visit.form.get("new_vault"))).id


def _only(offered: Sequence[OpenVault]) -> str:
    """What is picked beforehand: something only where there is nothing to choose."""
    if not offered:
        return NEW
    return offered[0].vault.id if len(offered) == 1 else ""


def _role_in(offered: Sequence[OpenVault], picked: str) -> Role | None:
    return next((one.role for one in offered if one.vault.id == picked), None)


def _ticks(pending: Pending, form: Form, role: Role | None) -> list[Tick]:
    asked = pending.request.scopes
    ticked = form.all("scope") if form.pairs else asked & _TICKED_WHEN_ASKED
    allowed = roles.scopes_of(role) if role else frozenset(SCOPES)
    return [
        Tick(
            scope,
            scope in asked,
            scope in ticked & allowed,
            None if scope in allowed else f"As {role} of this vault you cannot allow this.",
        )
        for scope in SCOPES
    ]
