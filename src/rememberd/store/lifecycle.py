"""The life of a vault: made, emptied under a new key, erased; each step survives a crash.

What is to be done is noted in control before it is done. The key goes first and the file second, so
that a crash between the two leaves unreadable bytes, never a readable remainder.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rememberd.clock import to_micros
from rememberd.errors import NotFound, StorageError
from rememberd.model import Certificate, Vault, VaultKind, VaultStatus
from rememberd.store import control, ledger, vectors
from rememberd.store.control import Unfinished
from rememberd.store.database import Database
from rememberd.store.database import create as create_file
from rememberd.store.place import sync_folder
from rememberd.store.store import Store
from rememberd.store.transaction import Row, Transaction

T = TypeVar("T")
logger = logging.getLogger(__name__)


async def create(
    store: Store,
    name: str,
    *,
    kind: VaultKind = VaultKind.PERSONAL,
    organization_id: str | None = None,
    project_id: str | None = None,
    account_id: str | None = None,
) -> Vault:
    """Make a vault; in the organization `local` unless told otherwise. Raises Conflict.

    `account_id` is whose a personal vault is; None before anyone has signed in.
    """

    def enter(tx: Transaction) -> Vault:
        home = organization_id or control.local_organization(tx, store.clock).id
        return control.add_vault(tx, home, name, kind, store.clock, project_id, account_id)

    async def make() -> Vault:
        vault = await store.control.write(enter)
        async with store.alone(vault.id):
            try:
                await _finish_creation(store, vault)
            except BaseException:
                await _take_back(store, vault)
                raise
        return await store.control.read(lambda tx: control.vault(tx, vault.id))

    return await _uncut(make())


async def _uncut(step: Coroutine[Any, Any, T]) -> T:
    """Run a step to its end, also when whoever asked for it goes away."""
    return await asyncio.shield(step)


async def _finish_creation(store: Store, vault: Vault) -> None:
    await _discard(store, vault.id, vault.generation)
    await asyncio.to_thread(_make_file, store, vault.id, vault.generation)
    if await store.control.write(lambda tx: tx.run("make_ready", id=vault.id)) == 0:
        raise NotFound("There is no such vault.")  # erased before it was finished


async def _take_back(store: Store, vault: Vault) -> None:
    """The vault could not be made: let go of its name."""
    await _discard(store, vault.id, vault.generation)
    await store.control.write(lambda tx: tx.run("remove_unmade_vault", id=vault.id))


def _make_file(store: Store, vault_id: str, generation: int) -> bytes:
    """A new key, then an empty file that it opens; both durable. Returns the key."""
    key = store.keyring.create(vault_id, generation)
    create_file(store.directory.vault(vault_id, generation), "vault", key, vault_id)
    return key


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
    return await _uncut(_forget_all(store, vault_id, actor))


async def _forget_all(store: Store, vault_id: str, actor: str) -> Certificate:
    async with store.alone(vault_id):
        vault = await store.control.read(lambda tx: control.vault(tx, vault_id))
        before = await (await store.open_alone(vault_id)).read(_contents)
        await _note(store, vault_id, {"step": "forget"})
        async with store.key_changes:
            try:
                certificate = _naming_exports(store, await _replace(store, vault, before, actor))
                await store.control.write(lambda tx: _enter_forgotten(tx, certificate, actor))
            finally:
                await store.close_alone(vault_id)
                await _keep_current(store, vault_id)
    return certificate


def _contents(tx: Transaction) -> Contents:
    return Contents(
        memories=int(tx.value("count_memories")),
        mirror=vectors.count(tx),
        usage=tx.all("all_usage"),
        audit=tx.all("all_audit"),
    )


async def _replace(store: Store, vault: Vault, before: Contents, actor: str) -> Certificate:
    """Fill the file of the next generation with the ledger alone. Control does not name it yet."""
    certificate_id = store.clock.new_id("crt")
    now = store.clock.now()
    fresh = vault.generation + 1
    await _discard(store, vault.id, fresh)
    key = await asyncio.to_thread(_make_file, store, vault.id, fresh)
    database = store.file(vault.id, fresh, key)
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
    return Certificate(
        id=certificate_id,
        vault_id=vault.id,
        kind="forget_all",
        issued_at=now,
        memories_before=before.memories,
        mirror_before=before.mirror,
        memories_after=after.memories,
        mirror_after=after.mirror,
        key_versions_destroyed=(vault.generation,),
        exported_key_versions=(),
        audit_head=head,
    )


def _naming_exports(store: Store, certificate: Certificate) -> Certificate:
    exported = set(store.keyring.exported_versions(certificate.vault_id))
    destroyed = certificate.key_versions_destroyed
    held = tuple(version for version in destroyed if version in exported)
    return replace(certificate, exported_key_versions=held)


def _enter_forgotten(tx: Transaction, certificate: Certificate, actor: str) -> None:
    """The point of no return: control names the new file."""
    tx.run("next_generation", id=certificate.vault_id)
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


async def _keep_current(store: Store, vault_id: str) -> None:
    """Destroy the keys, then the files, of every generation that control does not name.

    Before the point of no return that undoes a forget-all, after it that completes it.
    """
    vault = await store.control.read(lambda tx: control.vault(tx, vault_id))
    stale = [version for version in store.keyring.versions(vault_id) if version != vault.generation]
    await store.keyring.destroy(vault_id, tuple(stale))
    current = f"{vault_id}.{vault.generation}."
    await asyncio.to_thread(_unlink, store.directory.vaults, f"{vault_id}.*", but=current)
    await _note(store, vault_id, None)


# --- erase -------------------------------------------------------------------------------------


async def erase(store: Store, vault_id: str, actor: str) -> Certificate:
    """Destroy a vault's keys and unlink its files; its keys and grants stop working at once.

    Works on a vault whose file is damaged or missing; the certificate then cannot say counts.
    Takes up an erasure that failed half-way. Raises NotFound.
    """
    return await _uncut(_erase(store, vault_id, actor))


async def _erase(store: Store, vault_id: str, actor: str) -> Certificate:
    async with store.alone(vault_id):
        now = to_micros(store.clock.now())
        begun = await store.control.read(lambda tx: _begun(tx, vault_id))
        note = begun or await _erasure_note(store, vault_id, actor)

        def begin(tx: Transaction) -> None:
            tx.run("begin_erasure", id=vault_id, pending=json.dumps(note))
            tx.run("revoke_keys_of_vault", vault_id=vault_id, at=now)
            tx.run("revoke_grants_of_vault", vault_id=vault_id, at=now)

        await store.control.write(begin)
        return await _finish_erasure(store, vault_id, note)


def _begun(tx: Transaction, vault_id: str) -> dict[str, Any] | None:
    """What an erasure that was begun before has noted."""
    item = control.with_pending(tx, vault_id)
    if item.vault.status is VaultStatus.ERASED:
        raise NotFound("There is no such vault.")
    return item.pending if item.vault.status is VaultStatus.ERASING else None


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
    # Noted before they are destroyed, to be known again after a crash.
    note.setdefault("versions", list(store.keyring.versions(vault_id)))
    await _note(store, vault_id, note)
    versions = tuple(note["versions"])
    certificate = Certificate(
        id=note["certificate"],
        vault_id=vault_id,
        kind="erase",
        issued_at=store.clock.now(),
        memories_before=note["memories"],
        mirror_before=note["mirror"],
        memories_after=0,
        mirror_after=0,
        key_versions_destroyed=versions,
        exported_key_versions=(),
        audit_head=note["head"],
    )

    def finish(tx: Transaction) -> None:
        _certify(tx, certificate, "vault.erased", note["actor"])
        tx.run("finish_erasure", id=vault_id, at=to_micros(certificate.issued_at))

    async with store.key_changes:
        certificate = _naming_exports(store, certificate)
        await store.keyring.destroy(vault_id, versions)
    await asyncio.to_thread(_unlink, store.directory.vaults, f"{vault_id}.*")
    await store.control.write(finish)
    return certificate


# --- after a crash -----------------------------------------------------------------------------


async def resume(store: Store) -> int:
    """Finish every step that was cut short; returns how many were finished. Run once at start.

    A vault whose step fails again stays as it is, unavailable; the others go on.
    """
    finished = 0
    for item in await store.control.read(control.unfinished):
        try:
            await _resume(store, item)
        except (StorageError, OSError) as error:
            what = {"vault": item.vault.id, "status": str(item.vault.status)}
            logger.warning("could not finish a step", exc_info=error, extra={"data": what})
        else:
            finished += 1
    return finished


async def _resume(store: Store, item: Unfinished) -> None:
    vault = item.vault
    if vault.status is VaultStatus.CREATING:
        await _finish_creation(store, vault)
    elif vault.status is VaultStatus.ERASING and item.pending:
        await _finish_erasure(store, vault.id, item.pending)
    else:
        await _keep_current(store, vault.id)


# --- parts -------------------------------------------------------------------------------------


async def _note(store: Store, vault_id: str, pending: dict[str, Any] | None) -> None:
    text = json.dumps(pending) if pending else None
    await store.control.write(lambda tx: tx.run("set_pending", id=vault_id, pending=text))


async def _discard(store: Store, vault_id: str, generation: int) -> None:
    """Destroy one generation's key, then its files; fine when there are none."""
    await store.keyring.destroy(vault_id, (generation,))
    await asyncio.to_thread(_unlink, store.directory.vaults, f"{vault_id}.{generation}.*")


def _unlink(folder: Path, pattern: str, *, but: str | None = None) -> None:
    """Remove the files of this pattern, except those whose names begin with `but`."""
    for file in folder.glob(pattern):
        if but is None or not file.name.startswith(but):
            file.unlink(missing_ok=True)
    sync_folder(folder)
