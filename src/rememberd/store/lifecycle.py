"""The life of a vault: made, emptied under a new key, erased; each step survives a crash.

What is to be done is noted in control before it is done. The key goes first and the file second, so
that a crash between the two leaves unreadable bytes, never a readable remainder.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rememberd.clock import to_micros
from rememberd.errors import StorageError, VaultUnavailable
from rememberd.model import Certificate, Vault, VaultKind, VaultStatus
from rememberd.store import control, ledger, vectors
from rememberd.store.database import Database
from rememberd.store.place import sync_folder
from rememberd.store.store import Store
from rememberd.store.transaction import Row, Transaction


async def create(
    store: Store,
    name: str,
    *,
    kind: VaultKind = VaultKind.PERSONAL,
    organization_id: str | None = None,
    project_id: str | None = None,
) -> Vault:
    """Make a vault; in the organization `local` unless told otherwise. Raises Conflict."""

    def enter(tx: Transaction) -> Vault:
        home = organization_id or control.local_organization(tx, store.clock).id
        return control.add_vault(tx, home, name, kind, store.clock, project_id)

    vault = await store.control.write(enter)
    await _finish_creation(store, vault)
    return await store.control.read(lambda tx: control.vault(tx, vault.id))


async def _finish_creation(store: Store, vault: Vault) -> None:
    await _discard(store, vault.id, vault.generation)
    await asyncio.to_thread(_make_file, store, vault.id, vault.generation)
    await store.control.write(lambda tx: tx.run("set_status", id=vault.id, status="ready"))


def _make_file(store: Store, vault_id: str, generation: int) -> Database:
    """A new key and an empty file under its final name, both durable."""
    key = store.keyring.create(vault_id, generation)
    database = store.file(vault_id, generation, key)
    final = database.path
    database.path = final.with_suffix(".part")
    database.create(vault_id)
    database.path.rename(final)
    database.path = final
    sync_folder(final.parent)
    return database


# --- forget all --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contents:
    """What a vault held: counts of memories and of mirror rows, and its ledger."""

    memories: int
    mirror: int
    usage: list[Row]
    audit: list[Row]


async def forget_all(store: Store, vault_id: str, actor: str) -> Certificate:
    """Leave the vault empty under a new key; grants and keys stay. Returns the proof.

    Until control names the new file, a crash or error leaves everything as it was.
    """
    async with store.alone(vault_id):
        vault = await store.control.read(lambda tx: control.vault(tx, vault_id))
        before = await (await store.open_alone(vault_id)).read(_contents)
        fresh = vault.generation + 1
        await _note(store, vault_id, {"step": "forget", "generation": fresh})
        try:
            certificate = await _replace(store, vault, fresh, before, actor)
        except BaseException:
            await asyncio.shield(_abandon(store, vault_id, fresh))
            raise
        await store.close_alone(vault_id)
        await _retire(store, vault_id, vault.generation)
    return certificate


def _contents(tx: Transaction) -> Contents:
    return Contents(
        memories=int(tx.value("count_memories")),
        mirror=vectors.count(tx),
        usage=tx.all("all_usage"),
        audit=tx.all("all_audit"),
    )


async def _replace(
    store: Store, vault: Vault, fresh: int, before: Contents, actor: str
) -> Certificate:
    """Fill a new file with the ledger alone and let control name it: the point of no return."""
    certificate_id = store.clock.new_id("crt")
    now = store.clock.now()
    await _discard(store, vault.id, fresh)
    database = await asyncio.to_thread(_make_file, store, vault.id, fresh)
    await asyncio.to_thread(database.open, vault.id)

    def carry_over(tx: Transaction) -> tuple[Contents, str]:
        tx.many("add_usage", before.usage)
        tx.many("add_audit", before.audit)
        head = ledger.record(
            tx,
            actor=actor,
            action="vault.forgotten",
            subject=vault.id,
            detail={"certificate": certificate_id, "memories": before.memories},
            now=now,
        )
        return _contents(tx), head

    try:
        after, head = await database.write(carry_over)
    finally:
        await database.alone(Database.close)
    certificate = Certificate(
        id=certificate_id,
        vault_id=vault.id,
        kind="forget_all",
        issued_at=now,
        memories_before=before.memories,
        mirror_before=before.mirror,
        memories_after=after.memories,
        mirror_after=after.mirror,
        key_versions_destroyed=(vault.generation,),
        exported_key_versions=_exported(store, vault.id, (vault.generation,)),
        audit_head=head,
    )
    await store.control.write(lambda tx: _enter_forgotten(tx, vault, fresh, certificate, actor))
    return certificate


def _enter_forgotten(
    tx: Transaction, vault: Vault, fresh: int, certificate: Certificate, actor: str
) -> None:
    pending = json.dumps({"step": "retire", "generation": vault.generation})
    tx.run("set_generation", id=vault.id, generation=fresh, pending=pending)
    _certify(tx, certificate, "vault.forgotten", actor)


def _certify(tx: Transaction, certificate: Certificate, action: str, actor: str) -> None:
    control.add_certificate(tx, certificate)
    ledger.record(
        tx,
        actor=actor,
        action=action,
        subject=certificate.vault_id,
        detail={"certificate": certificate.id, "vault_head": certificate.audit_head},
        now=certificate.issued_at,
    )


async def _retire(store: Store, vault_id: str, generation: int) -> None:
    """Destroy the key of a generation that control no longer names, then its file."""
    await _discard(store, vault_id, generation)
    await _note(store, vault_id, None)


async def _abandon(store: Store, vault_id: str, fresh: int) -> None:
    """Undo a forget-all that did not reach control, unless it did after all."""
    vault = await store.control.read(lambda tx: control.vault(tx, vault_id))
    if vault.generation == fresh:
        await store.close_alone(vault_id)
        await _retire(store, vault_id, fresh - 1)
    else:
        await _discard(store, vault_id, fresh)
        await _note(store, vault_id, None)


# --- erase -------------------------------------------------------------------------------------


async def erase(store: Store, vault_id: str, actor: str) -> Certificate:
    """Destroy a vault's keys and unlink its files; its keys and grants stop working at once.

    Works on a vault whose file is damaged or missing; the certificate then cannot say counts.
    """
    async with store.alone(vault_id):
        vault = await store.control.read(lambda tx: control.vault(tx, vault_id))
        if vault.status is VaultStatus.CREATING:
            raise VaultUnavailable
        note = await _erasure_note(store, vault_id, actor)
        now = to_micros(store.clock.now())

        def begin(tx: Transaction) -> None:
            tx.run("begin_erasure", id=vault_id, pending=json.dumps(note))
            tx.run("revoke_keys_of_vault", vault_id=vault_id, at=now)

        await store.control.write(begin)
        return await _finish_erasure(store, vault_id, note)


async def _erasure_note(store: Store, vault_id: str, actor: str) -> dict[str, Any]:
    """What the certificate will say, read while it still can be."""
    note: dict[str, Any] = {
        "step": "erase",
        "actor": actor,
        "certificate": store.clock.new_id("crt"),
        "memories": None,
        "mirror": None,
        "head": ledger.GENESIS,
    }
    try:
        database = await store.open_alone(vault_id)
        contents, head = await database.read(lambda tx: (_contents(tx), ledger.head(tx)))
    except StorageError:
        return note
    return note | {"memories": contents.memories, "mirror": contents.mirror, "head": head}


async def _finish_erasure(store: Store, vault_id: str, note: dict[str, Any]) -> Certificate:
    await store.close_alone(vault_id)
    versions = note.get("versions") or store.keyring.versions(vault_id)
    note["versions"] = list(versions)  # known again after a crash, when the keys are gone
    await _note(store, vault_id, note)
    exported = _exported(store, vault_id, tuple(versions))
    await store.keyring.destroy(vault_id, tuple(versions))
    await asyncio.to_thread(_unlink, store.directory.vaults, f"{vault_id}.*")
    certificate = Certificate(
        id=note["certificate"],
        vault_id=vault_id,
        kind="erase",
        issued_at=store.clock.now(),
        memories_before=note["memories"],
        mirror_before=note["mirror"],
        memories_after=0,
        mirror_after=0,
        key_versions_destroyed=tuple(versions),
        exported_key_versions=exported,
        audit_head=note["head"],
    )

    def finish(tx: Transaction) -> None:
        _certify(tx, certificate, "vault.erased", note["actor"])
        tx.run("finish_erasure", id=vault_id, at=to_micros(certificate.issued_at))

    await store.control.write(finish)
    return certificate


# --- after a crash -----------------------------------------------------------------------------


async def resume(store: Store) -> int:
    """Finish every step that was cut short; returns how many there were. Run once at start."""
    unfinished = await store.control.read(control.unfinished)
    for vault, pending in ((item.vault, item.pending) for item in unfinished):
        if vault.status is VaultStatus.CREATING:
            await _finish_creation(store, vault)
        elif vault.status is VaultStatus.ERASING and pending:
            await _finish_erasure(store, vault.id, pending)
        elif pending and pending["step"] == "forget":
            await _abandon(store, vault.id, pending["generation"])
        elif pending and pending["step"] == "retire":
            await _retire(store, vault.id, pending["generation"])
    return len(unfinished)


# --- parts -------------------------------------------------------------------------------------


async def _note(store: Store, vault_id: str, pending: dict[str, Any] | None) -> None:
    text = json.dumps(pending) if pending else None
    await store.control.write(lambda tx: tx.run("set_pending", id=vault_id, pending=text))


async def _discard(store: Store, vault_id: str, generation: int) -> None:
    """Destroy one generation's key, then its files; fine when there are none."""
    await store.keyring.destroy(vault_id, (generation,))
    await asyncio.to_thread(_unlink, store.directory.vaults, f"{vault_id}.{generation}.*")


def _unlink(folder: Path, pattern: str) -> None:
    for file in folder.glob(pattern):
        file.unlink(missing_ok=True)
    sync_folder(folder)


def _exported(store: Store, vault_id: str, versions: tuple[int, ...]) -> tuple[int, ...]:
    held = set(store.keyring.exported_versions(vault_id))
    return tuple(version for version in versions if version in held)


async def import_keys(store: Store, text: str, passphrase: str) -> int:
    """Take in the keys of an export, but none that an erasure destroyed; returns how many.

    Raises InvalidInput for a file that is not an export, or the wrong passphrase.
    """

    def current(tx: Transaction) -> set[tuple[str, int]]:
        return {(vault.id, vault.generation) for vault in control.vaults(tx)}

    known = await store.control.read(current)

    def wanted(vault_id: str, version: int) -> bool:
        return (vault_id, version) in known

    return await asyncio.to_thread(store.keyring.import_, text, passphrase, wanted)
