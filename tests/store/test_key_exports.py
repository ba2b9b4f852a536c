"""The vaults' keys leave under a passphrase and come back, but for those that were destroyed."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rememberd.errors import InvalidInput, WrongKey
from rememberd.store import control, key_exports, lifecycle
from rememberd.store.key_exports import unseal
from rememberd.store.keyring import begin_key_store
from rememberd.store.place import DataDirectory
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import Failing, StillClock, new_vault, opened, remember, texts

PASSPHRASE = "correct horse battery"


async def test_an_export_holds_every_key_and_opens_with_its_passphrase_alone(
    store: Store, alice: str
) -> None:
    bob = await new_vault(store, "bob")
    text = await key_exports.export_keys(store, PASSPHRASE)
    held = {(key.vault_id, key.version, key.key) for key in unseal(text, PASSPHRASE).keys}
    assert held == {(vault, 1, store.keyring.get(vault, 1)) for vault in (alice, bob)}
    assert "key=" not in repr(unseal(text, PASSPHRASE).keys[0])
    for wrong in ("", PASSPHRASE + " ", "Correct horse battery"):
        with pytest.raises(InvalidInput, match="passphrase"):
            unseal(text, wrong)


async def test_a_short_passphrase_is_refused_and_nothing_counts_as_exported(
    store: Store, alice: str
) -> None:
    with pytest.raises(InvalidInput, match="at least 12"):
        await key_exports.export_keys(store, "eleven char")
    state = store.keyring.export_state()
    assert (state.last_export_at, state.keys_not_exported) == (None, 1)
    await key_exports.export_keys(store, PASSPHRASE)
    await new_vault(store, "bob")
    state = store.keyring.export_state()
    assert (state.last_export_at, state.keys_not_exported) == ("2026-11-30T12:00:00Z", 1)


HARMS: list[Callable[[str], str]] = [
    lambda text: "",
    lambda text: "[]",
    lambda text: "null",
    lambda text: "{}",
    lambda text: "\x00\xff",
    lambda text: text[:-40],
    lambda text: json.dumps(json.loads(text) | {"kind": "another"}),
    lambda text: json.dumps(json.loads(text) | {"kdf": "scrypt"}),
    lambda text: json.dumps(json.loads(text) | {"nonce": "!"}),
    lambda text: json.dumps(json.loads(text) | {"nonce": ""}),
    lambda text: json.dumps(json.loads(text) | {"sealed": 7}),
    lambda text: json.dumps(json.loads(text) | {"sealed": ""}),
]


@pytest.mark.parametrize("harm", HARMS)
async def test_what_is_not_an_export_is_refused(
    store: Store, alice: str, harm: Callable[[str], str]
) -> None:
    text = await key_exports.export_keys(store, PASSPHRASE)
    with pytest.raises(InvalidInput):
        await key_exports.import_keys(store, harm(text), PASSPHRASE)


async def test_a_certificate_names_the_keys_that_an_export_still_holds(
    store: Store, alice: str
) -> None:
    bob = await new_vault(store, "bob")
    await key_exports.export_keys(store, PASSPHRASE)
    first = await lifecycle.forget_all(store, alice, "key_1")
    second = await lifecycle.forget_all(store, alice, "key_1")
    assert first.exported_key_versions == (1,)
    assert second.exported_key_versions == ()
    proof = await lifecycle.erase(store, bob, "owner")
    assert proof.exported_key_versions == (1,)
    stored = await store.control.read(lambda tx: control.certificate(tx, first.id))
    assert stored["exported_key_versions"] == [1]


@pytest.mark.parametrize("step", ["forget", "erase"])
async def test_a_certificate_names_an_export_that_ran_beside_the_erasure(
    store: Store, alice: str, step: str
) -> None:
    """Whoever holds a key afterwards stands in the certificate, however the two interleave."""
    run = lifecycle.forget_all if step == "forget" else lifecycle.erase
    proof, text = await asyncio.gather(
        run(store, alice, "owner"), key_exports.export_keys(store, PASSPHRASE)
    )
    held = {key.version for key in unseal(text, PASSPHRASE).keys if key.vault_id == alice}
    assert held & {1} == set(proof.exported_key_versions)


# -- the way back ------------------------------------------------------------------------------


async def lose_key(store: Store, vault_id: str) -> None:
    """As no part of rememberd does."""

    def lose(tx: Transaction) -> None:
        tx.connection.execute("DELETE FROM vault_key WHERE vault_id = ?", (vault_id,)).fetchall()

    await store.keyring._database.write(lose)  # pyright: ignore[reportPrivateUsage]


async def test_an_import_brings_back_a_lost_key_but_never_a_retired_or_erased_one(
    store: Store, alice: str
) -> None:
    bob, carol = await new_vault(store, "bob"), await new_vault(store, "carol")
    await remember(store, carol, "fact")
    export = await key_exports.export_keys(store, PASSPHRASE)
    await lifecycle.forget_all(store, alice, "key_1")
    await lifecycle.erase(store, bob, "owner")
    await store.close_alone(carol)
    await lose_key(store, carol)
    assert (await key_exports.import_keys(store, export, PASSPHRASE)).added == 1
    assert store.keyring.versions(alice) == (2,)
    assert store.keyring.versions(bob) == ()
    assert await texts(store, carol) == ["fact"]
    assert (await key_exports.import_keys(store, export, PASSPHRASE)).added == 0


async def test_an_import_beside_an_erasure_does_not_bring_its_key_back(
    store: Store, alice: str
) -> None:
    export = await key_exports.export_keys(store, PASSPHRASE)
    await asyncio.gather(
        *(key_exports.import_keys(store, export, PASSPHRASE) for _ in range(2)),
        lifecycle.erase(store, alice, "owner"),
    )
    assert store.keyring.versions(alice) == ()


async def test_a_vault_in_the_middle_of_its_erasure_takes_no_key_in(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = await key_exports.export_keys(store, PASSPHRASE)
    monkeypatch.setattr(lifecycle, "_unlink", Failing(lifecycle._unlink))  # pyright: ignore
    with pytest.raises(OSError, match="disk"):
        await lifecycle.erase(store, alice, "owner")
    assert (await key_exports.import_keys(store, export, PASSPHRASE)).added == 0
    assert store.keyring.versions(alice) == ()


async def test_an_export_that_was_taken_in_counts_as_one_and_only_once(
    data_dir: Path, tmp_path: Path
) -> None:
    async with opened(data_dir) as store:
        alice = await new_vault(store)
        export = await key_exports.export_keys(store, PASSPHRASE)
    machine = back_up(data_dir, tmp_path / "machine")
    begin_key_store(DataDirectory(machine), None)
    clock = StillClock()
    clock.move(days=1)
    async with opened(machine, clock=clock) as store:
        for added in (1, 0):
            done = await key_exports.import_keys(store, export, PASSPHRASE)
            assert (done.added, done.already_here) == (added, 1 - added)
        state = store.keyring.export_state()
        assert (state.last_export_at, state.keys_not_exported) == ("2026-11-30T12:00:00Z", 0)
        proof = await lifecycle.erase(store, alice, "owner")
        assert proof.exported_key_versions == (1,)


async def test_an_export_of_other_vaults_is_refused(data_dir: Path, tmp_path: Path) -> None:
    async with opened(tmp_path / "theirs") as store:
        await new_vault(store)
        export = await key_exports.export_keys(store, PASSPHRASE)
    async with opened(data_dir) as store:
        await new_vault(store)
        with pytest.raises(InvalidInput, match="None of this export's vaults"):
            await key_exports.import_keys(store, export, PASSPHRASE)


# -- a backup from before an erasure -----------------------------------------------------------


def back_up(data_dir: Path, to: Path) -> Path:
    """What docs/howto/back-up-and-restore.md says to copy of a data directory at rest."""
    to.mkdir()
    shutil.copy(data_dir / "control.db", to)
    shutil.copytree(data_dir / "vaults", to / "vaults")
    return to


def put_back(backup: Path, data_dir: Path) -> None:
    for old in data_dir.glob("control.db-*"):
        old.unlink()
    shutil.copytree(backup, data_dir, dirs_exist_ok=True)


@pytest.mark.parametrize("step", ["forget", "erase"])
async def test_what_was_erased_does_not_come_back_with_a_backup_and_an_old_export(
    data_dir: Path, tmp_path: Path, step: str
) -> None:
    async with opened(data_dir) as store:
        alice, bob = await new_vault(store), await new_vault(store, "bob")
        await remember(store, alice, "gone")
        await remember(store, bob, "stays")
        export = await key_exports.export_keys(store, PASSPHRASE)
    backup = back_up(data_dir, tmp_path / "backup")
    run = lifecycle.forget_all if step == "forget" else lifecycle.erase
    async with opened(data_dir) as store:
        await run(store, alice, "owner")
    put_back(backup, data_dir)
    async with opened(data_dir) as store:
        done = await key_exports.import_keys(store, export, PASSPHRASE)
        assert (done.added, done.destroyed) == (0, ("alice",))
        with pytest.raises(WrongKey, match="destroyed for good"):
            await texts(store, alice)
        assert await texts(store, bob) == ["stays"]
        await lifecycle.erase(store, alice, "owner")  # removes what is left
        assert (await key_exports.import_keys(store, export, PASSPHRASE)).destroyed == ()


async def test_a_newer_export_tells_a_new_machine_what_was_erased(
    data_dir: Path, tmp_path: Path
) -> None:
    async with opened(data_dir) as store:
        alice, bob = await new_vault(store), await new_vault(store, "bob")
        await remember(store, bob, "stays")
        older = await key_exports.export_keys(store, PASSPHRASE)
    machine = back_up(data_dir, tmp_path / "machine")
    async with opened(data_dir) as store:
        await lifecycle.erase(store, alice, "owner")
        newer = await key_exports.export_keys(store, PASSPHRASE)
    begin_key_store(DataDirectory(machine), None)
    async with opened(machine) as store:
        for export, added in ((newer, 1), (older, 0)):
            done = await key_exports.import_keys(store, export, PASSPHRASE)
            assert (done.added, done.destroyed) == (added, ("alice",))
        assert store.keyring.versions(alice) == ()
        assert await texts(store, bob) == ["stays"]


async def test_a_version_that_was_given_up_and_made_anew_does_not_count_as_destroyed(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "create_file", Failing(lifecycle.create_file))
    with pytest.raises(OSError, match="disk"):
        await lifecycle.forget_all(store, alice, "key_1")
    assert store.keyring.destroyed() == [(alice, 2)]
    await lifecycle.forget_all(store, alice, "key_1")
    assert store.keyring.destroyed() == [(alice, 1)]
