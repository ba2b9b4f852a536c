"""A database that cannot be used says why, each cause in its own words, and is never replaced."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from rememberd.errors import (
    DatabaseCorrupt,
    DatabaseMissing,
    DatabaseTruncated,
    EngineTooOld,
    ForeignDatabase,
    MasterKeyProblem,
    RememberdError,
    SchemaTooNew,
    StorageError,
    UnsupportedFileSystem,
    WrongKey,
)
from rememberd.store import key_exports, place, sqlite
from rememberd.store.database import Database
from rememberd.store.keyring import begin_key_store
from rememberd.store.place import DataDirectory
from rememberd.store.sqlite import PAGE_SIZE
from rememberd.store.store import Store, StoreOptions
from rememberd.store.transaction import Transaction
from rememberd.store.writer import Writer
from tests.store.world import FEW_THREADS, StillClock, new_vault, opened, remember, texts

Harm = Callable[[Path], None]


def cut(size: int) -> Harm:
    """Leave so many bytes, or take away so many from the end when negative."""

    def harm(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:size])

    return harm


def flip(offset: int) -> Harm:
    def harm(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[offset] ^= 0x55
        path.write_bytes(data)

    return harm


def replaced(statements: str) -> Harm:
    """A plain database of somebody else in its place."""

    def harm(path: Path) -> None:
        path.unlink()
        connection = apsw.Connection(str(path))
        connection.execute(f"CREATE TABLE theirs (x); {statements}").fetchall()
        connection.close()

    return harm


def gone(path: Path) -> None:
    path.unlink()


CUTS = [
    pytest.param(cut(0), id="nothing left"),
    pytest.param(cut(1), id="one byte"),
    pytest.param(cut(100), id="the header alone"),
    pytest.param(cut(512), id="an old sector"),
    pytest.param(cut(PAGE_SIZE), id="one page"),
    pytest.param(cut(PAGE_SIZE + 77), id="an odd cut"),
    pytest.param(cut(3 * PAGE_SIZE + 512), id="a cut between sectors"),
    pytest.param(cut(-PAGE_SIZE), id="the last page missing"),
    pytest.param(cut(-1), id="the last byte missing"),
]
FOREIGN = [
    pytest.param(replaced(""), id="plain"),
    pytest.param(replaced("PRAGMA application_id = 4711"), id="another application"),
]


async def filled(data_dir: Path) -> tuple[str, Path]:
    """A directory whose one vault holds a thousand words; closed."""
    async with opened(data_dir) as store:
        vault_id = await new_vault(store)
        await remember(store, vault_id, "word " * 8_000)
        return vault_id, store.directory.vault(vault_id, 1)


async def opening(data_dir: Path, vault_id: str) -> type[RememberdError] | None:
    """The error that opening the vault meets; it names her vault, and the file is as it was."""
    async with opened(data_dir) as store:
        path = store.directory.vault(vault_id, 1)
        before = path.read_bytes() if path.exists() else None
        try:
            await texts(store, vault_id)
        except RememberdError as error:
            met = error
        else:
            return None
        assert (path.read_bytes() if path.exists() else None) == before
        assert met.message.startswith("Vault alice: ")
        return type(met)


async def test_a_missing_vault_file_is_reported(data_dir: Path) -> None:
    vault_id, path = await filled(data_dir)
    path.unlink()
    assert await opening(data_dir, vault_id) is DatabaseMissing


@pytest.mark.parametrize("harm", CUTS)
async def test_a_vault_file_that_was_cut_off_is_reported(data_dir: Path, harm: Harm) -> None:
    vault_id, path = await filled(data_dir)
    harm(path)
    assert await opening(data_dir, vault_id) is DatabaseTruncated


@pytest.mark.parametrize("harm", FOREIGN)
async def test_a_plain_database_in_a_vaults_place_is_foreign(data_dir: Path, harm: Harm) -> None:
    vault_id, path = await filled(data_dir)
    harm(path)
    assert await opening(data_dir, vault_id) is ForeignDatabase


async def test_another_vaults_file_under_this_name_does_not_open(data_dir: Path) -> None:
    vault_id, path = await filled(data_dir)
    async with opened(data_dir) as store:
        bob = await new_vault(store, "bob")
    shutil.copy(path.with_name(f"{bob}.1.db"), path)
    assert await opening(data_dir, vault_id) is WrongKey


async def test_another_vaults_file_with_this_vaults_key_is_foreign(data_dir: Path) -> None:
    """Somebody who can write keys.db but not unwrap keys cannot pass one vault off as another."""
    async with opened(data_dir) as store:
        alice, bob = await new_vault(store), await new_vault(store, "bob")
        key = store.keyring.get(bob, 1)
        assert key is not None
        path = store.directory.vault(bob, 1)
    from_alice = path.with_name(f"{alice}.1.db")
    with pytest.raises(ForeignDatabase):
        _open_directly(path, key, identity=alice)
    assert from_alice.exists()


def _open_directly(path: Path, key: bytes, identity: str) -> None:
    Database(path, "vault", key, Writer("w"), ThreadPoolExecutor(1)).open(identity)


async def test_a_key_that_was_swapped_in_the_key_store_is_refused(data_dir: Path) -> None:
    vault_id, _ = await filled(data_dir)
    async with opened(data_dir) as store:
        bob = await new_vault(store, "bob")
    keys = apsw.Connection(str(data_dir / "keys.db"))
    keys.execute("UPDATE vault_key SET vault_id = 'x' WHERE vault_id = ?", (vault_id,)).fetchall()
    keys.execute("UPDATE vault_key SET vault_id = ? WHERE vault_id = ?", (vault_id, bob)).fetchall()
    keys.close()
    assert await opening(data_dir, vault_id) is WrongKey


async def test_a_vault_without_its_key_says_so(data_dir: Path) -> None:
    vault_id, _ = await filled(data_dir)
    keys = apsw.Connection(str(data_dir / "keys.db"))
    keys.execute("DELETE FROM vault_key").fetchall()
    keys.close()
    assert await opening(data_dir, vault_id) is WrongKey


@pytest.mark.parametrize("offset", [3, 17, 30, 2000, PAGE_SIZE - 10])
async def test_damage_to_the_first_page_looks_like_a_wrong_key_and_is_named_as_a_cause(
    data_dir: Path, offset: int
) -> None:
    """Without its first page an encrypted file tells nothing, not even whose it is."""
    vault_id, path = await filled(data_dir)
    flip(offset)(path)
    async with opened(data_dir) as store:
        with pytest.raises(WrongKey, match="first page is damaged"):
            await texts(store, vault_id)


async def test_damage_anywhere_else_is_corruption_once_it_is_read(data_dir: Path) -> None:
    vault_id, path = await filled(data_dir)
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // PAGE_SIZE):
        data[page * PAGE_SIZE + 50] ^= 0x55
    path.write_bytes(data)
    assert await opening(data_dir, vault_id) is DatabaseCorrupt


async def test_one_damaged_vault_leaves_the_others_alone(data_dir: Path) -> None:
    vault_id, path = await filled(data_dir)
    cut(0)(path)
    async with opened(data_dir) as store:
        bob = await new_vault(store, "bob")
        await remember(store, bob, "hello")
        with pytest.raises(DatabaseTruncated):
            await texts(store, vault_id)
        assert await texts(store, bob) == ["hello"]


async def test_a_file_left_odd_by_a_full_disk_opens_while_its_log_makes_it_whole(
    data_dir: Path,
) -> None:
    """A checkpoint that ran out of space can leave half a page; the log still holds all of it."""
    vault_id, path = await filled(data_dir)
    async with opened(data_dir) as store:
        await remember(store, vault_id, "in the log")
        copy = data_dir.with_name("copy")
        shutil.copytree(data_dir, copy)
    with (copy / "vaults" / path.name).open("ab") as file:
        file.write(b"half a page")
    async with opened(copy) as store:
        assert "in the log" in await texts(store, vault_id)


# -- control and key store ---------------------------------------------------------------------


def contents(data_dir: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in data_dir.rglob("*") if file.is_file()}


async def starting(data_dir: Path) -> type[RememberdError] | None:
    """The error that the start meets; nothing may have been made or replaced by it."""
    before = contents(data_dir)
    try:
        async with opened(data_dir):
            return None
    except RememberdError as error:
        assert contents(data_dir) == before
        return type(error)


@pytest.mark.parametrize("name", ["control.db", "keys.db"])
@pytest.mark.parametrize("harm", CUTS)
async def test_a_control_or_key_database_that_was_cut_off_stops_the_start(
    data_dir: Path, name: str, harm: Harm
) -> None:
    await filled(data_dir)
    harm(data_dir / name)
    assert await starting(data_dir) is DatabaseTruncated


@pytest.mark.parametrize("name", ["control.db", "keys.db"])
@pytest.mark.parametrize("harm", FOREIGN)
async def test_a_foreign_control_or_key_database_stops_the_start(
    data_dir: Path, name: str, harm: Harm
) -> None:
    await filled(data_dir)
    harm(data_dir / name)
    assert await starting(data_dir) is ForeignDatabase


@pytest.mark.parametrize("name", ["control.db", "keys.db"])
async def test_a_control_or_key_database_whose_first_page_is_damaged_stops_the_start(
    data_dir: Path, name: str
) -> None:
    await filled(data_dir)
    flip(5)(data_dir / name)
    assert await starting(data_dir) is DatabaseCorrupt


async def test_the_key_store_in_controls_place_is_foreign(data_dir: Path) -> None:
    await filled(data_dir)
    shutil.copy(data_dir / "keys.db", data_dir / "control.db")
    assert await starting(data_dir) is ForeignDatabase


@pytest.mark.parametrize("name", ["control.db", "keys.db"])
async def test_a_missing_control_or_key_database_is_never_begun_afresh(
    data_dir: Path, name: str
) -> None:
    await filled(data_dir)
    (data_dir / name).unlink()
    assert await starting(data_dir) is DatabaseMissing


async def test_lost_control_and_keys_are_not_begun_afresh_over_vaults(data_dir: Path) -> None:
    await filled(data_dir)
    (data_dir / "control.db").unlink()
    (data_dir / "keys.db").unlink()
    assert await starting(data_dir) is DatabaseMissing


@pytest.mark.parametrize("name", ["control.part", "keys.part", "master.part"])
async def test_a_first_start_that_was_cut_short_is_simply_begun_again(
    data_dir: Path, name: str
) -> None:
    (data_dir / "vaults").mkdir(parents=True)
    (data_dir / name).write_bytes(b"SQLite format 3\x00 and then the power went")
    async with opened(data_dir) as store:
        alice = await new_vault(store)
        await remember(store, alice, "hello")


async def test_a_first_start_cut_short_between_control_and_keys_goes_on(data_dir: Path) -> None:
    async with opened(data_dir):
        pass
    (data_dir / "keys.db").unlink()
    (data_dir / "master.key").unlink()
    async with opened(data_dir) as store:
        await new_vault(store)


async def test_a_restored_backup_opens_once_its_keys_are_taken_in(data_dir: Path) -> None:
    """As docs/howto/back-up-and-restore.md says: no keys.db and no master.key in the backup."""
    async with opened(data_dir) as store:
        alice = await new_vault(store)
        await remember(store, alice, "hello")
        export = await key_exports.export_keys(store, "correct horse battery")
    (data_dir / "keys.db").unlink()
    (data_dir / "master.key").unlink()
    begin_key_store(DataDirectory(data_dir), None)
    async with opened(data_dir) as store:
        with pytest.raises(WrongKey):
            await texts(store, alice)
        assert (await key_exports.import_keys(store, export, "correct horse battery")).added == 1
        assert await texts(store, alice) == ["hello"]


# -- master key --------------------------------------------------------------------------------


async def test_a_missing_master_key_stops_the_start(data_dir: Path) -> None:
    await filled(data_dir)
    (data_dir / "master.key").unlink()
    assert await starting(data_dir) is MasterKeyProblem


@pytest.mark.parametrize(
    "text", ["", "abcd", "g" * 64, "0" * 63, "0" * 65, "ab " * 21 + "a", "０" * 64, "\ufffd" * 64]
)
async def test_a_malformed_master_key_stops_the_start(data_dir: Path, text: str) -> None:
    await filled(data_dir)
    (data_dir / "master.key").write_text(text)
    assert await starting(data_dir) is MasterKeyProblem


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
async def test_a_master_key_that_others_can_read_stops_the_start(data_dir: Path, mode: int) -> None:
    await filled(data_dir)
    (data_dir / "master.key").chmod(mode)
    assert await starting(data_dir) is MasterKeyProblem


async def test_another_master_key_stops_the_start(data_dir: Path) -> None:
    await filled(data_dir)
    (data_dir / "master.key").write_text("0" * 64)
    assert await starting(data_dir) is MasterKeyProblem


async def test_a_master_key_from_the_settings_is_never_written_down(data_dir: Path) -> None:
    options = StoreOptions(master_key="5" * 64, writer_threads=1, reader_threads=1)
    async with opened(data_dir, options) as store:
        await remember(store, await new_vault(store), "hello")
    assert not (data_dir / "master.key").exists()
    assert not any(b"5" * 64 in data for data in contents(data_dir).values())


# -- versions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.40.1", "3.44.5", "3.49.2", "3.50.6", "3.51.0", "3.51.2"])
def test_a_sqlite_that_can_lose_acknowledged_writes_is_refused(version: str) -> None:
    with pytest.raises(EngineTooOld):
        sqlite.check_engine(version)


@pytest.mark.parametrize("version", ["3.44.6", "3.50.7", "3.51.3", "3.52.0", "3.54.1", "4.0.0"])
def test_a_sqlite_without_the_wal_reset_bug_is_taken(version: str) -> None:
    sqlite.check_engine(version)


async def test_the_start_is_refused_with_an_old_sqlite(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    with pytest.raises(EngineTooOld):
        await Store.open(DataDirectory(data_dir), FEW_THREADS, StillClock())


async def meddle(data_dir: Path, vault_id: str, sql: str) -> None:
    """Change a vault's schema bookkeeping, as another rememberd might have."""

    def work(tx: Transaction) -> None:
        tx.connection.execute(sql).fetchall()

    async with opened(data_dir) as store, store.vault(vault_id, "rw") as vault:
        await vault.write(work)


