"""Requests on their way through the consent page: kept for one browser, answered once.

Answering twice gives the same answer, since people click twice; another browser's request is not
found at all. Kept is only whether the answer was yes: the code in it is never in a database.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from rememberd.auth import roles
from rememberd.auth.clients import Clients
from rememberd.auth.grants import Approved, Grants
from rememberd.auth.requests import AuthorizationRequest, denied, with_code
from rememberd.auth.sessions import Browser
from rememberd.clock import Clock
from rememberd.errors import InvalidInput, NotFound
from rememberd.model import Account, Client, Role, Vault
from rememberd.store import accounts, ledger, oauth
from rememberd.store.accounts import Reachable
from rememberd.store.oauth import StoredRequest
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

LIFE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Pending:
    """What the consent page shows."""

    id: str
    request: AuthorizationRequest
    client: Client
    answer: str | None  #: where the browser was sent, once it was decided


@dataclass(frozen=True, slots=True)
class Choice:
    """A vault that the person may pick, and how far their role reaches in it."""

    vault: Vault
    organization: str
    project: str | None
    role: Role


class Consents:
    def __init__(
        self, store: Store, clock: Clock, clients: Clients, grants: Grants, issuer: str
    ) -> None:
        self._store = store
        self._clock = clock
        self._clients = clients
        self._grants = grants
        self._issuer = issuer

    async def begin(self, browser: Browser, request: AuthorizationRequest) -> str:
        """Keep a checked request for this browser; returns its id."""
        now = self._clock.now()
        stored = StoredRequest(
            self._clock.new_id("arq"),
            browser.session.digest,
            request.to_dict(),
            now,
            now + LIFE,
            None,
        )
        await self._store.control.write(lambda tx: oauth.add_request(tx, stored))
        return stored.id

    async def pending(self, browser: Browser, request_id: str) -> Pending:
        """Raises NotFound for another browser's request, an unknown or an old one."""
        stored = await self._store.control.read(lambda tx: oauth.request(tx, request_id))
        now = self._clock.now()
        if (
            stored is None
            or stored.session_digest != browser.session.digest
            or stored.expires_at <= now
        ):
            raise _expired()
        request = AuthorizationRequest.from_dict(stored.request)
        requester = browser.account.id if browser.account else ""
        client = await self._clients.resolve(request.client_id, requester)
        return Pending(stored.id, request, client, self._answer(stored, request))

    def _answer(self, stored: StoredRequest, request: AuthorizationRequest) -> str | None:
        match stored.answer:
            case None:
                return None
            case "approved":
                return with_code(request, self._grants.code_for(stored.id), self._issuer)
            case _:
                return denied(request, self._issuer)

    async def choices(self, account: Account) -> list[Choice]:
        """The vaults that this account may connect an app to."""
        return await choices(self._store, account)

    async def approve(
        self,
        browser: Browser,
        account: Account,
        request_id: str,
        vault_id: str,
        scopes: frozenset[str],
    ) -> str:
        """Make the grant; returns where to send the browser.

        Raises InvalidInput for a vault that is not this account's, without any scope, and for more
        than its role allows.
        """
        pending = await self.pending(browser, request_id)
        if pending.answer is not None:
            return pending.answer
        if not scopes:
            raise InvalidInput("Tick at least one thing that the app may do.", field="scope")
        request = pending.request
        approved = Approved(
            account.id,
            pending.client,
            vault_id,
            request.resource,
            scopes,
            request.redirect_uri,
            request.redirect_in_request,
            request.challenge,
            pending.client.metadata.get("digest"),
        )

        def settle(tx: Transaction) -> StoredRequest | None:
            if tx.run("answer_request", id=request_id, answer="approved"):
                _check(tx, approved)
                self._grants.approve(tx, approved, self._grants.code_for(request_id))
            return oauth.request(tx, request_id)

        return self._settled(await self._store.control.write(settle), request)

    async def deny(self, browser: Browser, request_id: str) -> str:
        """Returns where to send the browser with the refusal."""
        pending = await self.pending(browser, request_id)
        if pending.answer is not None:
            return pending.answer

        def settle(tx: Transaction) -> StoredRequest | None:
            if tx.run("answer_request", id=request_id, answer="denied"):
                self._record_denial(tx, browser, pending.client)
            return oauth.request(tx, request_id)

        return self._settled(await self._store.control.write(settle), pending.request)

    def _record_denial(self, tx: Transaction, browser: Browser, client: Client) -> None:
        who = browser.account.id if browser.account else "somebody"
        now = self._clock.now()
        ledger.record(tx, actor=who, action="consent.denied", subject=client.id, detail={}, now=now)

    def _settled(self, stored: StoredRequest | None, request: AuthorizationRequest) -> str:
        """Of two clicks at once the first one's answer counts for both. Raises NotFound."""
        answer = self._answer(stored, request) if stored else None
        if answer is None:
            raise _expired()
        return answer


def _expired() -> NotFound:
    return NotFound("This request has expired. Start again in the app you came from.")


async def choices(store: Store, account: Account) -> list[Choice]:
    """Every vault this account has a role in."""
    return await store.control.read(lambda tx: _choices(tx, account.id))


def _choices(tx: Transaction, account_id: str) -> list[Choice]:
    found = accounts.reachable_vaults(tx, account_id)
    return [choice for reachable in found if (choice := _choice(reachable))]


def _choice(reachable: Reachable) -> Choice | None:
    role = roles.role_in_vault(
        reachable.vault.kind,
        is_own=reachable.is_own,
        organization_role=reachable.organization_role,
        project_role=reachable.project_role,
    )
    if role is None:
        return None
    return Choice(reachable.vault, reachable.organization, reachable.project, role)


def _check(tx: Transaction, approved: Approved) -> None:
    """Where the grant is made: the page may have been open while a role or a vault changed."""
    for choice in _choices(tx, approved.account_id):
        if choice.vault.id != approved.vault_id:
            continue
        if approved.scopes - roles.scopes_of(choice.role):
            raise InvalidInput(
                f"As {choice.role} of this vault you cannot allow that much. It was unticked: look "
                "the rest over and send it again.",
                field="scope",
            )
        return
    raise InvalidInput("You cannot open that vault. Pick another one.", field="vault")
