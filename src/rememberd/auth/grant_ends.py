"""Ends grants, and says why in the audit chain. For whoever changes what a grant stands on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from rememberd.auth import roles
from rememberd.model import Grant, Role
from rememberd.store import ledger, oauth
from rememberd.store.transaction import Transaction


def revoke_stranded(
    tx: Transaction, account_id: str, *, why: str, actor: str, now: datetime
) -> None:
    """End each grant that no role stands behind any more, or it would come back to life, without
    consent, if its account were let in again. That a vault is closed for the moment ends nothing.
    """
    for grant in oauth.grants_of(tx, account_id):
        standing = oauth.standing(tx, grant.id)
        if standing is None or roles.role_of(replace(standing, is_open=True)) is None:
            end(tx, grant, why=why, actor=actor, now=now)


def end(tx: Transaction, grant: Grant, *, why: str, actor: str, now: datetime) -> None:
    if oauth.revoke_grant(tx, grant.id, why, now):
        record(tx, actor, "grant.revoked", grant, now, why=why)


def record(
    tx: Transaction, actor: str, action: str, grant: Grant, now: datetime, **more: object
) -> None:
    ledger.record(
        tx,
        actor=actor,
        action=action,
        subject=grant.id,
        detail={"client": grant.client_id, "vault": grant.vault_id, **more},
        now=now,
    )


def role_behind(tx: Transaction, grant_id: str) -> Role | None:
    """Of the account behind a grant, in its vault, today. A client whose tokens open nothing has to
    learn it here, or it would refresh, fail and refresh again.
    """
    standing = oauth.standing(tx, grant_id)
    return roles.role_of(standing) if standing else None
