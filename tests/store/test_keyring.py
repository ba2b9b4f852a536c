"""Keys of vaults: wrapped each for its own place, never in clear."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from rememberd.errors import WrongKey
from rememberd.store import key_exports, lifecycle
from rememberd.store.store import Store
from tests.store.world import new_vault, opened

PASSPHRASE = "correct horse battery"


async def test_every_vault_and_every_generation_has_a_random_key_of_its_own(
    store: Store, alice: str
) -> None:
    bob = await new_vault(store, "bob")
    keys = [store.keyring.get(alice, 1), store.keyring.get(bob, 1)]
    await lifecycle.forget_all(store, alice, "key_1")
    keys.append(store.keyring.get(alice, 2))
    assert all(key is not None and len(key) == 32 for key in keys)
    assert len(set(keys)) == 3


async def test_a_key_stands_nowhere_on_the_disk_in_clear(store: Store, alice: str) -> None:
    key = store.keyring.get(alice, 1)
    assert key is not None
    await key_exports.export_keys(store, PASSPHRASE)
    for file in store.directory.root.glob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert key not in data
        assert key.hex().encode() not in data


async def test_a_tampered_row_is_neither_used_nor_exported(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        alice = await new_vault(store)
    keys = apsw.Connection(str(data_dir / "keys.db"))
    keys.execute("UPDATE vault_key SET version = 2").fetchall()
    keys.close()
    async with opened(data_dir) as store:
        with pytest.raises(WrongKey):
            store.keyring.get(alice, 2)
        with pytest.raises(WrongKey):
            await key_exports.export_keys(store, PASSPHRASE)
