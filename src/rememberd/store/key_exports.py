"""Exports of the vaults' keys: sealed under a passphrase on their way out, checked on their way in.

Together with its passphrase an export opens every copy of the files it was made for. It also says
which keys were destroyed before; none of those may come back through an older one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from rememberd.clock import isoformat
from rememberd.errors import InvalidInput, NotFound
from rememberd.model import Vault, VaultStatus
from rememberd.store import control
from rememberd.store.keyring import KeyName, VaultKey
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

SHORTEST_PASSPHRASE = 12
_KIND = "rememberd key export 1"
_NONCE = 12
# scrypt, OWASP's first choice of parameters: 128 MiB, under a second.
_SCRYPT = {"n": 2**17, "r": 8, "p": 1}
_SCRYPT_MEMORY = 160 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Export:
    """An opened export: the keys there were when it was made, and those destroyed by then."""

    made_at: datetime
    keys: tuple[VaultKey, ...]
    destroyed: tuple[KeyName, ...]


# --- out ---------------------------------------------------------------------------------------


async def export_keys(store: Store, passphrase: str) -> str:
    """Every key, sealed under a passphrase, as JSON text. Records which keys it holds.

    Raises InvalidInput for a short passphrase, WrongKey for a tampered row.
    """
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise InvalidInput(
            f"The passphrase must have at least {SHORTEST_PASSPHRASE} characters.",
            field="passphrase",
        )
    async with store.key_changes:
        return await asyncio.to_thread(_export, store, passphrase)


def _export(store: Store, passphrase: str) -> str:
    ring = store.keyring
    export = Export(store.clock.now(), tuple(ring.keys()), tuple(ring.destroyed()))
    text = seal(export, passphrase)
    ring.record_export(export.keys, export.made_at)
    return text


def seal(export: Export, passphrase: str) -> str:
    """Takes a second and 128 MiB, on purpose."""
    made_at, salt, nonce = isoformat(export.made_at), os.urandom(16), os.urandom(_NONCE)
    body = {
        "keys": [[key.vault_id, key.version, key.key.hex()] for key in export.keys],
        "destroyed": export.destroyed,
    }
    sealed = _cipher(passphrase, salt).encrypt(nonce, json.dumps(body).encode(), _binding(made_at))
    return json.dumps(
        {
            "kind": _KIND,
            "made_at": made_at,
            "kdf": {"name": "scrypt", **_SCRYPT, "salt": base64.b64encode(salt).decode()},
            "nonce": base64.b64encode(nonce).decode(),
            "sealed": base64.b64encode(sealed).decode(),
        },
        indent=2,
    )


def _binding(made_at: str) -> bytes:
    return f"{_KIND}\n{made_at}".encode()


def _cipher(passphrase: str, salt: bytes) -> ChaCha20Poly1305:
    key = hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, maxmem=_SCRYPT_MEMORY, **_SCRYPT)
    return ChaCha20Poly1305(key)


# --- in ----------------------------------------------------------------------------------------


def unseal(text: str, passphrase: str) -> Export:
    """Takes as long as `seal`.

    Raises InvalidInput for a file that is not an export or a passphrase that is not its own.
    """
    try:
        outer = json.loads(text)
        if outer["kind"] != _KIND or outer["kdf"]["name"] != "scrypt":
            raise ValueError
        made_at = datetime.fromisoformat(outer["made_at"])
        cipher = _cipher(passphrase, base64.b64decode(outer["kdf"]["salt"]))
        sealed, nonce = base64.b64decode(outer["sealed"]), base64.b64decode(outer["nonce"])
        body = json.loads(cipher.decrypt(nonce, sealed, _binding(outer["made_at"])))
    except InvalidTag:
        raise InvalidInput(
            "The passphrase does not open this export.", field="passphrase"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput("This is not a rememberd key export.", field="file") from None
    keys = (VaultKey(vault, version, bytes.fromhex(key)) for vault, version, key in body["keys"])
    return Export(made_at, tuple(keys), tuple((vault, gone) for vault, gone in body["destroyed"]))


@dataclass(frozen=True, slots=True)
class Imported:
    """How many keys were missing and are here now, and how many were here before.

    `destroyed`: names of vaults that stay closed, since their keys were destroyed for good.
    """

    added: int
    already_here: int
    destroyed: tuple[str, ...]


async def import_keys(store: Store, text: str, passphrase: str) -> Imported:
    """Take in the keys of an export that are missing here, and record that it holds them.

    Only of vaults that are ready, and only the version in use: no key comes back that an erasure
    destroyed. Raises InvalidInput for a file that is not an export or one of other vaults, or the
    wrong passphrase.
    """
    export, ring = await asyncio.to_thread(unseal, text, passphrase), store.keyring
    if not await store.control.read(partial(_is_of_here, export=export)):
        raise InvalidInput(
            f"None of this export's vaults is in {store.directory.root}. Restore the backup that "
            "belongs to it there, or say --data DIR.",
            field="file",
        )
    await asyncio.to_thread(ring.note_destroyed, export.destroyed)
    added = already_here = 0
    for key in export.keys:
        async with store.alone(key.vault_id):
            if not await store.control.read(partial(_in_use, key=key)):
                continue
            if await asyncio.to_thread(ring.put_back, key):
                added += 1
            elif not ring.is_destroyed(key.name):
                already_here += 1
            await asyncio.to_thread(ring.record_export, [key], export.made_at)
    ready = await store.control.read(_ready)
    return Imported(
        added, already_here, tuple(name for name, key in ready if ring.is_destroyed(key))
    )


def _is_of_here(tx: Transaction, export: Export) -> bool:
    """Whether control knows a vault of it, be it an erased one."""
    names = [*(key.name for key in export.keys), *export.destroyed]
    return any(_vault(tx, vault_id) for vault_id, _ in names)


def _in_use(tx: Transaction, key: VaultKey) -> bool:
    vault = _vault(tx, key.vault_id)
    return (
        vault is not None and vault.status is VaultStatus.READY and vault.generation == key.version
    )


def _vault(tx: Transaction, vault_id: str) -> Vault | None:
    try:
        return control.vault(tx, vault_id)
    except NotFound:
        return None


def _ready(tx: Transaction) -> list[tuple[str, KeyName]]:
    """The vaults that could be open: their names, and the keys they need."""
    return [
        (vault.name, (vault.id, vault.generation))
        for vault in control.vaults(tx)
        if vault.status is VaultStatus.READY
    ]
