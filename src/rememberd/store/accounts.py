"""Rows about people: accounts, memberships, invitations, passkeys, recovery codes.

Functions take an open transaction of control. Secrets pass through here as hashes alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from rememberd.clock import Clock, from_micros, to_micros
from rememberd.errors import Conflict, NotFound
from rememberd.model import Account, Role, Vault
from rememberd.store import control
from rememberd.store.transaction import Row, Transaction

# --- accounts ----------------------------------------------------------------------------------


def add(tx: Transaction, email: str, name: str, password: str | None, clock: Clock) -> Account:
    """Raises Conflict when the email is taken. `password` is a hash."""
    if tx.one("account_by_email", email=email):
        raise Conflict("An account with this email exists already. Sign in instead.")
    account_id = clock.new_id("acc")
    tx.run(
        "add_account",
        id=account_id,
        email=email,
        name=name,
        password=password,
        created_at=to_micros(clock.now()),
    )
    return get(tx, account_id)


def get(tx: Transaction, account_id: str) -> Account:
    """Raises NotFound."""
    row = tx.one("account", id=account_id)
    if row is None:
        raise NotFound("There is no such account.")
    return _account(row)


@dataclass(frozen=True, slots=True)
class SignIn:
    """What signing in needs to know of an account."""

    account: Account
    password: str | None  #: its hash
    is_disabled: bool


def by_email(tx: Transaction, email: str) -> SignIn | None:
    row = tx.one("account_by_email", email=email)
    if row is None:
        return None
    return SignIn(_account(row), row["password"], row["disabled_at"] is not None)


def password_is(tx: Transaction, account_id: str, stored: str | None) -> bool:
    """Is this, a hash or none, still what the account has?"""
    return tx.value("password_is", id=account_id, password=stored) is not None


@dataclass(frozen=True, slots=True)
class WaysIn:
    """An account with what is left to sign in with, beside its password."""

    account: Account
    is_disabled: bool
    passkeys: int
    recovery_codes: int


def everybody(tx: Transaction) -> list[WaysIn]:
    """Every account, the oldest first."""
    return [
        WaysIn(
            _account(row), row["disabled_at"] is not None, row["passkeys"], row["recovery_codes"]
        )
        for row in tx.all("accounts")
    ]


def exist(tx: Transaction) -> bool:
    return bool(tx.value("any_account"))


def _account(row: Row) -> Account:
    return Account(
        id=row["id"],
        email=row["email"],
        name=row["name"],
        created_at=from_micros(row["created_at"]),
        has_password=row["password"] is not None,
    )


# --- membership --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    account_id: str
    email: str
    name: str
    role: Role


def join(tx: Transaction, organization_id: str, account_id: str, role: Role, now: datetime) -> None:
    """Make somebody a member, or change their role."""
    tx.run(
        "add_member",
        organization_id=organization_id,
        account_id=account_id,
        role=role,
        created_at=to_micros(now),
    )


def join_project(
    tx: Transaction, project_id: str, account_id: str, role: Role, now: datetime
) -> None:
    tx.run(
        "add_project_member",
        project_id=project_id,
        account_id=account_id,
        role=role,
        created_at=to_micros(now),
    )


def project_members(tx: Transaction, project_id: str) -> list[Member]:
    return [
        Member(row["account_id"], row["email"], row["name"], row["role"])
        for row in tx.all("project_members", project_id=project_id)
    ]


def role_in_project(tx: Transaction, project_id: str, account_id: str) -> Role | None:
    for member in project_members(tx, project_id):
        if member.account_id == account_id:
            return member.role
    return None


def leave(tx: Transaction, organization_id: str, account_id: str) -> None:
    """End a membership, also in the organization's projects.

    Raises NotFound, Conflict for the last owner.
    """
    if role_in(tx, organization_id, account_id) is None:
        raise NotFound("There is no such member.")
    check_not_last_owner(tx, organization_id, account_id)
    tx.run("remove_member", organization_id=organization_id, account_id=account_id)
    tx.run("remove_project_members", organization_id=organization_id, account_id=account_id)


def check_not_last_owner(tx: Transaction, organization_id: str, account_id: str) -> None:
    """Raises Conflict when nobody else owns the organization."""
    if role_in(tx, organization_id, account_id) != "owner":
        return
    if int(tx.value("count_owners", organization_id=organization_id)) == 1:
        raise Conflict("An organization needs an owner: make somebody else one first.")


def members(tx: Transaction, organization_id: str) -> list[Member]:
    return [
        Member(row["account_id"], row["email"], row["name"], row["role"])
        for row in tx.all("members", organization_id=organization_id)
    ]


def role_in(tx: Transaction, organization_id: str, account_id: str) -> Role | None:
    for member in members(tx, organization_id):
        if member.account_id == account_id:
            return member.role
    return None


def organization_name(tx: Transaction, organization_id: str) -> str:
    """Raises NotFound."""
    name: str | None = tx.value("organization_name", id=organization_id)
    if name is None:
        raise NotFound("There is no such organization.")
    return name


@dataclass(frozen=True, slots=True)
class Membership:
    organization_id: str
    organization: str
    role: Role


def memberships(tx: Transaction, account_id: str) -> list[Membership]:
    return [
        Membership(row["id"], row["name"], row["role"])
        for row in tx.all("memberships", account_id=account_id)
    ]


@dataclass(frozen=True, slots=True)
class Reachable:
    """A vault that an account may be able to open, and what decides its role there."""

    vault: Vault
    organization: str
    project: str | None
    is_own: bool
    organization_role: Role | None
    project_role: Role | None


def reachable_vaults(tx: Transaction, account_id: str) -> list[Reachable]:
    return [
        Reachable(
            control.vault_from_row(row),
            row["organization_name"],
            row["project_name"],
            row["account_id"] == account_id,
            cast("Role | None", row["organization_role"]),
            cast("Role | None", row["project_role"]),
        )
        for row in tx.all("reachable_vaults", account_id=account_id)
    ]


# --- invitations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Invitation:
    id: str
    kind: Literal["setup", "invite"]
    organization_id: str
    project_id: str | None
    role: Role
    email: str | None
    expires_at: datetime
    used_at: datetime | None
    created_by: str | None = None  #: the account of the owner who invited


def add_invitation(
    tx: Transaction, invitation: Invitation, digest: bytes, created_by: str | None, now: datetime
) -> None:
    tx.run(
        "add_invitation",
        id=invitation.id,
        digest=digest,
        kind=invitation.kind,
        organization_id=invitation.organization_id,
        project_id=invitation.project_id,
        role=invitation.role,
        email=invitation.email,
        created_by=created_by,
        created_at=to_micros(now),
        expires_at=to_micros(invitation.expires_at),
    )


def invitation(tx: Transaction, digest: bytes) -> Invitation | None:
    row = tx.one("invitation", digest=digest)
    return _invitation(row) if row else None


def open_invitations(tx: Transaction, organization_id: str, now: datetime) -> list[Invitation]:
    rows = tx.all("invitations", organization_id=organization_id, now=to_micros(now))
    return [_invitation(row) for row in rows]


def role_where(tx: Transaction, invitation: Invitation, account_id: str) -> Role | None:
    """Which role an account has already in what an invitation is for; owners own the projects."""
    role = role_in(tx, invitation.organization_id, account_id)
    if invitation.project_id and role != "owner":
        return role_in_project(tx, invitation.project_id, account_id)
    return role


def use_invitation(tx: Transaction, invitation_id: str, now: datetime) -> bool:
    """False when it was used or has expired: two who race do not both get in."""
    return bool(tx.run("use_invitation", id=invitation_id, at=to_micros(now)))


def _invitation(row: Row) -> Invitation:
    used = row["used_at"]
    return Invitation(
        row["id"],
        row["kind"],
        row["organization_id"],
        row["project_id"],
        row["role"],
        row["email"],
        from_micros(row["expires_at"]),
        from_micros(used) if used is not None else None,
        row["created_by"],
    )


# --- passkeys ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passkey:
    id: str
    account_id: str
    credential: bytes
    public_key: bytes
    sign_count: int
    name: str
    created_at: datetime
    last_used_at: datetime | None = None


def add_passkey(tx: Transaction, passkey: Passkey) -> None:
    """Raises Conflict for a credential that is known already."""
    if tx.one("passkey", credential=passkey.credential):
        raise Conflict("This passkey is registered already.")
    tx.run(
        "add_passkey",
        id=passkey.id,
        account_id=passkey.account_id,
        credential=passkey.credential,
        public_key=passkey.public_key,
        sign_count=passkey.sign_count,
        name=passkey.name,
        created_at=to_micros(passkey.created_at),
    )


def passkeys(tx: Transaction, account_id: str) -> list[Passkey]:
    return [_passkey(row) for row in tx.all("passkeys", account_id=account_id)]


def passkey(tx: Transaction, credential: bytes) -> Passkey | None:
    row = tx.one("passkey", credential=credential)
    return _passkey(row) if row else None


def _passkey(row: Row) -> Passkey:
    used = row["last_used_at"]
    return Passkey(
        row["id"],
        row["account_id"],
        bytes(row["credential"]),
        bytes(row["public_key"]),
        row["sign_count"],
        row["name"],
        from_micros(row["created_at"]),
        from_micros(used) if used is not None else None,
    )


# --- recovery codes ----------------------------------------------------------------------------


def replace_recovery_codes(tx: Transaction, account_id: str, digests: Iterable[bytes]) -> None:
    tx.run("drop_recovery_codes", account_id=account_id)
    rows = [{"digest": digest, "account_id": account_id} for digest in digests]
    tx.many("add_recovery_code", rows)


def use_recovery_code(tx: Transaction, account_id: str, digest: bytes, now: datetime) -> bool:
    """True once for each code."""
    return bool(
        tx.run("use_recovery_code", account_id=account_id, digest=digest, at=to_micros(now))
    )


def recovery_codes_left(tx: Transaction, account_id: str) -> int:
    return int(tx.value("recovery_codes_left", account_id=account_id))
