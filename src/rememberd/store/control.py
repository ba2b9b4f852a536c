"""Rows of the control database: organizations, projects, the vault registry, keys, usage.

Functions take an open transaction of control. No memory text passes through here.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from rememberd.clock import Clock, from_micros, isoformat, to_micros
from rememberd.errors import Conflict, NotFound
from rememberd.model import (
    Certificate,
    Key,
    Organization,
    Project,
    Vault,
    VaultKind,
    VaultStatus,
)
from rememberd.store.ledger import Delta
from rememberd.store.transaction import Row, Transaction

LOCAL = "local"  #: the organization that vaults belong to before anyone has signed in


# --- organizations and projects ----------------------------------------------------------------


def local_organization(tx: Transaction, clock: Clock) -> Organization:
    """The organization `local`, made when it is first needed."""
    row = tx.one("organization_by_name", name=LOCAL)
    if row is None:
        tx.run(
            "add_organization",
            id=clock.new_id("org"),
            name=LOCAL,
            created_at=to_micros(clock.now()),
        )
        return local_organization(tx, clock)
    return _organization(row)


def organizations(tx: Transaction) -> list[Organization]:
    return [_organization(row) for row in tx.all("organizations")]


def _organization(row: Row) -> Organization:
    return Organization(id=row["id"], name=row["name"], created_at=from_micros(row["created_at"]))


def add_project(tx: Transaction, organization_id: str, name: str, clock: Clock) -> Project:
    """Raises Conflict when the organization has a project of this name."""
    if tx.one("project_by_name", organization_id=organization_id, name=name):
        raise Conflict(f"A project named {name!r} exists already.")
    project = Project(
        id=clock.new_id("prj"),
        organization_id=organization_id,
        name=name,
        created_at=clock.now(),
    )
    tx.run(
        "add_project",
        id=project.id,
        organization_id=organization_id,
        name=name,
        created_at=to_micros(project.created_at),
    )
    return project


def project_named(tx: Transaction, organization_id: str, name: str) -> Project:
    """Raises NotFound."""
    row = tx.one("project_by_name", organization_id=organization_id, name=name)
    if row is None:
        raise NotFound(f"There is no project named {name!r}. See `rememberd project list`.")
    return _project(row)


def projects(tx: Transaction) -> list[Project]:
    return [_project(row) for row in tx.all("projects")]


def _project(row: Row) -> Project:
    return Project(
        id=row["id"],
        organization_id=row["organization_id"],
        name=row["name"],
        created_at=from_micros(row["created_at"]),
    )


# --- the vault registry ------------------------------------------------------------------------


def add_vault(
    tx: Transaction,
    organization_id: str,
    name: str,
    kind: VaultKind,
    clock: Clock,
    project_id: str | None = None,
    account_id: str | None = None,
) -> Vault:
    """Enter a vault as `creating`. Raises Conflict when its owner has one of this name."""
    owner = {"organization_id": organization_id, "account_id": account_id}
    if tx.one("vault_by_owner", name=name, **owner):
        raise Conflict(f"A vault named {name!r} exists already.")
    vault_id = clock.new_id("vlt")
    tx.run(
        "add_vault",
        id=vault_id,
        organization_id=organization_id,
        project_id=project_id,
        account_id=account_id,
        kind=str(kind),
        name=name,
        created_at=to_micros(clock.now()),
    )
    return vault(tx, vault_id)


def vault(tx: Transaction, vault_id: str) -> Vault:
    """Raises NotFound."""
    return with_pending(tx, vault_id).vault


def vault_named(tx: Transaction, organization_id: str, name: str) -> Vault:
    """Raises NotFound, or Conflict when several people have a vault of this name."""
    rows = tx.all("vault_by_name", organization_id=organization_id, name=name)
    if not rows:
        raise NotFound(f"There is no vault named {name!r}. See `rememberd vault list`.")
    if len(rows) > 1:
        raise Conflict(f"{len(rows)} vaults are named {name!r}: say the ref of the one you mean.")
    return vault_from_row(rows[0])


def vaults(tx: Transaction) -> list[Vault]:
    return [vault_from_row(row) for row in tx.all("vaults")]


def vault_from_row(row: Row) -> Vault:
    erased = row["erased_at"]
    return Vault(
        id=row["id"],
        organization_id=row["organization_id"],
        project_id=row["project_id"],
        account_id=row["account_id"],
        kind=VaultKind(row["kind"]),
        name=row["name"],
        status=VaultStatus(row["status"]),
        generation=row["generation"],
        created_at=from_micros(row["created_at"]),
        erased_at=from_micros(erased) if erased is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A vault whose life-cycle step was cut short, and what the step had noted."""

    vault: Vault
    pending: dict[str, Any] | None


