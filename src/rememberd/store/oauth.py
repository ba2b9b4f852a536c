"""Rows of the authorization server: clients, requests, codes, grants, tokens.

Functions take an open transaction of control. Codes and tokens pass through here as hashes alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from rememberd.clock import from_micros, to_micros
from rememberd.errors import NotFound
from rememberd.model import Client, Grant, Role, VaultKind, VaultStatus
from rememberd.store.transaction import Row, Transaction

NEVER_USED_LIFE = timedelta(hours=24)  # of a client that nobody ever let in

# --- clients -----------------------------------------------------------------------------------


def put_client(tx: Transaction, client: Client) -> None:
    """Add a client, or take over what its document says now."""
    tx.run(
        "put_client",
        id=client.id,
        kind=client.kind,
        name=client.name,
        redirect_uris=json.dumps(client.redirect_uris),
        auth_method=client.auth_method,
        secret_digest=client.secret_digest,
        jwks=json.dumps(client.jwks) if client.jwks else None,
        jwks_uri=client.jwks_uri,
        metadata=json.dumps(client.metadata),
        created_at=to_micros(client.created_at),
        fetched_at=to_micros(client.fetched_at) if client.fetched_at else None,
        stale_at=to_micros(client.stale_at) if client.stale_at else None,
    )


def client(tx: Transaction, client_id: str) -> Client | None:
    row = tx.one("client", id=client_id)
    if row is None:
        return None
    return Client(
        id=row["id"],
        kind=row["kind"],
        name=row["name"],
        redirect_uris=tuple(json.loads(row["redirect_uris"])),
        auth_method=row["auth_method"],
        secret_digest=bytes(row["secret_digest"]) if row["secret_digest"] else None,
        jwks=json.loads(row["jwks"]) if row["jwks"] else None,
        jwks_uri=row["jwks_uri"],
        metadata=json.loads(row["metadata"]),
        created_at=from_micros(row["created_at"]),
        fetched_at=_when(row["fetched_at"]),
        stale_at=_when(row["stale_at"]),
        used_at=_when(row["used_at"]),
    )


def make_room_for_client(tx: Transaction, most_never_used: int, now: datetime) -> None:
    """Drop registrations that were never used: the expired, and the oldest over the bound."""
    tx.run("expire_clients", before=to_micros(now - NEVER_USED_LIFE))
    over = int(tx.value("count_never_used")) - most_never_used + 1
    if over > 0:
        tx.run("drop_oldest_never_used", count=over)


# --- authorization requests --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """`answer`: `approved` or `denied`, once the person has decided."""

    id: str
    session_digest: bytes
    request: dict[str, Any]
    created_at: datetime
    expires_at: datetime
    answer: str | None


def add_request(tx: Transaction, stored: StoredRequest) -> None:
    tx.run(
        "add_request",
        id=stored.id,
        session_digest=stored.session_digest,
        request=json.dumps(stored.request),
        created_at=to_micros(stored.created_at),
        expires_at=to_micros(stored.expires_at),
    )


def request(tx: Transaction, request_id: str) -> StoredRequest | None:
    row = tx.one("request", id=request_id)
    if row is None:
        return None
    return StoredRequest(
        row["id"],
        bytes(row["session_digest"]),
        json.loads(row["request"]),
        from_micros(row["created_at"]),
        from_micros(row["expires_at"]),
        row["answer"],
    )


# --- grants ------------------------------------------------------------------------------------


def add_grant(tx: Transaction, grant: Grant) -> None:
    tx.run(
        "add_grant",
        id=grant.id,
        account_id=grant.account_id,
        client_id=grant.client_id,
        client_name=grant.client_name,
        vault_id=grant.vault_id,
        resource=grant.resource,
        scopes=" ".join(sorted(grant.scopes)),
        redirect_uri=grant.redirect_uri,
        document_digest=grant.document_digest,
        created_at=to_micros(grant.created_at),
        expires_at=to_micros(grant.expires_at),
    )


def grant(tx: Transaction, grant_id: str) -> Grant:
    """Raises NotFound."""
    row = tx.one("grant", id=grant_id)
    if row is None:
        raise NotFound("There is no such connection.")
    return _grant(row)


def grants_of(tx: Transaction, account_id: str) -> list[Grant]:
    """Live ones first, newest first."""
    return [_grant(row) for row in tx.all("grants_of_account", account_id=account_id)]


def _grant(row: Row) -> Grant:
    return Grant(
        id=row["id"],
        account_id=row["account_id"],
        client_id=row["client_id"],
        client_name=row["client_name"],
        vault_id=row["vault_id"],
        vault_name=row["vault_name"],
        resource=row["resource"],
        scopes=frozenset(row["scopes"].split()),
        redirect_uri=row["redirect_uri"],
        document_digest=row["document_digest"],
        created_at=from_micros(row["created_at"]),
        last_used_at=_when(row["last_used_at"]),
        expires_at=from_micros(row["expires_at"]),
        revoked_at=_when(row["revoked_at"]),
        revoked_why=row["revoked_why"],
    )


def set_grant_scopes(tx: Transaction, grant_id: str, scopes: frozenset[str]) -> bool:
    return bool(tx.run("set_grant_scopes", id=grant_id, scopes=" ".join(sorted(scopes))))


def revoke_grant(tx: Transaction, grant_id: str, why: str, now: datetime) -> bool:
    """Also drops its access tokens. False when it was revoked before."""
    done = tx.run("revoke_grant", id=grant_id, at=to_micros(now), why=why)
    tx.run("drop_access_tokens", grant_id=grant_id)
    return bool(done)


# --- codes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Code:
    digest: bytes
    grant_id: str
    client_id: str
    redirect_uri: str | None  #: as it stood in the request; None when it was left out
    challenge: str
    expires_at: datetime
    used_at: datetime | None = None


def add_code(tx: Transaction, code: Code) -> None:
    tx.run(
        "add_code",
        digest=code.digest,
        grant_id=code.grant_id,
        client_id=code.client_id,
        redirect_uri=code.redirect_uri,
        challenge=code.challenge,
        expires_at=to_micros(code.expires_at),
    )


def code(tx: Transaction, digest: bytes) -> Code | None:
    row = tx.one("code", digest=digest)
    if row is None:
        return None
    return Code(
        bytes(row["digest"]),
        row["grant_id"],
        row["client_id"],
        row["redirect_uri"],
        row["challenge"],
        from_micros(row["expires_at"]),
        _when(row["used_at"]),
    )


# --- tokens ------------------------------------------------------------------------------------


def add_access_token(
    tx: Transaction, digest: bytes, grant_id: str, scopes: frozenset[str] | None, until: datetime
) -> None:
    """`scopes` None: whatever the grant allows when the token is used."""
    tx.run(
        "add_access_token",
        digest=digest,
        grant_id=grant_id,
        scopes=None if scopes is None else " ".join(sorted(scopes)),
        expires_at=to_micros(until),
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """Of the account behind a grant, in the grant's vault, today. `is_open`: the vault takes calls
    and the account is not disabled.
    """

    is_open: bool
    kind: VaultKind
    is_own: bool
    organization_role: Role | None
    project_role: Role | None


def standing(tx: Transaction, grant_id: str) -> Standing | None:
    row = tx.one("standing", grant_id=grant_id)
    return _standing(row) if row else None


def _standing(row: Row) -> Standing:
    return Standing(
        is_open=row["disabled_at"] is None and row["status"] == VaultStatus.READY,
        kind=VaultKind(row["kind"]),
        is_own=row["vault_account_id"] == row["account_id"],
        organization_role=cast("Role | None", row["organization_role"]),
        project_role=cast("Role | None", row["project_role"]),
    )


@dataclass(frozen=True, slots=True)
class TokenMatch:
    """What a presented access token names, and everything that decides how far it reaches."""

    grant_id: str
    account_id: str
    client_id: str
    client_name: str
    vault_id: str
    resource: str
    scopes: frozenset[str]  #: token ∩ grant
    is_live: bool
    standing: Standing


def match_access_token(tx: Transaction, digest: bytes, now: datetime) -> TokenMatch | None:
    """One look-up by hash."""
    row = tx.one("access_token", digest=digest)
    if row is None:
        return None
    at = to_micros(now)
    scopes = frozenset(row["scopes"].split())
    if row["token_scopes"] is not None:
        scopes &= frozenset(row["token_scopes"].split())
    return TokenMatch(
        grant_id=row["grant_id"],
        account_id=row["account_id"],
        client_id=row["client_id"],
        client_name=row["client_name"],
        vault_id=row["vault_id"],
        resource=row["resource"],
        scopes=scopes,
        is_live=row["revoked_at"] is None and at < min(row["token_expires_at"], row["expires_at"]),
        standing=_standing(row),
    )


@dataclass(frozen=True, slots=True)
class RefreshMatch:
    """A presented refresh token's place in the chain of its grant."""

    grant_id: str
    client_id: str
    resource: str
    scopes: frozenset[str]  #: of the grant, today
    told: frozenset[str]  #: that came with this token
    is_narrowed: bool  #: its client had asked for less
    place: int
    newest_place: int
    rotated_at: datetime | None
    expires_at: datetime
    grant_expires_at: datetime
    is_revoked: bool


