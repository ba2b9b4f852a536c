"""`/connections`: what may reach somebody's vaults, apps and keys, and how far; ended in one click.

Every change holds from the next call on: scopes are looked up, never carried in a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from rememberd.auth import roles
from rememberd.auth.consents import Consents
from rememberd.auth.grants import Grants
from rememberd.auth.principals import Keys
from rememberd.auth.scopes import ordered
from rememberd.clock import Clock
from rememberd.console import words
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.vaults import OpenVault
from rememberd.console.visits import Visit
from rememberd.errors import Conflict, InvalidInput, NotFound
from rememberd.model import SCOPES, Account, Grant
from rememberd.store.control import ListedKey

_ENDED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Connection:
    """One grant as its owner sees it; `vault` is None once they cannot open it any more.

    `ended_at`: when it was revoked or ran out; None while it lives.
    """

    grant: Grant
    vault: OpenVault | None
    ended_at: datetime | None

    @property
    def why(self) -> str | None:
        """What the owner should know of its end."""
        return words.WHY_ENDED.get(self.grant.revoked_why or ("ran out" if self.ended_at else ""))

    @property
    def name(self) -> str:
        return words.app_name(self.grant.client_name)

    @property
    def host(self) -> str | None:
        return words.host_of(self.grant.client_id)

    @property
    def may(self) -> list[str]:
        """What it can do today, in words: what it was given, as far as the role goes."""
        return [words.SCOPES[scope] for scope in ordered(self.grant.scopes & self.limit)]

    @property
    def limit(self) -> frozenset[str]:
        return roles.scopes_of(self.vault.role if self.vault else None)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key to a vault that one owns."""

    listed: ListedKey
    vault: OpenVault

    @property
    def may(self) -> list[str]:
        return [words.SCOPES[scope] for scope in ordered(self.listed.key.scopes)]


class ConnectionsPage:
    def __init__(
        self, pages: Pages, consents: Consents, grants: Grants, keys: Keys, clock: Clock
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._consents = consents
        self._grants = grants
        self._keys = keys

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        account = visit.account
        vaults = await self._vaults(account)
        held = [self._as_seen(grant, vaults) for grant in await self._grants.of_account(account.id)]
        return await self._pages.page(
            visit,
            "connections.html",
            problem,
            connections=[one for one in held if one.ended_at is None],
            ended=[one for one in held if one.ended_at is not None][:_ENDED_SHOWN],
            keys=await self._own_keys(vaults),
        )

    async def submit(self, visit: Visit) -> Response:
        """Ends a key. Raises NotFound, also for one of somebody else's vault."""
        key_id = visit.form.get("key")
        keys = await self._own_keys(await self._vaults(visit.account))
        if not any(row.listed.key.id == key_id for row in keys):
            raise NotFound("There is no such key.")
        await self._keys.revoke(key_id, visit.account.id)
        return see_other("/connections")

    # -- one connection ----------------------------------------------------------------------------

    async def show_one(self, visit: Visit, problem: Problem | None = None) -> Response:
        connection = await self._connection(visit)
        return await self._pages.page(
            visit, "connection.html", problem, connection=connection, scopes=SCOPES
        )

    async def submit_one(self, visit: Visit) -> Response:
        connection = await self._connection(visit)
        grant, (action, _, scope) = connection.grant, visit.form.get("action").partition(" ")
        if action == "revoke":
            await self._grants.revoke(grant.account_id, grant.id)
            return see_other("/connections")
        if connection.ended_at is not None:
            raise Conflict("This connection has ended. Connect the app again to use it.")
        if scope not in SCOPES or action not in ("allow", "stop"):
            raise InvalidInput("The form says nothing to do.")
        if action == "allow":
            await self._grants.allow(grant.account_id, grant.id, scope)
        else:
            await self._grants.stop(grant.account_id, grant.id, scope)
        return see_other(f"/connections/{grant.id}")

    async def _connection(self, visit: Visit) -> Connection:
        """Raises NotFound, also for somebody else's."""
        grant = await self._grants.get(visit.account.id, visit.path("id"))
        vaults = await self._vaults(visit.account)
        return self._as_seen(grant, vaults)

    def _as_seen(self, grant: Grant, vaults: dict[str, OpenVault]) -> Connection:
        return Connection(grant, vaults.get(grant.vault_id), grant.ended_at(self._clock.now()))

    async def _vaults(self, account: Account) -> dict[str, OpenVault]:
        choices = await self._consents.choices(account)
        return {choice.vault.id: OpenVault.of(choice) for choice in choices}

    async def _own_keys(self, vaults: dict[str, OpenVault]) -> list[KeyRow]:
        return [
            KeyRow(listed, vault)
            for listed in await self._keys.list()
            if listed.key.revoked_at is None
            and (vault := vaults.get(listed.key.vault_id))
            and vault.role == "owner"
        ]