def unfinished(tx: Transaction) -> list[Unfinished]:
    return [_unfinished(row) for row in tx.all("unfinished_vaults")]


def with_pending(tx: Transaction, vault_id: str) -> Unfinished:
    """One vault and what is noted for it, if anything. Raises NotFound."""
    row = tx.one("vault", id=vault_id)
    if row is None:
        raise NotFound("There is no such vault.")
    return _unfinished(row)


def _unfinished(row: Row) -> Unfinished:
    return Unfinished(vault_from_row(row), json.loads(row["pending"]) if row["pending"] else None)


def dirty_vaults(tx: Transaction) -> list[str]:
    """Vaults that may hold work for the worker."""
    return [row[0] for row in tx.tuples("dirty_vaults")]


# --- certificates ------------------------------------------------------------------------------


def add_certificate(tx: Transaction, certificate: Certificate) -> None:
    body = asdict(certificate) | {"issued_at": isoformat(certificate.issued_at)}
    tx.run(
        "add_certificate",
        id=certificate.id,
        vault_id=certificate.vault_id,
        issued_at=to_micros(certificate.issued_at),
        body=json.dumps(body),
    )


def certificate(tx: Transaction, certificate_id: str) -> dict[str, Any]:
    """The certificate as it was issued. Raises NotFound."""
    row = tx.one("certificate", id=certificate_id)
    if row is None:
        raise NotFound("There is no such certificate.")
    body: dict[str, Any] = json.loads(row["body"])
    return body


# --- keys --------------------------------------------------------------------------------------


def add_key(tx: Transaction, key: Key, digest: bytes) -> None:
    tx.run(
        "add_key",
        id=key.id,
        digest=digest,
        vault_id=key.vault_id,
        name=key.name,
        hint=key.hint,
        scopes=" ".join(sorted(key.scopes)),
        created_at=to_micros(key.created_at),
    )


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """What a presented key names; `usable` is False once revoked or its vault is gone."""

    id: str
    vault_id: str
    name: str
    scopes: frozenset[str]
    usable: bool


def match_key(tx: Transaction, digest: bytes) -> KeyMatch | None:
    """One indexed look-up by hash."""
    row = tx.one("key_by_digest", digest=digest)
    if row is None:
        return None
    return KeyMatch(
        id=row["id"],
        vault_id=row["vault_id"],
        name=row["name"],
        scopes=frozenset(row["scopes"].split()),
        usable=row["revoked_at"] is None and row["status"] == VaultStatus.READY,
    )


@dataclass(frozen=True, slots=True)
class ListedKey:
    key: Key
    vault_name: str


def keys(tx: Transaction) -> list[ListedKey]:
    return [_listed(row) for row in tx.all("keys")]


def revoke_key(tx: Transaction, key_id: str, now: datetime) -> ListedKey:
    """Revoke; revoking twice changes nothing. Raises NotFound."""
    tx.run("revoke_key", id=key_id, at=to_micros(now))
    row = tx.one("key", id=key_id)
    if row is None:
        raise NotFound(f"There is no key {key_id}. See `rememberd key list`.")
    return _listed(row)


def _listed(row: Row) -> ListedKey:
    used, revoked = row["last_used_at"], row["revoked_at"]
    key = Key(
        id=row["id"],
        vault_id=row["vault_id"],
        name=row["name"],
        hint=row["hint"],
        scopes=frozenset(row["scopes"].split()),
        created_at=from_micros(row["created_at"]),
        last_used_at=from_micros(used) if used is not None else None,
        revoked_at=from_micros(revoked) if revoked is not None else None,
    )
    return ListedKey(key, row["vault_name"])


# --- usage -------------------------------------------------------------------------------------


def rolled_up_to(tx: Transaction, vault_id: str) -> int:
    return tx.value("rolled_up_to", vault_id=vault_id) or 0


def roll_up(tx: Transaction, vault_id: str, deltas: list[Delta]) -> None:
    """Add a vault's usage; deltas that were added before are passed over."""
    done = rolled_up_to(tx, vault_id)
    for delta in deltas:
        if delta.seq > done:
            tx.run("add_usage", vault_id=vault_id, month=delta.month, tokens=delta.tokens)
            done = delta.seq
    tx.run("set_rolled_up_to", vault_id=vault_id, seq=done)


def usage_by_month(tx: Transaction, vault_id: str) -> dict[str, int]:
    return {row[0]: row[1] for row in tx.tuples("usage_months", vault_id=vault_id)}