async def test_a_vault_from_a_newer_rememberd_fails_alone(data_dir: Path) -> None:
    vault_id, _ = await filled(data_dir)
    await meddle(data_dir, vault_id, "PRAGMA user_version = 999")
    async with opened(data_dir) as store:
        bob = await new_vault(store, "bob")
        with pytest.raises(SchemaTooNew):
            await texts(store, vault_id)
        await remember(store, bob, "hello")


async def test_a_vault_whose_migrations_are_not_ours_is_refused(data_dir: Path) -> None:
    vault_id, _ = await filled(data_dir)
    await meddle(data_dir, vault_id, "UPDATE migration SET checksum = 'another'")
    assert await opening(data_dir, vault_id) is ForeignDatabase


@pytest.mark.parametrize("name", ["control.db", "keys.db"])
async def test_a_newer_control_or_key_database_stops_the_start(data_dir: Path, name: str) -> None:
    await filled(data_dir)
    connection = apsw.Connection(str(data_dir / name))
    connection.pragma("user_version", 999)
    connection.close()
    assert await starting(data_dir) is SchemaTooNew


# -- the place ---------------------------------------------------------------------------------

MOUNTS = """\
/dev/vda1 / ext4 rw 0 0
server:/home {home} {kind} rw 0 0
tmpfs {home}/local tmpfs rw 0 0
"""


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "ceph"])
def test_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    home = tmp_path / "home with space"
    mounts = MOUNTS.format(home=str(home).replace(" ", "\\040"), kind=kind)
    monkeypatch.setattr(place, "MOUNTS", _file(tmp_path / "mounts", mounts))
    with pytest.raises(UnsupportedFileSystem, match=kind):
        DataDirectory(home / "data").prepare()
    DataDirectory(home / "local" / "data").prepare()
    DataDirectory(tmp_path / "beside").prepare()


def _file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_place_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="Cannot make"):
        DataDirectory(tmp_path / "file" / "data").prepare()


async def test_every_file_is_private_whatever_the_directory_is(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o755)  # noqa: ASYNC240 - nothing else runs yet
    async with opened(data_dir) as store:
        await remember(store, await new_vault(store), "hello")
        modes = {file.name: file.stat().st_mode & 0o777 for file in contents(data_dir)}
    assert len(modes) > 6
    assert set(modes.values()) == {0o600}


def test_the_data_directory_is_private(data_dir: Path) -> None:
    DataDirectory(data_dir).prepare()
    assert (data_dir.stat().st_mode & 0o777, (data_dir / "vaults").stat().st_mode & 0o777) == (
        0o700,
        0o700,
    )
