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
PAGE_SIZE = 2048  # measured: docs/decisions/page-size.md
_SMALLEST_PAGE = 512  # of any SQLite database
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

_MISSING = "{} does not exist. Restore it from a backup."
_TRUNCATED = "{} was cut off. Restore it from a backup."

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

    Does not look at what the file holds: `check` does, once per database and before this.
    """
    if mode == "ro":
        flags = apsw.SQLITE_OPEN_READONLY
    else:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = _open(path, key, flags)
    connection.set_busy_timeout(BUSY_MS)
    # Else a join is prepared anew for each value bound to it, in case another plan suits that one
    # better, which is two thirds of what a look-up costs (sqlite.org/queryplanner-ng.html, QPSG).
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
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


def _open(path: Path, key: bytes | None, flags: int) -> apsw.Connection:
    if key is not None and len(key) != 32:
        # The engine takes a malformed raw key without a word, and encrypts with something else.
        raise WrongKey("A database key must have 32 bytes.")
    try:
        connection = apsw.Connection(str(path), flags=flags)
    except apsw.CantOpenError as error:
        if not path.exists():
            raise DatabaseMissing(_MISSING.format(path.name)) from error
        raise StorageError(
            f"{path.name} cannot be opened: its permissions, or too many open files."
        ) from error
    if key is not None:
        connection.execute(f"PRAGMA key = 'raw:{key.hex()}'").fetchall()
    return connection


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


def check(path: Path, key: bytes | None) -> None:
    """Is this file a whole database of ours that opens with this key? Empties its log as well.

    Raises DatabaseMissing, DatabaseTruncated, WrongKey, ForeignDatabase or DatabaseCorrupt, each
    saying what to do. Nobody else may have the file open.
    """
    if not path.exists():
        raise DatabaseMissing(_MISSING.format(path.name))
    if path.stat().st_size < _SMALLEST_PAGE:  # SQLite would take it for a new database
        raise DatabaseTruncated(_TRUNCATED.format(path.name))
    # On a connection without any settings: some of them read the first page, and fail there.
    connection = _open(path, key, apsw.SQLITE_OPEN_READWRITE)
    try:
        _look(path, connection, key)
    finally:
        connection.close()
    # That was the only connection, so what an interrupted process left in the log is in the file
    # now, unless the disk is full. Only then can the length be judged.
    if path.stat().st_size % PAGE_SIZE and not _log(path).exists():
        raise DatabaseTruncated(_TRUNCATED.format(path.name))


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _look(path: Path, connection: apsw.Connection, key: bytes | None) -> None:
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        application = int(connection.pragma("application_id"))
    except apsw.NotADBError:
        raise _unreadable(path, key) from None
    except apsw.CorruptError:
        raise _damage(path, connection) from None
    if application != APPLICATION_ID:
        raise ForeignDatabase(f"{path.name} is a database of another program.")


def _unreadable(path: Path, key: bytes | None) -> StorageError:
    """The first page says nothing: it is cut off, plain, damaged, or encrypted with another key."""
    if key is not None and _opens_plain(path):
        return ForeignDatabase(f"{path.name} is a plain SQLite file, not a vault.")
    if path.stat().st_size < PAGE_SIZE:
        return DatabaseTruncated(_TRUNCATED.format(path.name))
    if key is None:
        return DatabaseCorrupt(f"{path.name} is no database, or its first page is damaged.")
    return WrongKey(
        f"{path.name} does not open with the key held for it: the file belongs to another vault or "
        "installation, or its first page is damaged."
    )


def _damage(path: Path, connection: apsw.Connection) -> StorageError:
    """Tell a cut-off file, which has fewer pages than its header says, from a damaged one."""
    try:
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")  # reads no more than the header
    except apsw.CorruptError:
        return DatabaseTruncated(_TRUNCATED.format(path.name))
    return DatabaseCorrupt(f"{path.name} is damaged. Restore it from a backup.")


def _opens_plain(path: Path) -> bool:
    probe = _open(path, None, apsw.SQLITE_OPEN_READONLY)
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
    except (apsw.CorruptError, apsw.NotADBError) as error:  # `check` has seen that the key fits
        raise DatabaseCorrupt from error
    except apsw.FullError as error:
        raise StorageError("The disk is full; nothing was stored.") from error
    except apsw.Error as error:
        raise StorageError(f"The database failed ({type(error).__name__}).") from error
