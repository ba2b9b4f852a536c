"""`/setup` and `/join`: an account for whoever holds a one-time link.

The link is used up only when the account exists, and recovery codes are shown this once.
"""

from __future__ import annotations

from starlette.responses import Response

from rememberd.auth.accounts import Accounts
from rememberd.auth.members import Members
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit
from rememberd.console.words import plain_name
from rememberd.errors import InvalidInput, NotFound
from rememberd.store.accounts import Invitation


class SetUp:
    """The first account, which owns the vaults that are there already."""

    def __init__(self, pages: Pages, accounts: Accounts, keys_export: str) -> None:
        self._pages = pages
        self._accounts = accounts
        self._keys_export = keys_export  #: the command that keeps the vaults' keys safe

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        await self._invitation(visit)
        return await self._pages.page(visit, "setup.html", problem)

    async def submit(self, visit: Visit) -> Response:
        await self._invitation(visit)
        return await _welcome(visit, self._pages, self._accounts, self._keys_export)

    async def _invitation(self, visit: Visit) -> None:
        found = await self._accounts.invitation(visit.query("token"))
        if found.kind != "setup":
            raise NotFound("This link is an invitation, not for setting up.")


class Join:
    """Somebody who was invited, with a new account or the one they have."""

    def __init__(self, pages: Pages, accounts: Accounts, members: Members) -> None:
        self._pages = pages
        self._accounts = accounts
        self._members = members

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        found = await self._invitation(visit)
        account, members = visit.account_if_any, self._members
        return await self._pages.page(
            visit,
            "join.html",
            problem,
            invitation=found,
            organization=await members.organization_name(found.organization_id),
            project=await members.project_name(found.project_id) if found.project_id else None,
            already=await self._accounts.role_already(found, account) if account else None,
            sign_in=see_other("/sign-in", next=visit.here).headers["location"],
        )

    async def submit(self, visit: Visit) -> Response:
        found = await self._invitation(visit)
        if visit.form.get("action") == "join":
            await self._accounts.accept_signed_in(visit.query("token"), visit.account)
            return see_other("/vaults" if found.project_id else "/members")
        return await _welcome(visit, self._pages, self._accounts)

    async def _invitation(self, visit: Visit) -> Invitation:
        found = await self._accounts.invitation(visit.query("token"))
        if found.kind != "invite":
            raise NotFound("This link is for setting up, not an invitation.")
        return found


async def _welcome(
    visit: Visit, pages: Pages, accounts: Accounts, keys_export: str | None = None
) -> Response:
    password = visit.form.secret("password")
    if not password and visit.form.get("action") != "passkey":
        raise InvalidInput("Choose a password.", field="password")
    made = await accounts.accept(
        visit.query("token"),
        visit.form.get("email"),
        plain_name(visit.form.get("name")),
        password or None,
    )
    await visit.begin(made.account)
    return await pages.page(
        visit, "welcome.html", codes=made.recovery_codes, keys_export=keys_export
    )
