"""`/members`: who belongs to the organizations that somebody is in; their owners change it here.

An invitation's link is in one answer and never again: only its hash is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from rememberd.auth import roles
from rememberd.auth.members import Members
from rememberd.console.forms import Form
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit
from rememberd.errors import InvalidInput
from rememberd.model import Account, Project, Role
from rememberd.store.accounts import Invitation, Member, Membership

ROLES: dict[Role, str] = {
    "owner": "Reads, saves and deletes, empties vaults, and manages members.",
    "editor": "Reads, saves, deletes and reflects.",
    "reader": "Reads, and changes nothing.",
}


@dataclass(frozen=True, slots=True)
class Organization:
    """As one member sees it; only owners see `invitations` and `projects`."""

    membership: Membership
    members: list[Member]
    invitations: list[Invitation]
    projects: list[Project]

    @property
    def is_mine(self) -> bool:
        return self.membership.role == "owner"


class MembersPage:
    def __init__(self, pages: Pages, members: Members, public_url: str) -> None:
        self._pages = pages
        self._members = members
        self._public_url = public_url

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        return await self._page(visit, problem)

    async def _page(
        self, visit: Visit, problem: Problem | None = None, link: str | None = None
    ) -> Response:
        account = visit.account
        held = await self._members.organizations(account)
        organizations = [await self._seen_by(account, membership) for membership in held]
        return await self._pages.page(
            visit, "members.html", problem, organizations=organizations, roles=ROLES, link=link
        )

    async def _seen_by(self, account: Account, membership: Membership) -> Organization:
        wanted = membership.organization_id
        people = await self._members.list(account, wanted)
        if membership.role != "owner":
            return Organization(membership, people, [], [])
        return Organization(
            membership,
            people,
            await self._members.invitations(account, wanted),
            await self._members.projects(account, wanted),
        )

    async def submit(self, visit: Visit) -> Response:
        account, form = visit.account, visit.form
        organization, member = form.get("organization"), form.get("member")
        match form.get("action"):
            case "invite":
                return await self._invite(visit, account, organization)
            case "withdraw":
                await self._members.withdraw(account, organization, form.get("invitation"))
            case "role":
                await self._members.set_role(account, organization, member, _role(form))
            case "remove":
                await self._members.remove(account, organization, member)
            case _:
                raise InvalidInput("The form says nothing to do.")
        return see_other("/members")

    async def _invite(self, visit: Visit, owner: Account, organization: str) -> Response:
        email, project = visit.form.get("email") or None, visit.form.get("project") or None
        token = await self._members.invite(owner, organization, _role(visit.form), email, project)
        return await self._page(visit, link=f"{self._public_url}/join?token={token}")


def _role(form: Form) -> Role:
    role = form.get("role")
    if role not in roles.ORDER:
        raise InvalidInput("Pick a role: owner, editor or reader.", field="role")
    return role
