"""Passkeys (WebAuthn): registering one and signing in with it, verified by py_webauthn.

User verification is required: a passkey stands for password and second factor at once. The relying
party is the host of the public URL and nothing a request says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rememberd.auth.sessions import Browser, Sessions
from rememberd.clock import Clock, to_micros
from rememberd.errors import Denied, InvalidInput, NotFound
from rememberd.model import Account
from rememberd.store import accounts, ledger
from rememberd.store.accounts import Passkey
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """`origin` is the public URL; `id` its host (WebAuthn §5.1.2)."""

    origin: str
    id: str

    @classmethod
    def of(cls, public_url: str) -> RelyingParty:
        return cls(public_url, urlsplit(public_url).hostname or "localhost")


class Passkeys:
    def __init__(self, store: Store, sessions: Sessions, clock: Clock, party: RelyingParty) -> None:
        self._store = store
        self._sessions = sessions
        self._clock = clock
        self._party = party

    # -- registering -------------------------------------------------------------------------------

    async def registration_options(self, browser: Browser, account: Account) -> dict[str, Any]:
        """For `navigator.credentials.create`; the challenge is kept in the session."""
        import webauthn  # noqa: PLC0415 - costs a quarter of a second, and few need it
        from webauthn.helpers import structs  # noqa: PLC0415

        known = await self.list(account)
        options = webauthn.generate_registration_options(
            rp_id=self._party.id,
            rp_name="rememberd",
            user_id=account.id.encode(),
            user_name=account.email,
            user_display_name=account.name or account.email,
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[
                structs.PublicKeyCredentialDescriptor(id=passkey.credential) for passkey in known
            ],
        )
        await self._sessions.set_challenge(browser, options.challenge)
        plain: dict[str, Any] = json.loads(webauthn.options_to_json(options))
        return plain

    async def register(
        self, browser: Browser, account: Account, response: str, name: str
    ) -> Passkey:
        """`response` is the credential as JSON. Raises InvalidInput, Conflict."""
        import webauthn  # noqa: PLC0415
        from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

        challenge = await self._challenge(browser)
        try:
            verified = webauthn.verify_registration_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._party.id,
                expected_origin=self._party.origin,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError) as error:
            raise InvalidInput("The passkey could not be verified. Try again.") from error
        passkey = Passkey(
            self._clock.new_id("pky"),
            account.id,
            verified.credential_id,
            verified.credential_public_key,
            verified.sign_count,
            name[:64] or "passkey",
            self._clock.now(),
        )

        def enter(tx: Transaction) -> None:
            accounts.add_passkey(tx, passkey)
            self._record(tx, account.id, "passkey.added", passkey.id)

        await self._store.control.write(enter)
        return passkey

    # -- signing in --------------------------------------------------------------------------------

    async def sign_in_options(self, browser: Browser) -> dict[str, Any]:
        """For `navigator.credentials.get`. Names no account, so it tells nothing about any."""
        import webauthn  # noqa: PLC0415
        from webauthn.helpers import structs  # noqa: PLC0415

        options = webauthn.generate_authentication_options(
            rp_id=self._party.id,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        )
        await self._sessions.set_challenge(browser, options.challenge)
        plain: dict[str, Any] = json.loads(webauthn.options_to_json(options))
        return plain

    async def sign_in(self, browser: Browser, response: str) -> Account:
        """Raises Denied, whatever is wrong."""
        import webauthn  # noqa: PLC0415
        from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415

        challenge = await self._challenge(browser)
        passkey = await self._named_in(response)
        try:
            verified = webauthn.verify_authentication_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._party.id,
                expected_origin=self._party.origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError) as error:
            raise _refused() from error
        at = to_micros(self._clock.now())

        def use(tx: Transaction) -> Account:
            count = verified.new_sign_count
            if not tx.run("use_passkey", id=passkey.id, sign_count=count, at=at):
                raise _refused()  # it was removed meanwhile
            return accounts.get(tx, passkey.account_id)

        return await self._store.control.write(use)

    async def _named_in(self, response: str) -> Passkey:
        import webauthn  # noqa: PLC0415

        try:
            credential = webauthn.base64url_to_bytes(str(json.loads(response)["id"]))
        except (ValueError, KeyError, TypeError):
            raise _refused() from None
        found = await self._store.control.read(lambda tx: accounts.passkey(tx, credential))
        if found is None:
            raise _refused()
        return found

    async def _challenge(self, browser: Browser) -> bytes:
        challenge = await self._sessions.take_challenge(browser)
        if challenge is None:
            raise Denied("The page was open for too long. Reload it and try again.")
        return challenge

    # -- keeping -----------------------------------------------------------------------------------

    async def list(self, account: Account) -> list[Passkey]:
        return await self._store.control.read(lambda tx: accounts.passkeys(tx, account.id))

    async def remove(self, account: Account, passkey_id: str) -> None:
        """Raises NotFound, also for somebody else's; Denied when it is the only way to sign in."""

        def drop(tx: Transaction) -> None:
            held = accounts.passkeys(tx, account.id)
            if not any(passkey.id == passkey_id for passkey in held):
                raise NotFound("There is no such passkey.")
            if len(held) == 1 and not accounts.get(tx, account.id).has_password:
                raise Denied("This is your only way to sign in. Set a password first.")
            tx.run("remove_passkey", id=passkey_id, account_id=account.id)
            self._record(tx, account.id, "passkey.removed", passkey_id)

        await self._store.control.write(drop)

    def _record(self, tx: Transaction, actor: str, action: str, subject: str) -> None:
        now = self._clock.now()
        ledger.record(tx, actor=actor, action=action, subject=subject, detail={}, now=now)


def _refused() -> Denied:
    return Denied("This passkey is not known here.")
