"""Who may use a project's vaults, in which role; for whoever owns the data directory.

Nobody is made a member of the organization here, and no role in it changes.
"""

from __future__ import annotations

from rememberd.auth.grant_ends import revoke_stranded
from rememberd.auth.principals import COMMAND_LINE
from rememberd.clock import Clock
from rememberd.errors import Conflict, NotFound
from rememberd.model import Account, Project, Role
from rememberd.store import accounts, control, ledger
from rememberd.store.accounts import Member
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction


class ProjectMembers:
    """Projects go by their name, people by their email."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, project: str) -> list[Member]:
        """By email. Owners of the organization own the project without standing here.

        Raises NotFound.
        """

        def look(tx: Transaction) -> list[Member]:
            return accounts.project_members(tx, self._project(tx, project).id)

        return await self._store.control.read(look)

    async def add(self, project: str, email: str, role: Role) -> Member:
        """Let somebody in, or change their role; it holds from the next call on.

        Raises NotFound, Conflict for a disabled account.
        """

        def enter(tx: Transaction) -> Member:
            found, account = self._project(tx, project), self._account(tx, email, enabled=True)
            before = accounts.role_in_project(tx, found.id, account.id)
            if before != role:
                accounts.join_project(tx, found.id, account.id, role, self._clock.now())
                action = "member.role" if before else "member.joined"
                self._record(tx, action, account.id, project=found.id, role=role)
            return Member(account.id, account.email, account.name, role)

        return await self._store.control.write(enter)

    async def remove(self, project: str, email: str) -> Member:
        """Their access ends at once, and with it each grant that no other role stands behind.

        Raises NotFound.
        """

        def leave(tx: Transaction) -> Member:
            found, account = self._project(tx, project), self._account(tx, email)
            role = accounts.role_in_project(tx, found.id, account.id)
            if role is None:
                raise NotFound(f"{account.email} is no member of the project {found.name}.")
            tx.run("remove_project_member", project_id=found.id, account_id=account.id)
            self._record(tx, "member.removed", account.id, project=found.id, role=role)
            why, now = "removed from the project", self._clock.now()
            revoke_stranded(tx, account.id, why=why, actor=COMMAND_LINE, now=now)
            return Member(account.id, account.email, account.name, role)

        return await self._store.control.write(leave)

    def _project(self, tx: Transaction, name: str) -> Project:
        home = control.local_organization(tx, self._clock)
        return control.project_named(tx, home.id, name)

    def _account(self, tx: Transaction, email: str, *, enabled: bool = False) -> Account:
        found = accounts.by_email(tx, email.strip().casefold())
        if found is None:
            listing = self._store.directory.command("account list")
            raise NotFound(f"There is no account {email}. `{listing}` shows those there are.")
        if enabled and found.is_disabled:
            raise Conflict(f"The account {email} is disabled.")
        return found.account

    def _record(self, tx: Transaction, action: str, subject: str, **detail: str) -> None:
        ledger.record(
            tx,
            actor=COMMAND_LINE,
            action=action,
            subject=subject,
            detail=detail,
            now=self._clock.now(),
        )
