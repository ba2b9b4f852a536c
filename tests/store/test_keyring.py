"""Keys of vaults: wrapped each for its own place, exported under a passphrase, never in clear."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from rememberd.errors import InvalidInput, WrongKey
from rememberd.store import lifecycle
from rememberd.store.keyring import open_export
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
    await lifecycle.export_keys(store, PASSPHRASE)
    for file in store.directory.root.glob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert key not in data
        assert key.hex().encode() not in data


async def test_an_export_holds_every_key_and_opens_with_its_passphrase_alone(
    store: Store, alice: str
) -> None:
    bob = await new_vault(store, "bob")
    text = await lifecycle.export_keys(store, PASSPHRASE)
    held = {(key.vault_id, key.version, key.key) for key in open_export(text, PASSPHRASE)}
    assert held == {(vault, 1, store.keyring.get(vault, 1)) for vault in (alice, bob)}
    assert "key=" not in repr(open_export(text, PASSPHRASE)[0])
    for wrong in ("", PASSPHRASE + " ", "Correct horse battery"):
        with pytest.raises(InvalidInput, match="passphrase"):
            open_export(text, wrong)


async def test_a_short_passphrase_is_refused_and_nothing_counts_as_exported(
    store: Store, alice: str
) -> None:
    with pytest.raises(InvalidInput, match="at least 12"):
        await lifecycle.export_keys(store, "eleven char")
    state = store.keyring.export_state()
    assert (state.last_export_at, state.keys_not_exported) == (None, 1)
    await lifecycle.export_keys(store, PASSPHRASE)
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
    text = await lifecycle.export_keys(store, PASSPHRASE)
    with pytest.raises(InvalidInput):
        await lifecycle.import_keys(store, harm(text), PASSPHRASE)


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
            await lifecycle.export_keys(store, PASSPHRASE)
