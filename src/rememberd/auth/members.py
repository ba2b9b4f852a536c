"""Who belongs to an organization, in which role, and who is invited.

Only owners change anything; to everybody else who does not belong, an organization does not exist.
"""

from __future__ import annotations

from datetime import timedelta

from rememberd.auth import tokens
from rememberd.auth.accounts import check_email
from rememberd.auth.grant_ends import revoke_stranded
from rememberd.clock import Clock
from rememberd.errors import Denied, NotFound
from rememberd.model import Account, Project, Role
from rememberd.store import accounts, control, ledger
from rememberd.store.accounts import Invitation, Member, Membership
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

INVITATION_LIFE = timedelta(days=7)


class Members:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def organizations(self, account: Account) -> list[Membership]:
        """Those that the account belongs to, by name."""
        return await self._store.control.read(lambda tx: accounts.memberships(tx, account.id))

    async def organization_name(self, organization_id: str) -> str:
        """For whoever holds an invitation to it. Raises NotFound."""
        return await self._store.control.read(
            lambda tx: accounts.organization_name(tx, organization_id)
        )

    async def projects(self, account: Account, organization_id: str) -> list[Project]:
        """For owners, who may invite to each; by name. Raises Denied, NotFound."""

        def look(tx: Transaction) -> list[Project]:
            _check_owner(tx, organization_id, account)
            return _projects(tx, organization_id)

        return await self._store.control.read(look)

    async def project_name(self, project_id: str) -> str:
        """For whoever holds an invitation to it. Raises NotFound."""
        held = await self._store.control.read(control.projects)
        for project in held:
            if project.id == project_id:
                return project.name
        raise NotFound("There is no such project.")

    async def list(self, account: Account, organization_id: str) -> list[Member]:
        """Raises NotFound for an organization one does not belong to."""

        def look(tx: Transaction) -> list[Member]:
            if accounts.role_in(tx, organization_id, account.id) is None:
                raise NotFound("There is no such organization.")
            return accounts.members(tx, organization_id)

        return await self._store.control.read(look)

    async def remove(self, owner: Account, organization_id: str, account_id: str) -> None:
        """Their grants on its vaults end for good; anybody may leave.

        Raises Denied, NotFound, Conflict for the last owner.
        """

        def leave(tx: Transaction) -> None:
            if owner.id != account_id:
                _check_owner(tx, organization_id, owner)
            accounts.leave(tx, organization_id, account_id)
            _withdraw_all(tx, organization_id, account_id)
            self._record(tx, owner.id, "member.removed", account_id, organization=organization_id)
            self._end_grants(tx, owner.id, account_id, "membership ended")

        await self._store.control.write(leave)

    def _end_grants(self, tx: Transaction, actor: str, account_id: str, why: str) -> None:
        revoke_stranded(tx, account_id, why=why, actor=actor, now=self._clock.now())

    async def set_role(
        self, owner: Account, organization_id: str, account_id: str, role: Role
    ) -> None:
        """Raises Denied, NotFound, Conflict for the last owner."""

        def change(tx: Transaction) -> None:
            _check_owner(tx, organization_id, owner)
            if accounts.role_in(tx, organization_id, account_id) is None:
                raise NotFound("There is no such member.")
            if role != "owner":
                accounts.check_not_last_owner(tx, organization_id, account_id)
            accounts.join(tx, organization_id, account_id, role, self._clock.now())
            if role != "owner":
                _withdraw_all(tx, organization_id, account_id)
            place = {"organization": organization_id, "role": role}
            self._record(tx, owner.id, "member.role", account_id, **place)
            self._end_grants(tx, owner.id, account_id, "role lowered")

        await self._store.control.write(change)

    # -- invitations -------------------------------------------------------------------------------

    async def invite(
        self,
        owner: Account,
        organization_id: str,
        role: Role,
        email: str | None = None,
        project_id: str | None = None,
    ) -> str:
        """The token of a link, good once within a week. Raises Denied, NotFound, InvalidInput."""
        email = check_email(email) if email else None
        token, now = tokens.mint("mil_"), self._clock.now()

        def enter(tx: Transaction) -> None:
            _check_owner(tx, organization_id, owner)
            if project_id is not None:
                _check_project(tx, organization_id, project_id)
            invitation = Invitation(
                self._clock.new_id("inv"),
                "invite",
                organization_id,
                project_id,
                role,
                email,
                now + INVITATION_LIFE,
                None,
            )
            accounts.add_invitation(tx, invitation, tokens.digest(token), owner.id, now)
            place = {"organization": organization_id, "role": role}
            place |= {"project": project_id} if project_id else {}
            self._record(tx, owner.id, "member.invited", invitation.id, **place)

        await self._store.control.write(enter)
        return token

    async def invitations(self, owner: Account, organization_id: str) -> list[Invitation]:
        """Those that nobody has taken up yet. Raises Denied, NotFound."""
        now = self._clock.now()

        def look(tx: Transaction) -> list[Invitation]:
            _check_owner(tx, organization_id, owner)
            return accounts.open_invitations(tx, organization_id, now)

        return await self._store.control.read(look)

    async def withdraw(self, owner: Account, organization_id: str, invitation_id: str) -> None:
        """The link stops working at once. Raises Denied, NotFound."""

        def drop(tx: Transaction) -> None:
            _check_owner(tx, organization_id, owner)
            if not tx.run("withdraw_invitation", id=invitation_id, organization_id=organization_id):
                raise NotFound("There is no such invitation. It may have been taken up just now.")
            place = {"organization": organization_id}
            self._record(tx, owner.id, "member.uninvited", invitation_id, **place)

        await self._store.control.write(drop)

    def _record(
        self, tx: Transaction, actor: str, action: str, subject: str, **detail: str
    ) -> None:
        ledger.record(
            tx, actor=actor, action=action, subject=subject, detail=detail, now=self._clock.now()
        )


def _withdraw_all(tx: Transaction, organization_id: str, account_id: str) -> None:
    """Nobody comes back in with a link that they made while they were an owner."""
    tx.run("withdraw_invitations_by", organization_id=organization_id, account_id=account_id)


def _check_project(tx: Transaction, organization_id: str, project_id: str) -> None:
    if not any(project.id == project_id for project in _projects(tx, organization_id)):
        raise NotFound("There is no such project.")


def _projects(tx: Transaction, organization_id: str) -> list[Project]:
    return [one for one in control.projects(tx) if one.organization_id == organization_id]


def _check_owner(tx: Transaction, organization_id: str, account: Account) -> None:
    role = accounts.role_in(tx, organization_id, account.id)
    if role is None:
        raise NotFound("There is no such organization.")
    if role != "owner":
        raise Denied("Only owners of the organization may do this.")
