"""Opens SQLite databases, encrypted or not, in one of three modes, and checks them before use.

A connection made here is the last wall: `ro` cannot write, `record` can only add to the ledger, and
neither can ATTACH or VACUUM INTO. A damaged or missing file is reported, never replaced.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from rememberd.errors import (
    DatabaseCorrupt,
    DatabaseMissing,
    DatabaseTruncated,
    EngineTooOld,
    ForeignDatabase,
    ReadOnly,
    StorageError,
    WrongKey,
)
from rememberd.model import Mode

APPLICATION_ID = 0x52454D42  # "REMB"
PAGE_SIZE = 4096
LEDGER = frozenset({"usage", "audit"})
BUSY_MS = 10_000

# Releases without the WAL-reset bug, which loses acknowledged writes: https://sqlite.org/wal.html
_FIXED = {(3, 44): 6, (3, 50): 7}
_FIXED_SINCE = (3, 51, 3)

_ALWAYS = frozenset(
    {
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_RECURSIVE,
        apsw.SQLITE_TRANSACTION,
        apsw.SQLITE_SAVEPOINT,
    }
)

_HARMLESS = frozenset({"data_version", "quick_check"})  # FTS5 asks for the first, doctor the other


def check_engine(version: str | None = None) -> None:
    """Refuse a SQLite that can lose acknowledged writes. Raises EngineTooOld."""
    parts = tuple(int(part) for part in (version or apsw.sqlite_lib_version()).split("."))
    if parts >= _FIXED_SINCE or (
        parts[:2] in _FIXED and len(parts) > 2 and parts[2] >= _FIXED[parts[:2]]
    ):
        return
    raise EngineTooOld(
        f"SQLite {'.'.join(map(str, parts))} can lose acknowledged writes in WAL mode. "
        "Install apsw-sqlite3mc 3.54 or newer."
    )


def engine_version() -> str:
    """For people: which SQLite this is."""
    cipher = getattr(apsw, "mc_version", "no encryption")
    return f"SQLite {apsw.sqlite_lib_version()}, {cipher}"


def connect(path: Path, key: bytes | None, mode: Mode, *, create: bool = False) -> apsw.Connection:
    """Open `path` in `mode`; `key` is 32 bytes or None for a plain database.

    Does not look at what the file holds: `check` does, once per database.
    """
    if mode == "ro":
        flags = apsw.SQLITE_OPEN_READONLY
    else:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        connection = apsw.Connection(str(path), flags=flags)
    except apsw.CantOpenError as error:
        raise DatabaseMissing(f"{path.name} does not exist or cannot be opened.") from error
    _unlock(connection, key)
    connection.set_busy_timeout(BUSY_MS)
    if create:
        connection.pragma("page_size", PAGE_SIZE)
    for name, value in (
        ("temp_store", "memory"),
        ("secure_delete", "on"),
        ("synchronous", "full"),
        ("fullfsync", "on"),  # macOS: fsync alone does not reach the disk
        ("checkpoint_fullfsync", "on"),
        ("foreign_keys", "on"),
        ("trusted_schema", "off"),
    ):
        connection.pragma(name, value)
    if mode != "rw":
        connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        connection.authorizer = _Authorizer(LEDGER if mode == "record" else frozenset())
    return connection


def _unlock(connection: apsw.Connection, key: bytes | None) -> None:
    if key is None:
        return
    if len(key) != 32:
        # The engine takes a malformed raw key without a word, and encrypts with something else.
        raise WrongKey("A database key must have 32 bytes.")
    connection.execute(f"PRAGMA key = 'raw:{key.hex()}'").fetchall()


class _Authorizer:
    """Lets reads through, and inserts into the tables named; everything else is denied."""

    def __init__(self, tables: frozenset[str]) -> None:
        self._tables = tables

    def __call__(
        self, operation: int, one: str | None, two: str | None, db: str | None, trigger: str | None
    ) -> int:
        if operation in _ALWAYS:
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_INSERT and one in self._tables:
            return apsw.SQLITE_OK
        if operation == apsw.SQLITE_PRAGMA and one in _HARMLESS:
            return apsw.SQLITE_OK
        return apsw.SQLITE_DENY


def check(path: Path, connection: apsw.Connection, key: bytes | None) -> None:
    """Is this file a whole database of ours that opens with this key?

    Raises DatabaseTruncated, WrongKey, ForeignDatabase or DatabaseCorrupt, each saying what to do.
    """
    size = path.stat().st_size  # stat does not open the file, so no lock of ours is dropped
    if size == 0 or size % 512:
        raise DatabaseTruncated(f"{path.name} has {size} bytes: it was cut off. Restore a backup.")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        application = int(connection.pragma("application_id"))
    except apsw.NotADBError:
        if key is not None and _opens_plain(path):
            raise ForeignDatabase(f"{path.name} is a plain SQLite file, not a vault.") from None
        raise WrongKey(
            f"{path.name} does not open with the key held for it: the file belongs to another "
            "vault or installation, or its first page is damaged."
        ) from None
    except apsw.CorruptError:
        raise _damage(path, connection) from None
    if application != APPLICATION_ID:
        raise ForeignDatabase(f"{path.name} is a database of another program.")


def _damage(path: Path, connection: apsw.Connection) -> StorageError:
    """Tell a cut-off file from a damaged one: a cut-off one still opens when told to forgive it."""
    try:
        connection.pragma("writable_schema", "on")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error:
        return DatabaseCorrupt(f"{path.name} is damaged. Restore it from a backup.")
    finally:
        connection.pragma("writable_schema", "off")
    return DatabaseTruncated(f"{path.name} is shorter than its header says. Restore a backup.")


def _opens_plain(path: Path) -> bool:
    try:
        probe = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return False
    try:
        probe.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error:
        return False
    else:
        return True
    finally:
        probe.close()


@contextmanager
def translated() -> Generator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except (apsw.ReadOnlyError, apsw.AuthError) as error:
        raise ReadOnly from error
    except apsw.SQLError as error:
        if any(
            word in str(error) for word in ("attached databases", "not authorized", "cannot VACUUM")
        ):
            raise ReadOnly from error
        raise StorageError(f"The database refused a statement ({type(error).__name__}).") from error
    except apsw.CorruptError as error:
        raise DatabaseCorrupt from error
    except apsw.NotADBError as error:
        raise WrongKey from error
    except apsw.FullError as error:
        raise StorageError("The disk is full; nothing was stored.") from error
    except apsw.Error as error:
        raise StorageError(f"The database failed ({type(error).__name__}).") from error
