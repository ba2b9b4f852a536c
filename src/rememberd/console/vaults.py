"""`/vaults`: the vaults that somebody can open, how they are told apart, and a new one."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from rememberd.auth.consents import Choice, Consents
from rememberd.auth.members import Members
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit
from rememberd.engine import vaults
from rememberd.engine.engine import Engine
from rememberd.engine.status import vault_ref
from rememberd.errors import Denied
from rememberd.model import Account, Role, Vault, VaultKind

MINE = "mine"


@dataclass(frozen=True, slots=True)
class OpenVault:
    """A vault as one person sees it. `ref` is what memory_status tells an app."""

    vault: Vault
    ref: str
    who: str
    role: Role

    @classmethod
    def of(cls, choice: Choice) -> OpenVault:
        return cls(choice.vault, vault_ref(choice.vault.id), _who(choice), choice.role)


def _who(choice: Choice) -> str:
    match choice.vault.kind:
        case VaultKind.PERSONAL:
            return "Only you"
        case VaultKind.PROJECT:
            return f"Members of the project {choice.project}"
        case _:
            return f"Everyone in {choice.organization}"


class VaultsPage:
    def __init__(self, pages: Pages, engine: Engine, consents: Consents, members: Members) -> None:
        self._pages = pages
        self._engine = engine
        self._consents = consents
        self._members = members

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        account = visit.account
        choices = await self._consents.choices(account)
        held = await self._members.organizations(account)
        return await self._pages.page(
            visit,
            "vaults.html",
            problem,
            vaults=[OpenVault.of(choice) for choice in choices],
            owned=[membership for membership in held if membership.role == "owner"],
            mine=MINE,
        )

    async def submit(self, visit: Visit) -> Response:
        name, share = visit.form.get("name"), visit.form.get("share") or MINE
        if share == MINE:
            await vaults.create_own(self._engine, visit.account, name)
        else:
            await self._check_owns(visit.account, share)
            await vaults.create_shared(self._engine, share, name)
        return see_other("/vaults")

    async def _check_owns(self, account: Account, organization_id: str) -> None:
        held = await self._members.organizations(account)
        if not any(m.organization_id == organization_id and m.role == "owner" for m in held):
            raise Denied("Only owners of an organization make vaults for all of it.")
