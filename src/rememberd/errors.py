"""Every error a caller can meet, in one tree.

The text of an error is written for a person: it names the field, the limit and the way out. It
never holds memory text, a token or a key. The edges (`http/problems.py`, `mcp/results.py`) map
classes to a status; nothing below them knows HTTP or MCP.
"""

from __future__ import annotations

from typing import ClassVar


class RememberdError(Exception):
    """Something went wrong in a way that rememberd foresaw."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())

    @property
    def message(self) -> str:
        return str(self.args[0])


# --- what a caller asked for -------------------------------------------------------------------


class InvalidInput(RememberdError):
    """A value is missing, malformed or over its limit."""

    code = "invalid_input"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFound(RememberdError):
    """There is no such thing here. What belongs to somebody else answers the same."""

    code = "not_found"


class Conflict(RememberdError):
    """The name is taken, or the thing is no longer in the state this call needs."""

    code = "conflict"


class LeaseLost(Conflict):
    """Some memories of this batch were checked out again or deleted after its lease ended."""

    code = "lease_lost"


class QuotaExceeded(RememberdError):
    """The vault's monthly token allowance is used up. Reads go on; nothing was stored."""

    code = "quota_exceeded"


class ConfirmationMissing(RememberdError):
    """Deletion was not performed: nothing was deleted."""

    code = "confirmation_missing"


# --- who asked ---------------------------------------------------------------------------------


class Unauthenticated(RememberdError):
    """No credential was sent, or it is unknown, expired or revoked."""

    code = "unauthenticated"


class Denied(RememberdError):
    """This credential does not reach that far."""

    code = "denied"


class ScopeMissing(Denied):
    """The credential lacks a scope that this call needs."""

    code = "insufficient_scope"

    def __init__(
        self, needed: str, granted: frozenset[str] = frozenset(), *, is_key: bool = False
    ) -> None:
        """A person approves scopes of a connection anew; a key keeps those it was made with."""
        if is_key:
            names = (scope.removeprefix("memories:") for scope in sorted({needed, *granted}))
            options = " ".join(f"--scope {name}" for name in names)
            what, way = "key", f"Use one that has it (`rememberd key create {options}` makes one)"
        else:
            what, way = "connection", f"Reconnect and approve {needed}"
        super().__init__(
            f"This {what} lacks the scope {needed}. Nothing was done. {way}; trying again without "
            "it does not help."
        )
        self.needed = needed
        self.granted = granted


class ReadOnly(Denied):
    """The vault is open for reading only; this write was refused by the storage layer."""

    code = "read_only"


class TooManyAttempts(RememberdError):
    """Too many attempts. Wait and try again."""

    code = "too_many_attempts"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


# --- models and other hosts --------------------------------------------------------------------


class EmbedderUnavailable(RememberdError):
    """The embedding model cannot be loaded. Search by words goes on."""

    code = "embedder_unavailable"


class UpstreamBusy(RememberdError):
    """A hosted embedder asked us to wait."""

    code = "upstream_busy"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


# --- the network -------------------------------------------------------------------------------


class AddressUnavailable(RememberdError):
    """The address or port to listen on cannot be had."""

    code = "address_unavailable"


# --- storage -----------------------------------------------------------------------------------


class StorageError(RememberdError):
    """A database could not be used as asked."""

    code = "storage_error"


class EngineTooOld(StorageError):
    """This SQLite can lose acknowledged writes (the WAL-reset bug, fixed in 3.51.3)."""

    code = "engine_too_old"


class DataDirectoryBusy(StorageError):
    """Another process owns this data directory."""

    code = "data_directory_busy"


class OwnerUnreachable(StorageError):
    """The process that owns this data directory does not answer."""

    code = "owner_unreachable"


class OutcomeUnknown(StorageError):
    """The connection broke after the request was sent: it may have been done, or not."""

    code = "outcome_unknown"


class UnsupportedFileSystem(StorageError):
    """The data directory is on a network file system, where SQLite's locks do not hold."""

    code = "unsupported_file_system"


class VaultUnavailable(StorageError):
    """The vault is being made or erased and takes no calls."""

    code = "vault_unavailable"


class DatabaseMissing(StorageError):
    """The database file does not exist. It is never silently replaced by an empty one."""

    code = "database_missing"


class DatabaseTruncated(StorageError):
    """The database file is empty or shorter than its header says. Restore it from a backup."""

    code = "database_truncated"


class WrongKey(StorageError):
    """The database does not open with the key that the key store holds for it."""

    code = "wrong_key"


class ForeignDatabase(StorageError):
    """The file is a database, but not the one that is expected here."""

    code = "foreign_database"


class DatabaseCorrupt(StorageError):
    """The database file is damaged. Restore it from a backup."""

    code = "database_corrupt"


class SchemaTooNew(StorageError):
    """The database was written by a newer rememberd. Upgrade this one."""

    code = "schema_too_new"


class MasterKeyProblem(StorageError):
    """The master key is missing, malformed, readable by others, or not that of this key store."""

    code = "master_key_problem"
