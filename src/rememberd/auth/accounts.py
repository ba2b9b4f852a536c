"""People: the first set-up, taking up an invitation, signing in, recovery.

Answers about accounts never tell whether an email is known. Attempts are slowed down per account
and per address, and no one is ever locked out for good.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import timedelta

from rememberd.auth import tokens
from rememberd.auth.attempts import Attempts
from rememberd.auth.passwords import Passwords
from rememberd.auth.principals import COMMAND_LINE
from rememberd.clock import Clock
from rememberd.errors import Conflict, Denied, InvalidInput, NotFound
from rememberd.model import Account, Role
from rememberd.store import accounts, control, ledger
from rememberd.store.accounts import Invitation, WaysIn
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

SETUP_LIFE = timedelta(days=1)
RECOVERY_CODES = 10
_NOBODY = "unknown email"  #: in the audit chain
_EMAIL = re.compile(r"[^\s@<>\"'\\]{1,64}@[^\s@<>\"'\\]{1,190}")


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account that was made or let back in. Recovery codes are shown once, here."""

    account: Account
    recovery_codes: tuple[str, ...]


class Accounts:
    def __init__(self, store: Store, clock: Clock, passwords: Passwords) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._attempts = Attempts(clock)

    # -- the first account -------------------------------------------------------------------------

    async def is_set_up(self) -> bool:
        return await self._store.control.read(accounts.exist)

    async def setup_link(self) -> str | None:
        """A fresh one-time token for the set-up page, replacing any before; None once set up."""
        token, now = tokens.mint("mil_"), self._clock.now()

        def enter(tx: Transaction) -> str | None:
            if accounts.exist(tx):
                return None
            tx.run("drop_setup_invitations")
            home = control.local_organization(tx, self._clock)
            invitation = Invitation(
                self._clock.new_id("inv"),
                "setup",
                home.id,
                None,
                "owner",
                None,
                now + SETUP_LIFE,
                None,
            )
            accounts.add_invitation(tx, invitation, tokens.digest(token), None, now)
            return token

        return await self._store.control.write(enter)

    async def set_up(self, email: str, name: str, password: str | None) -> NewAccount:
        """Make the first account, owner of the organization `local` and of the vaults in it.

        For the command line, whose user owns the data directory. Raises Conflict when set up.
        """
        email = check_email(email)
        hashed = await self._passwords.hash(password, email) if password is not None else None
        codes = _new_recovery_codes()

        def enter(tx: Transaction) -> Account:
            if accounts.exist(tx):
                raise Denied("This server is set up already. Ask its owner for an invitation.")
            return self._claim(tx, email, name, hashed, codes)

        return NewAccount(await self._store.control.write(enter), codes)

    def _claim(
        self,
        tx: Transaction,
        email: str,
        name: str,
        hashed: str | None,
        codes: tuple[str, ...],
    ) -> Account:
        account = accounts.add(tx, email, name, hashed, self._clock)
        home = control.local_organization(tx, self._clock)
        accounts.join(tx, home.id, account.id, "owner", self._clock.now())
        tx.run("claim_vaults", account_id=account.id)
        tx.run("drop_setup_invitations")
        accounts.replace_recovery_codes(tx, account.id, map(_code_digest, codes))
        self._record(tx, account.id, "account.created", account.id)
        return account

    # -- invitations -------------------------------------------------------------------------------

    async def invitation(self, token: str) -> Invitation:
        """What a link is for. Raises NotFound when it is unknown, used or expired."""

        def look(tx: Transaction) -> Invitation:
            return self._open(tx, token)

        return await self._store.control.read(look)

    def _open(self, tx: Transaction, token: str) -> Invitation:
        whole = tokens.is_whole(token, "mil_")
        found = accounts.invitation(tx, tokens.digest(token)) if whole else None
        if found is None or found.used_at or found.expires_at <= self._clock.now():
            raise NotFound("This link was used already, or it has expired. Ask for a new one.")
        inviter = found.created_by or ""
        if found.kind == "invite" and (
            accounts.role_in(tx, found.organization_id, inviter) != "owner"
        ):
            raise NotFound("Whoever made this link is no owner any more. Ask for a new one.")
        return found

    async def accept(self, token: str, email: str, name: str, password: str | None) -> NewAccount:
        """Make an account with a set-up link or an invitation; of two who race one gets in.

        Raises NotFound for a used link, Conflict for a taken email, InvalidInput.
        """
        email = check_email(email)
        hashed = await self._passwords.hash(password, email) if password else None
        codes = _new_recovery_codes()

        def enter(tx: Transaction) -> Account:
            found = self._open(tx, token)
            if found.email and found.email != email:
                raise InvalidInput("This invitation is for another email.", field="email")
            if not accounts.use_invitation(tx, found.id, self._clock.now()):
                raise NotFound("This link was used already. Ask for a new one.")
            if found.kind == "setup":
                return self._claim(tx, email, name, hashed, codes)
            return self._join(tx, found, email, name, hashed, codes)

        return NewAccount(await self._store.control.write(enter), codes)

    def _join(
        self,
        tx: Transaction,
        found: Invitation,
        email: str,
        name: str,
        hashed: str | None,
        codes: tuple[str, ...],
    ) -> Account:
        account = accounts.add(tx, email, name, hashed, self._clock)
        accounts.replace_recovery_codes(tx, account.id, map(_code_digest, codes))
        self._record(tx, account.id, "account.created", account.id)
        self._admit(tx, found, account.id)
        return account

    def _admit(self, tx: Transaction, found: Invitation, account_id: str) -> None:
        now = self._clock.now()
        if found.project_id:
            accounts.join_project(tx, found.project_id, account_id, found.role, now)
        else:
            accounts.join(tx, found.organization_id, account_id, found.role, now)
        where = {"organization": found.organization_id, "role": found.role, "invitation": found.id}
        where |= {"project": found.project_id} if found.project_id else {}
        self._record(tx, account_id, "member.joined", account_id, **where)

    async def role_already(self, invitation: Invitation, account: Account) -> Role | None:
        """Of somebody who has no use for the invitation."""
        return await self._store.control.read(
            lambda tx: accounts.role_where(tx, invitation, account.id)
        )

    async def accept_signed_in(self, token: str, account: Account) -> None:
        """Take up an invitation with the account one has.

        Raises NotFound, InvalidInput for somebody else's, Conflict for a member: a link must not
        lower anybody's role.
        """

        def enter(tx: Transaction) -> None:
            found = self._open(tx, token)
            if found.kind != "invite" or (found.email and found.email != account.email):
                raise InvalidInput("This invitation is for another account.", field="email")
            if accounts.role_where(tx, found, account.id):
                raise Conflict("You are a member already. An owner can change your role.")
            if not accounts.use_invitation(tx, found.id, self._clock.now()):
                raise NotFound("This link was used already. Ask for a new one.")
            self._admit(tx, found, account.id)

        await self._store.control.write(enter)

    # -- signing in --------------------------------------------------------------------------------

    async def sign_in(self, email: str, password: str, address: str) -> Account:
        """Raises Denied for a wrong email or password alike, TooManyAttempts."""
        key = email.strip().casefold()
        self._attempts.begin(key, address)
        found = await self._store.control.read(lambda tx: accounts.by_email(tx, key))
        if not await self._passwords.matches(password, found.password if found else None):
            await self._failed(found.account.id if found else None)
        if found is None or found.is_disabled or found.password is None:
            raise _wrong()
        await self._signed_in_with(found.account, password, found.password)
        self._attempts.succeeded(key, address)
        return found.account

    async def _signed_in_with(self, account: Account, password: str, stored: str) -> None:
        """Raises Denied when the password was changed while this one was checked."""
        outdated = self._passwords.is_outdated(stored)
        renewed = await self._passwords.hash_again(password) if outdated else None

        def enter(tx: Transaction) -> None:
            if not accounts.password_is(tx, account.id, stored):
                raise _wrong()
            self._record(tx, account.id, "sign_in", account.id, means="password")
            if renewed is not None:
                tx.run("set_password", id=account.id, password=renewed)

        await self._store.control.write(enter)

    async def recover(self, email: str, code: str, address: str) -> Account:
        """Sign in with a recovery code, which is then used up. Raises Denied, TooManyAttempts."""
        key = email.strip().casefold()
        self._attempts.begin_recovery(address)
        digest, now = _code_digest(code), self._clock.now()

        def use(tx: Transaction) -> Account | None:
            found = accounts.by_email(tx, key)
            if found is None or found.is_disabled:
                # As much work as for a wrong code: time must not tell whether an email is known.
                self._record(tx, _NOBODY, "sign_in.failed", _NOBODY)
                return None
            if accounts.use_recovery_code(tx, found.account.id, digest, now):
                return found.account
            self._record(tx, found.account.id, "sign_in.failed", found.account.id)
            return None

        account = await self._store.control.write(use)
        if account is None:
            raise _wrong()
        self._attempts.succeeded(key, address)
        await self._signed_in(account, "recovery code")
        return account

    async def signed_in_with_passkey(self, account: Account) -> None:
        await self._signed_in(account, "passkey")

    async def _failed(self, account_id: str | None) -> None:
        """Raises Denied."""
        whose = account_id or _NOBODY  # the same work either way
        await self._store.control.write(lambda tx: self._record(tx, whose, "sign_in.failed", whose))
        raise _wrong()

    async def _signed_in(self, account: Account, means: str) -> None:
        await self._store.control.write(
            lambda tx: self._record(tx, account.id, "sign_in", account.id, means=means)
        )

    # -- secrets -----------------------------------------------------------------------------------

    async def change_password(self, account: Account, current: str | None, new: str) -> None:
        """`current` is None where there was none. Raises Denied, TooManyAttempts, InvalidInput."""
        self._attempts.begin_proof(account.email)
        found = await self._store.control.read(lambda tx: accounts.by_email(tx, account.email))
        stored = found.password if found else None
        if stored is not None and not await self._passwords.matches(current or "", stored):
            raise Denied("The current password is wrong.")
        self._attempts.proved(account.email)
        hashed = await self._passwords.hash(new, account.email)

        def change(tx: Transaction) -> None:
            if not accounts.password_is(tx, account.id, stored):
                raise Denied("The password was changed meanwhile. Nothing was done.")
            self._change_password(tx, account, hashed)

        await self._store.control.write(change)

    async def reset_password(self, account: Account, new: str) -> None:
        """After a recovery code was used. Raises InvalidInput."""
        hashed = await self._passwords.hash(new, account.email)
        await self._store.control.write(lambda tx: self._change_password(tx, account, hashed))

    def _change_password(self, tx: Transaction, account: Account, hashed: str) -> None:
        tx.run("set_password", id=account.id, password=hashed)
        self._record(tx, account.id, "password.changed", account.id)

    async def new_recovery_codes(self, account: Account) -> tuple[str, ...]:
        """Replace the old ones; shown once."""
        codes = _new_recovery_codes()

        def replace(tx: Transaction) -> None:
            accounts.replace_recovery_codes(tx, account.id, map(_code_digest, codes))
            self._record(tx, account.id, "recovery_codes.replaced", account.id)

        await self._store.control.write(replace)
        return codes

    async def recovery_codes_left(self, account: Account) -> int:
        return await self._store.control.read(
            lambda tx: accounts.recovery_codes_left(tx, account.id)
        )

    # -- for the command line, whose user owns the data directory ----------------------------------

    async def everybody(self) -> list[WaysIn]:
        """Every account and the ways in that it has left."""
        return await self._store.control.read(accounts.everybody)

    async def let_back_in(self, email: str) -> NewAccount:
        """New recovery codes in place of the old ones, for somebody who lost every way in.

        Nothing else changes until one is used. Raises NotFound, Conflict for a disabled account.
        """
        key, codes = email.strip().casefold(), _new_recovery_codes()

        def replace(tx: Transaction) -> Account:
            found = accounts.by_email(tx, key)
            if found is None:
                listing = self._store.directory.command("account list")
                raise NotFound(f"There is no account {email}. `{listing}` shows those there are.")
            if found.is_disabled:
                raise Conflict(f"The account {email} is disabled: no code lets it in.")
            accounts.replace_recovery_codes(tx, found.account.id, map(_code_digest, codes))
            self._record(tx, COMMAND_LINE, "recovery_codes.replaced", found.account.id)
            return found.account

        return NewAccount(await self._store.control.write(replace), codes)

    def _record(
        self, tx: Transaction, actor: str, action: str, subject: str, **detail: str
    ) -> None:
        ledger.record(
            tx, actor=actor, action=action, subject=subject, detail=detail, now=self._clock.now()
        )


def check_email(email: str) -> str:
    """As it is stored and compared. Raises InvalidInput."""
    plain = email.strip().casefold()
    # What cannot be seen, or only looks like another letter, would pass for somebody else's.
    looks = all(unicodedata.category(one)[0] not in "CZ" for one in plain)
    is_plain = looks and unicodedata.normalize("NFKC", plain) == plain
    if not is_plain or not _EMAIL.fullmatch(plain):
        raise InvalidInput("email: that is not an email address.", field="email")
    return plain


def _wrong() -> Denied:
    return Denied("Email or password is wrong.")


def _new_recovery_codes() -> tuple[str, ...]:
    """80 random bits each, in groups that survive being written on paper."""
    alphabet = "23456789abcdefghjkmnpqrstuvwxyz"
    return tuple(
        "-".join("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(4))
        for _ in range(RECOVERY_CODES)
    )


def _code_digest(code: str) -> bytes:
    return tokens.digest(code.strip().lower().replace(" ", ""))
