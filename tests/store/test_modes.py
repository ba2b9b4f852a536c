"""What a handle may do is kept by the connection beneath it, not by good manners above."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from rememberd.errors import ReadOnly, StorageError
from rememberd.model import Mode
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import remember, texts

LEDGER_ROW = "INSERT INTO usage VALUES (99, 0, '2026-11', 1, 1)"
CHANGES = [
    "INSERT INTO meta VALUES ('planted', 'x')",
    "INSERT INTO memory_text (rowid, terms) VALUES (99, 'planted')",
    "INSERT INTO memory_text (memory_text) VALUES ('optimize')",
    LEDGER_ROW,
    "REPLACE INTO meta VALUES ('identity', 'x')",
    "UPDATE memory SET text = 'planted'",
    "UPDATE memory SET text = 'planted' WHERE 0",
    "DELETE FROM memory",
    "DELETE FROM memory_text",
    "CREATE TABLE planted (x)",
    "CREATE TEMP TABLE planted (x)",
    "CREATE TEMP VIEW planted AS SELECT 1",
    "CREATE INDEX planted ON memory (text)",
    "CREATE TRIGGER planted AFTER INSERT ON memory BEGIN SELECT 1; END",
    "CREATE TEMP TRIGGER planted AFTER INSERT ON memory BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE temp.planted USING fts5 (x)",
    "DROP TABLE memory",
    "DROP TRIGGER audit_is_append_only_1",
    "ALTER TABLE memory ADD COLUMN planted",
    "ATTACH '{folder}/planted.db' AS planted",
    "ATTACH ':memory:' AS planted",
    "ATTACH 'file:{folder}/planted.db?mode=rwc' AS planted",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '{folder}/planted.db'",
    "ANALYZE",
    "REINDEX",
    "PRAGMA user_version = 99",
    "PRAGMA application_id = 99",
    "PRAGMA journal_mode = delete",
    "PRAGMA writable_schema = on",
    "PRAGMA query_only = off",
    "PRAGMA secure_delete = off",
    "PRAGMA synchronous = off",
    "PRAGMA wal_checkpoint (TRUNCATE)",
    "PRAGMA temp_store = file",
    "PRAGMA trusted_schema = on",
    "PRAGMA key = 'planted'",
    "PRAGMA rekey = 'planted'",
    "PRAGMA rekey = ''",
    "PRAGMA hexrekey = '00'",
    "PRAGMA cipher = 'aes256cbc'",
    "SELECT load_extension('planted')",
]


def direct(tx: Transaction, sql: str) -> list[Any]:
    """Straight to the driver, past every named query."""
    return tx.connection.execute(sql).fetchall()


def outside(tx: Transaction, sql: str) -> list[Any]:
    """The same with no transaction open."""
    tx.connection.execute("ROLLBACK")
    assert not tx.connection.in_transaction
    return direct(tx, sql)


async def let_through(way: Any, folder: Path, run: Any = direct) -> list[str]:
    """Which of the changes were not refused."""
    found: list[str] = []
    for sql in CHANGES:
        asked = sql.format(folder=folder)
        try:
            await way(partial(run, sql=asked))
        except ReadOnly:
            continue
        found.append(sql)
    return found


@pytest.mark.parametrize("mode", ["ro", "record", "rw"])
async def test_a_reading_connection_refuses_every_change(
    store: Store, alice: str, tmp_path: Path, mode: Mode
) -> None:
    """Every mode reads on a connection that cannot write, within a transaction and outside."""
    await remember(store, alice, "hello")
    async with store.vault(alice, mode) as vault:
        assert await let_through(vault.read, tmp_path) == []
        assert await let_through(vault.read, tmp_path, outside) == []
    assert await texts(store, alice) == ["hello"]
    assert not (tmp_path / "planted.db").exists()


async def test_a_recording_connection_refuses_every_change_but_a_ledger_row(
    store: Store, alice: str, tmp_path: Path
) -> None:
    await remember(store, alice, "hello")
    async with store.vault(alice, "record") as vault:
        assert await let_through(vault.record, tmp_path) == [LEDGER_ROW]
    assert await texts(store, alice) == ["hello"]
    assert not (tmp_path / "planted.db").exists()


async def test_a_reading_handle_neither_writes_nor_records(store: Store, alice: str) -> None:
    async with store.vault(alice, "ro") as vault:
        for way in (vault.write, vault.record):
            with pytest.raises(ReadOnly):
                await way(lambda tx: direct(tx, "SELECT 1"))
        with pytest.raises(ReadOnly):
            await vault.scrub()


async def test_a_recording_handle_records_but_does_not_write(store: Store, alice: str) -> None:
    async with store.vault(alice, "record") as vault:
        await vault.record(lambda tx: direct(tx, _usage(1)))
        with pytest.raises(ReadOnly):
            await vault.write(lambda tx: direct(tx, _usage(2)))
        with pytest.raises(ReadOnly):
            await vault.scrub()
        assert await vault.read(lambda tx: tx.tuples("usage_since", after=0, limit=9)) != []


async def test_a_reader_never_sees_half_a_write_and_keeps_its_moment(
    store: Store, alice: str
) -> None:
    """A read sees one moment, whatever is committed meanwhile."""
    await remember(store, alice, "one")
    async with store.vault(alice, "rw") as vault:

        def look_twice(tx: Transaction) -> tuple[int, int]:
            first = tx.value("count_memories")
            vault._database.submit(  # pyright: ignore[reportPrivateUsage]
                lambda tx: direct(tx, "DELETE FROM memory")
            ).result()
            return first, tx.value("count_memories")

        assert await vault.read(look_twice) == (1, 1)
        assert await vault.read(lambda tx: tx.value("count_memories")) == 0


# -- the ledger --------------------------------------------------------------------------------

REWRITES = [
    "UPDATE {table} SET at = 0",
    "UPDATE OR REPLACE {table} SET seq = 1 WHERE seq = 2",
    "DELETE FROM {table} WHERE seq = 2",
    "DELETE FROM {table}",
    "REPLACE INTO {table} SELECT * FROM {table}",
    "INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE seq = 1",
    "INSERT INTO {table} SELECT * FROM {table} WHERE seq = 2 "
    "ON CONFLICT (seq) DO UPDATE SET at = 0",
    "REPLACE INTO {table} (rowid, {columns}) SELECT 1, {columns} FROM {table} WHERE seq = 2",
]
COLUMNS = {
    "usage": "at, month, tokens, month_total",
    "audit": "at, actor, action, subject, detail, hash",
}


def _usage(seq: int) -> str:
    return f"INSERT INTO usage VALUES ({seq}, 5, '2026-11', 5, 5)"  # noqa: S608


def _audit(seq: int) -> str:
    return f"INSERT INTO audit VALUES ({seq}, 5, 'a', 'b', 'c', '{{}}', 'hash')"  # noqa: S608


@pytest.mark.parametrize("mode", ["rw", "record"])
@pytest.mark.parametrize("table", ["usage", "audit"])
async def test_a_ledger_row_can_be_neither_changed_nor_replaced_nor_deleted(
    store: Store, alice: str, mode: str, table: str
) -> None:
    async with store.vault(alice, "rw") as vault:
        for sql in (_usage(1), _usage(2), _audit(1), _audit(2)):
            await vault.write(lambda tx, sql=sql: direct(tx, sql))
        way = vault.write if mode == "rw" else vault.record
        assert await rewrites_let_through(way, table) == []
        rows = await vault.read(lambda tx: direct(tx, f"SELECT seq, at FROM {table}"))  # noqa: S608
    assert rows == [(1, 5), (2, 5)]


async def rewrites_let_through(way: Any, table: str) -> list[str]:
    found: list[str] = []
    for sql in REWRITES:
        asked = sql.format(table=table, columns=COLUMNS[table])
        try:
            await way(partial(direct, sql=asked))
        except (StorageError, ReadOnly):
            continue
        found.append(sql)
    return found


async def test_controls_audit_can_be_neither_changed_nor_replaced_nor_deleted(
    store: Store, alice: str
) -> None:
    await store.control.write(lambda tx: direct(tx, _audit(1)))
    await store.control.write(lambda tx: direct(tx, _audit(2)))
    assert await rewrites_let_through(store.control.write, "audit") == []
    rows = await store.control.read(lambda tx: direct(tx, "SELECT seq, at FROM audit"))
    assert rows == [(1, 5), (2, 5)]


# -- the key -----------------------------------------------------------------------------------


async def test_no_vault_opens_without_its_key_or_with_another(store: Store, alice: str) -> None:
    await remember(store, alice, "hello")
    path = store.directory.vault(alice, 1)
    for key in (None, f"raw:{'00' * 32}", "a passphrase"):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        if key is not None:
            connection.pragma("key", key)
        with pytest.raises(apsw.NotADBError):
            connection.execute("SELECT * FROM sqlite_schema").fetchall()
        connection.close()


async def test_nothing_of_a_memory_stands_in_any_file_in_clear(
    store: Store, alice: str, data_dir: Path
) -> None:
    await remember(store, alice, "QUINCEMARMALADE stands in the vault alone")
    for file in data_dir.rglob("*"):  # noqa: ASYNC240 - a handful of files
        if file.is_file():
            data = file.read_bytes()
            assert b"QUINCE" not in data
            assert b"quince" not in data
