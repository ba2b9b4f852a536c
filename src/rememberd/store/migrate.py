"""Brings one database to the newest schema: numbered SQL, applied once, in order, with checksums.

Never goes back, never touches a database that a newer rememberd wrote, never starts afresh.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import apsw

from rememberd.errors import ForeignDatabase, SchemaTooNew


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations(book: str) -> tuple[Migration, ...]:
    """All migrations of `vault`, `control` or `keys`, oldest first."""
    folder = files("rememberd.store") / "sql" / "sqlite" / "migrations" / book
    found = [
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def newest(book: str) -> int:
    return migrations(book)[-1].number


def migrate(connection: apsw.Connection, book: str) -> int:
    """Apply what is missing; returns how many were applied.

    Raises SchemaTooNew for a database from the future, ForeignDatabase when an applied migration
    differs from ours. Each migration commits alone, so a crash loses none that was finished.
    """
    version = int(connection.pragma("user_version"))
    if version > newest(book):
        raise SchemaTooNew(
            f"This database has schema {version}; this rememberd knows up to {newest(book)}. "
            "Upgrade rememberd; nothing was changed."
        )
    _check_past(connection, book, version)
    missing = [migration for migration in migrations(book) if migration.number > version]
    for migration in missing:
        _apply(connection, migration)
    return len(missing)


def _check_past(connection: apsw.Connection, book: str, version: int) -> None:
    if version == 0:
        return
    applied = dict(connection.execute("SELECT number, checksum FROM migration"))
    for migration in migrations(book):
        if migration.number <= version and applied.get(migration.number) != migration.checksum:
            raise ForeignDatabase(
                f"Migration {migration.number} of this database is not ours; nothing was changed."
            )


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, checksum TEXT)"
        )
        connection.execute(migration.sql).fetchall()
        connection.execute(
            "INSERT INTO migration VALUES (?, ?)", (migration.number, migration.checksum)
        )
        connection.pragma("user_version", migration.number)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
