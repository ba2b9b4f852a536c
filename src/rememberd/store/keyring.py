"""The key store: every vault's random key, wrapped by the master key.

Wrapping is ChaCha20-Poly1305 bound to vault id and version, so a wrapped key cannot be put in
another's place. Destroying a key here makes the vault and every copy of its file unreadable.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from rememberd.clock import Clock, from_micros, isoformat, to_micros
from rememberd.errors import DatabaseMissing, MasterKeyProblem, WrongKey
from rememberd.store.database import Database, create
from rememberd.store.place import DataDirectory, sync_folder
from rememberd.store.transaction import Transaction

_CHECK = b"rememberd master key check"
_NONCE = 12

KeyName = tuple[str, int]  # vault id and version


def load_master_key(given: str | None, file: Path, *, may_create: bool) -> bytes:
    """The 32-byte master key from the setting, else from its 0600 file, made at first start.

    Raises MasterKeyProblem when it is malformed, readable by others, or missing while keys exist.
    """
    if given is not None:
        return _from_hex(given.strip(), "REMEMBERD_MASTER_KEY")
    if not file.exists():
        if not may_create:
            raise MasterKeyProblem(
                f"{file} is missing, but wrapped keys exist. Restore it, or set "
                "REMEMBERD_MASTER_KEY; without it, and without a key export, vaults stay closed."
            )
        _write_private(file, os.urandom(32).hex() + "\n")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise MasterKeyProblem(f"{file} can be read by others. Run: chmod 600 {file}")
    return _from_hex(file.read_text(encoding="ascii", errors="replace").strip(), str(file))


def begin_key_store(directory: DataDirectory, master_setting: str | None) -> None:
    """Make an empty key store where a restored backup left it out, to take in a key export.

    The caller holds the directory's lock. Does nothing where there is one, or nothing at all.
    """
    if directory.control.exists() and not directory.keys.exists():
        load_master_key(master_setting, directory.master_key, may_create=True)
        create(directory.keys, "keys", None, "keys")


def _from_hex(text: str, origin: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32 or len(text) != 64:
        raise MasterKeyProblem(f"{origin} must hold 64 hex digits.")
    return key


def _write_private(file: Path, text: str) -> None:
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.rename(file)
    sync_folder(file.parent)


@dataclass(frozen=True, slots=True)
class ExportState:
    """What doctor says about key exports."""

    last_export_at: str | None
    keys_not_exported: int


@dataclass(frozen=True, slots=True, repr=False)
class VaultKey:
    """One key in clear."""

    vault_id: str
    version: int
    key: bytes

    @property
    def name(self) -> KeyName:
        return self.vault_id, self.version


class Keyring:
    """All methods block for a moment and may be called from any thread but keyring's own writer."""

    def __init__(self, database: Database, master: bytes, clock: Clock) -> None:
        self._database = database
        self._master = master
        self._cipher = ChaCha20Poly1305(master)
        self._clock = clock

    @classmethod
    def open(
        cls,
        database: Database,
        master_setting: str | None,
        master_file: Path,
        clock: Clock,
        *,
        may_create: bool,
    ) -> Keyring:
        """Open the key store, or begin one where that loses nothing (`may_create`).

        Raises MasterKeyProblem, StorageError.
        """
        fresh = not database.path.exists()
        if fresh and not may_create:
            raise DatabaseMissing(
                f"{database.path} is missing, but vaults are here. Put it back, or take in an "
                "export with `rememberd keys import FILE`, which begins a new one."
            )
        master = load_master_key(master_setting, master_file, may_create=fresh)
        if fresh:
            create(database.path, "keys", None, "keys")
        database.open("keys")
        ring = cls(database, master, clock)
        try:
            ring._check_master()
        except BaseException:
            database.close()
            raise
        return ring

    def _check_master(self) -> None:
        """Is this the master key that wrapped what is here? Remembers a sealed text to tell."""
        sealed = self._database.read_here(lambda tx: tx.value("meta", name="check"))
        if sealed is None:
            value = self._seal(_CHECK, b"check")
            self._database.submit(lambda tx: tx.run("set_meta", name="check", value=value)).result()
            return
        try:
            self._unseal(bytes(sealed), b"check")
        except InvalidTag:
            raise MasterKeyProblem(
                "This master key did not wrap the keys in keys.db. Use the one that did, or "
                "`rememberd keys import` an export into a fresh key store."
            ) from None

    async def close(self) -> None:
        await self._database.alone(Database.close)

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for one purpose, never stored: from the master key by HMAC-SHA256."""
        return hmac.digest(self._master, f"derive 1\n{purpose}".encode(), "sha256")

    # -- keys of vaults ----------------------------------------------------------------------------

    def create(self, vault_id: str, version: int) -> bytes:
        """Make, wrap and store a random key; durable when this returns."""
        key = VaultKey(vault_id, version, os.urandom(32))
        self._put(key)
        return key.key

    def _put(self, key: VaultKey) -> None:
        name = {"vault_id": key.vault_id, "version": key.version}
        wrapped = self._seal(key.key, _binding(key.vault_id, key.version))
        at = to_micros(self._clock.now())

        def put(tx: Transaction) -> None:
            tx.run("put_key", **name, wrapped=wrapped, created_at=at)
            tx.run("forget_destruction", **name)  # of a version that was begun and given up

        self._database.submit(put).result()

    def get(self, vault_id: str, version: int) -> bytes | None:
        """The key, or None when there is none. Raises WrongKey for a tampered row."""
        wrapped = self._database.read_here(
            lambda tx: tx.value("wrapped_key", vault_id=vault_id, version=version)
        )
        return None if wrapped is None else self._unwrap(vault_id, version, wrapped)

    def _unwrap(self, vault_id: str, version: int, wrapped: bytes) -> bytes:
        try:
            return self._unseal(bytes(wrapped), _binding(vault_id, version))
        except InvalidTag:
            raise WrongKey("A key in keys.db was tampered with or moved.") from None

    async def destroy(self, vault_id: str, versions: tuple[int, ...]) -> None:
        """Forget keys for good: rows are overwritten and the log emptied before this returns.

        What remains is the note that they were destroyed, so that no export brings them back.
        """
        at = to_micros(self._clock.now())

        def forget(tx: Transaction) -> None:
            for version in versions:
                if tx.run("destroy_key", vault_id=vault_id, version=version):
                    tx.run("note_destroyed", vault_id=vault_id, version=version, at=at)

        await self._database.write(forget)
        await self._database.alone(lambda database: database.truncate_log())

    def destroyed(self) -> list[KeyName]:
        return self._database.read_here(lambda tx: tx.tuples("destroyed"))

    def is_destroyed(self, name: KeyName) -> bool:
        vault_id, version = name
        return bool(
            self._database.read_here(
                lambda tx: tx.value("is_destroyed", vault_id=vault_id, version=version)
            )
        )

    def note_destroyed(self, names: Iterable[KeyName]) -> None:
        """What an export says was destroyed elsewhere; keys that are here stay."""
        at = to_micros(self._clock.now())
        rows = [{"vault_id": vault_id, "version": version, "at": at} for vault_id, version in names]
        self._database.submit(lambda tx: tx.many("note_destroyed", rows)).result()

    def versions(self, vault_id: str) -> tuple[int, ...]:
        rows = self._database.read_here(lambda tx: tx.tuples("versions", vault_id=vault_id))
        return tuple(row[0] for row in rows)

    def exported_versions(self, vault_id: str) -> tuple[int, ...]:
        rows = self._database.read_here(
            lambda tx: tx.tuples("exported_versions", vault_id=vault_id)
        )
        return tuple(row[0] for row in rows)

    def export_state(self) -> ExportState:
        def look(tx: Transaction) -> ExportState:
            last = tx.value("last_export")
            return ExportState(
                isoformat(from_micros(last)) if last is not None else None, tx.value("unexported")
            )

        return self._database.read_here(look)

    # -- the audit chain of control ----------------------------------------------------------------

    def audit_head(self) -> str | None:
        """The head that was noted last, out of reach of whoever can write control.db alone.

        Raises WrongKey for a tampered row.
        """
        sealed = self._database.read_here(lambda tx: tx.value("meta", name="audit"))
        if sealed is None:
            return None
        try:
            return self._unseal(bytes(sealed), b"audit").decode()
        except InvalidTag:
            raise WrongKey("What keys.db notes of the audit chain was tampered with.") from None

    async def note_audit_head(self, head: str) -> None:
        sealed = self._seal(head.encode(), b"audit")
        await self._database.write(lambda tx: tx.run("put_meta", name="audit", value=sealed))

    # -- exports -----------------------------------------------------------------------------------

    def keys(self) -> list[VaultKey]:
        """Every key in clear. Raises WrongKey for a tampered row."""
        rows = self._database.read_here(lambda tx: tx.tuples("all_keys"))
        return [
            VaultKey(vault, version, self._unwrap(vault, version, wrapped))
            for vault, version, wrapped in rows
        ]

    def record_export(self, keys: Iterable[VaultKey], made_at: datetime) -> None:
        """An export that was made then holds these keys."""
        at = to_micros(made_at)
        held = [
            {"vault_id": key.vault_id, "version": key.version, "exported_at": at} for key in keys
        ]
        self._database.submit(lambda tx: tx.many("record_export", held)).result()

    def put_back(self, key: VaultKey) -> bool:
        """Take in one key of an export; False when it is here already, or destroyed for good."""
        if self.get(key.vault_id, key.version) is not None or self.is_destroyed(key.name):
            return False
        self._put(key)
        return True

    # -- sealing -----------------------------------------------------------------------------------

    def _seal(self, text: bytes, binding: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, text, binding)

    def _unseal(self, sealed: bytes, binding: bytes) -> bytes:
        return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], binding)


def _binding(vault_id: str, version: int) -> bytes:
    return f"{vault_id}:{version}".encode()