def match_refresh_token(tx: Transaction, digest: bytes) -> RefreshMatch | None:
    row = tx.one("refresh_token", digest=digest)
    if row is None:
        return None
    return RefreshMatch(
        grant_id=row["grant_id"],
        client_id=row["client_id"],
        resource=row["resource"],
        scopes=frozenset(row["scopes"].split()),
        told=frozenset(row["told"].split()),
        is_narrowed=bool(row["narrowed"]),
        place=row["place"],
        newest_place=row["newest_place"],
        rotated_at=_when(row["rotated_at"]),
        expires_at=from_micros(row["expires_at"]),
        grant_expires_at=from_micros(row["grant_expires_at"]),
        is_revoked=row["revoked_at"] is not None,
    )


def add_refresh_token(
    tx: Transaction,
    digest: bytes,
    grant_id: str,
    place: int,
    until: datetime,
    *,
    told: frozenset[str],
    narrowed: bool,
) -> None:
    tx.run(
        "add_refresh_token",
        digest=digest,
        grant_id=grant_id,
        place=place,
        told=" ".join(sorted(told)),
        narrowed=int(narrowed),
        expires_at=to_micros(until),
    )


def expire(tx: Transaction, now: datetime, kept_since: datetime) -> None:
    """Drop what has ended. Codes and tokens are kept a while longer, so that a replay of one is
    still recognised as such.
    """
    tx.run("expire_clients", before=to_micros(now - NEVER_USED_LIFE))
    tx.run("expire_requests", now=to_micros(now))
    tx.run("expire_sessions", now=to_micros(now))
    tx.run("expire_assertions", now=to_micros(now))
    for name in ("expire_codes", "expire_access_tokens", "expire_refresh_tokens"):
        tx.run(name, before=to_micros(kept_since))


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
