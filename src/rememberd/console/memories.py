"""`/memories/{id}`: one memory, who vouches for it, what it came from and what came of it.

This is where the links in search results lead. Somebody who cannot open its vault finds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from rememberd.auth import roles
from rememberd.auth.consents import Choice, Consents
from rememberd.console.problems import Problem
from rememberd.console.render import Pages
from rememberd.console.vaults import OpenVault
from rememberd.console.visits import Visit
from rememberd.engine.engine import Engine
from rememberd.engine.forget import delete_memories
from rememberd.engine.lineage import Lineage, inspect
from rememberd.errors import Denied, InvalidInput, NotFound, VaultUnavailable
from rememberd.model import DELETE, Account, Principal


@dataclass(frozen=True, slots=True)
class Found:
    vault: OpenVault
    lineage: Lineage
    principal: Principal


class MemoryPage:
    def __init__(self, pages: Pages, engine: Engine, consents: Consents) -> None:
        self._pages = pages
        self._engine = engine
        self._consents = consents

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        found = await self._find(visit.account, visit.path("id"))
        return await self._pages.page(
            visit,
            "memory.html",
            problem,
            vault=found.vault,
            lineage=found.lineage,
            memory=found.lineage.memory,
            may_delete=DELETE in found.principal.scopes,
        )

    async def submit(self, visit: Visit) -> Response:
        found = await self._find(visit.account, visit.path("id"))
        if visit.form.get("action") != "delete":
            raise InvalidInput("The form says nothing to do.")
        if DELETE not in found.principal.scopes:
            raise Denied(f"As {found.vault.role} of this vault you cannot delete.")
        memory = found.lineage.memory
        deletion = await delete_memories(self._engine, found.principal, [memory.id])
        survivors = [
            (await inspect(self._engine, found.principal, survivor)).memory
            for survivor in deletion.surviving_reflections
        ]
        return await self._pages.page(
            visit, "memory_deleted.html", vault=found.vault, survivors=survivors
        )

    async def _find(self, account: Account, memory_id: str) -> Found:
        """Ids do not say which vault: it is looked for in all that the account can open."""
        for choice in await self._consents.choices(account):
            principal = _principal(account, choice)
            try:
                lineage = await inspect(self._engine, principal, memory_id)
            except (NotFound, VaultUnavailable):
                continue
            return Found(OpenVault.of(choice), lineage, principal)
        raise NotFound("There is no such memory. It may have been deleted.")


def _principal(account: Account, choice: Choice) -> Principal:
    return Principal(
        vault_id=choice.vault.id,
        scopes=roles.scopes_of(choice.role),
        client=account.id,
        account_id=account.id,
        client_name="console",
        role=choice.role,
    )
