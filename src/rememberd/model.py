"""The things rememberd talks about, as frozen values; no behaviour that needs a database.

Times are aware UTC. Tokens of text are counted by `count_tokens` everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

Tier = Literal[1, 2, 3]
Mode = Literal["ro", "record", "rw"]
Role = Literal["owner", "editor", "reader"]

READ = "memories:read"
WRITE = "memories:write"
DELETE = "memories:delete"
REFLECT = "memories:reflect"
SCOPES = (READ, WRITE, DELETE, REFLECT)


def count_tokens(text: str) -> int:
    """Tokens of text: characters divided by four, rounded up."""
    return -(-len(text) // 4)


class Source(StrEnum):
    """Who vouches for a memory."""

    USER_STATED = "user_stated"
    AGENT_INFERRED = "agent_inferred"
    THIRD_PARTY = "third_party"


class VaultKind(StrEnum):
    PERSONAL = "personal"
    PROJECT = "project"
    ORGANIZATION = "organization"
    PARTITION = "partition"


class VaultStatus(StrEnum):
    """Where a vault is in its life; only `ready` takes calls."""

    CREATING = "creating"
    READY = "ready"
    ERASING = "erasing"
    ERASED = "erased"


@dataclass(frozen=True, kw_only=True, slots=True)
class Organization:
    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    id: str
    organization_id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Vault:
    """One row of the registry: what control knows of a vault."""

    id: str
    organization_id: str
    project_id: str | None
    account_id: str | None
    kind: VaultKind
    name: str
    status: VaultStatus
    generation: int  #: counts forget-alls; part of the file's name
    created_at: datetime
    erased_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A long-lived credential for one vault. The secret itself is never stored."""

    id: str
    vault_id: str
    name: str
    hint: str  #: the first characters, to tell keys apart
    scopes: frozenset[str]
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A person who signs in."""

    id: str
    email: str
    name: str
    created_at: datetime
    has_password: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """An OAuth client: registered here (RFC 7591), or described by the document at its id."""

    id: str
    kind: Literal["registered", "document"]
    name: str  #: as the client says; never verified
    redirect_uris: tuple[str, ...]
    auth_method: str
    created_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    secret_digest: bytes | None = None
    jwks: dict[str, Any] | None = None
    jwks_uri: str | None = None
    fetched_at: datetime | None = None
    stale_at: datetime | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """What one account lets one client do in one vault. The vault never changes."""

    id: str
    account_id: str
    client_id: str
    client_name: str
    vault_id: str
    resource: str
    scopes: frozenset[str]
    redirect_uri: str
    created_at: datetime
    expires_at: datetime
    vault_name: str = ""
    document_digest: str | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_why: str | None = None

    def ended_at(self, now: datetime) -> datetime | None:
        """When it was revoked or ran out; None while it lives."""
        return self.revoked_at or (self.expires_at if self.expires_at <= now else None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """Who is asking, through what, in which vault, and how far that reaches."""

    vault_id: str
    scopes: frozenset[str]
    client: str  #: id of the key or OAuth client the call came through
    account_id: str | None = None
    client_name: str | None = None
    role: Role = "owner"  #: of the account behind it; keys are made by owners
    grant_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """One stored statement with its provenance."""

    id: str
    seq: int  #: order of arrival within the vault
    tier: Tier
    text: str
    tokens: int
    source: Source
    created_at: datetime
    occurred_at: datetime | None = None
    until: datetime | None = None  #: a reflection spans `occurred_at` to `until`
    importance: int | None = None
    tags: tuple[str, ...] = ()
    source_context: str | None = None
    app: str | None = None  #: the client it came through
    consolidated_at: datetime | None = None
    superseded_by: str | None = None
    valid_until: datetime | None = None
    lost_sources: int = 0  #: how many memories it was built from were deleted since

    @property
    def at(self) -> datetime:
        """The time that date search sorts by."""
        return self.occurred_at or self.created_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A memory before it is stored; the store gives it id, time and place."""

    text: str
    tier: Tier = 1
    source: Source = Source.AGENT_INFERRED
    occurred_at: datetime | None = None
    until: datetime | None = None
    importance: int | None = None
    tags: tuple[str, ...] = ()
    source_context: str | None = None
    app: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Which memories a search may answer with. `since` is inclusive, `before` exclusive."""

    tiers: frozenset[int] = frozenset({1, 2, 3})
    importance: int | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Memories checked out for reflection, held until `expires_at`."""

    id: str
    tier: Tier
    expires_at: datetime
    memories: tuple[Memory, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TierDebt:
    """Unconsolidated material of one tier."""

    memories: int = 0
    tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class VaultStats:
    memories: int
    tokens: int
    pending: int  #: memories without a vector of the current model
    by_tier: dict[int, int] = field(default_factory=dict[int, int])
    debt: dict[int, TierDebt] = field(default_factory=dict[int, TierDebt])


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """Proof of an erasure: what was there, what is left, and which keys were destroyed."""

    id: str
    vault_id: str
    kind: Literal["forget_all", "erase"]
    issued_at: datetime
    memories_before: int | None  #: None when the file could not be read any more
    mirror_before: int | None  #: rows of text index and vectors
    memories_after: int
    mirror_after: int
    key_versions_destroyed: tuple[int, ...]
    exported_key_versions: tuple[int, ...]  #: versions that an earlier `keys export` still holds
    audit_head: str  #: last hash of the vault's audit chain
