"""The authorization server, put together: everything behind sign-in, consent and tokens, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rememberd.auth.access import Access
from rememberd.auth.accounts import Accounts
from rememberd.auth.clients import Clients
from rememberd.auth.consents import Consents
from rememberd.auth.fetch import Network
from rememberd.auth.grants import Grants, Lifetimes
from rememberd.auth.members import Members
from rememberd.auth.passkeys import Passkeys, RelyingParty
from rememberd.auth.passwords import Passwords
from rememberd.auth.principals import Keys
from rememberd.auth.sessions import Sessions
from rememberd.clock import Clock
from rememberd.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthOptions:
    """What the settings say about signing in."""

    issuer: str  #: the public URL: one string, no slash at its end
    paths: Sequence[str]  #: of the MCP mounts; the first one is meant when none is named
    lifetimes: Lifetimes
    documents: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthorizationServer:
    """Its parts, for endpoints and pages to use."""

    options: AuthOptions
    keys: Keys
    access: Access
    accounts: Accounts
    members: Members
    sessions: Sessions
    passkeys: Passkeys
    clients: Clients
    grants: Grants
    consents: Consents

    @property
    def resources(self) -> dict[str, str]:
        """Every resource that tokens can be for; under the empty name the default one."""
        issuer, paths = self.options.issuer, self.options.paths
        served = {issuer + path: issuer + path for path in paths}
        return served | {"": issuer + paths[0]}

    @classmethod
    def assemble(
        cls,
        store: Store,
        clock: Clock,
        keys: Keys,
        options: AuthOptions,
        network: Network | None = None,
    ) -> AuthorizationServer:
        derive = store.keyring.derive
        sessions = Sessions(store, clock, derive("form tokens"))
        clients = Clients.assemble(
            store, clock, options.issuer, network, documents=options.documents
        )
        grants = Grants(store, clock, derive("refresh tokens"), options.lifetimes)
        return cls(
            options=options,
            keys=keys,
            access=Access(store, clock, keys),
            accounts=Accounts(store, clock, Passwords()),
            members=Members(store, clock),
            sessions=sessions,
            passkeys=Passkeys(store, sessions, clock, RelyingParty.of(options.issuer)),
            clients=clients,
            grants=grants,
            consents=Consents(store, clock, clients, grants, options.issuer),
        )
