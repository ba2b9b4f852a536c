"""Is everything in working order? A list of checks with what to do about each that fails.

The round trip is a real one, in a vault made for it and erased after it.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from rememberd.engine import forget, store
from rememberd.engine.engine import Engine
from rememberd.engine.search import search_memories
from rememberd.errors import EmbedderUnavailable, RememberdError, UpstreamBusy
from rememberd.model import SCOPES, Draft, Filters, Principal, VaultKind, VaultStatus
from rememberd.store import control, lifecycle
from rememberd.store.place import file_system
from rememberd.store.sqlite import engine_version
from rememberd.store.transaction import Transaction

Outcome = Literal["ok", "warning", "failed"]
_PHRASE = "The doctor's phrase is QUINCE-2718."
_THROW_AWAY = "doctor"
_LEFT_BEHIND = re.compile(rf"{_THROW_AWAY}_[0-9a-f]{{32}}")
_LONGEST_RUN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report. `advice` says what to do unless all is well."""

    name: str
    outcome: Outcome
    detail: str
    advice: str | None = None


async def diagnose(engine: Engine) -> list[Check]:
    """Run every check; a check that raises is a failed one."""
    checks: list[Callable[[Engine], Awaitable[Check]]] = [
        _sqlite,
        _file_system,
        _permissions,
        _key_export,
        _vaults,
        _round_trip,
        _meaning,
    ]
    return [await _run(check, engine) for check in checks]


async def _run(check: Callable[[Engine], Awaitable[Check]], engine: Engine) -> Check:
    try:
        return await check(engine)
    except RememberdError as error:
        return Check(check.__name__.strip("_").replace("_", " "), "failed", error.message)


async def _sqlite(engine: Engine) -> Check:
    return Check("sqlite", "ok", engine_version())


async def _file_system(engine: Engine) -> Check:
    kind = file_system(engine.store.directory.root)
    return Check("file system", "ok", kind or "unknown")


async def _permissions(engine: Engine) -> Check:
    place = engine.store.directory
    files = (place.root, place.vaults, place.master_key, place.socket)
    open_to_others = [path.name for path in files if _readable_by_others(path)]
    if open_to_others:
        advice = f"Run: chmod -R go-rwx '{place.root}'"
        detail = f"Others can read {', '.join(open_to_others)}."
        return Check("permissions", "failed", detail, advice)
    return Check("permissions", "ok", "Only you can read the data directory.")


def _readable_by_others(path: Path) -> bool:
    return path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


async def _key_export(engine: Engine) -> Check:
    state = engine.store.keyring.export_state()
    if left_out := state.keys_not_exported:
        keys = "1 key is" if left_out == 1 else f"{left_out:,} keys are"
        command = engine.store.directory.command("keys export FILE")
        return Check(
            "key export",
            "warning",
            f"{keys} in no export. Losing the master key and every export loses these vaults for "
            "good.",
            f"Run `{command}` and keep the file elsewhere.",
        )
    return Check("key export", "ok", f"Last export {state.last_export_at or 'not needed yet'}.")


async def _vaults(engine: Engine) -> Check:
    """Every vault opens with its key; damage shows here and not at the next search."""
    broken: list[str] = []
    ways_out = dict[str, None]()  # each once
    found = await engine.store.control.read(control.vaults)
    for vault in found:
        if vault.status is not VaultStatus.READY:
            continue
        try:
            async with engine.store.vault(vault.id, "ro") as handle:
                faults = await handle.read(_faults)
            if faults != "ok":
                broken.append(f"{vault.name} (damaged)")
                ways_out["Restore damaged vaults from a backup."] = None
        except RememberdError as error:
            broken.append(f"{vault.name} ({error.code})")
            ways_out[error.message] = None
    if broken:
        advice = " ".join([*ways_out, "Other vaults are not affected."])
        return Check("vaults", "failed", ", ".join(broken), advice)
    return Check("vaults", "ok", f"{len(found)} open and whole.")


def _faults(tx: Transaction) -> str:
    """`ok`, or the first thing that is wrong with the file."""
    # FTS5 checks its index against what its connection last knew of it, which may be the state
    # before the last write; opening the table makes it look again.
    tx.value("open_text_index")
    return tx.value("quick_check")


async def _round_trip(engine: Engine) -> Check:
    """Store, find, delete, in a vault of its own."""
    await _erase_left_behind(engine)
    name = engine.clock.new_id(_THROW_AWAY)
    vault = await lifecycle.create(engine.store, name, kind=VaultKind.PERSONAL)
    principal = Principal(vault_id=vault.id, scopes=frozenset(SCOPES), client=_THROW_AWAY)
    try:
        kept = await store.store_memory(engine, principal, Draft(text=_PHRASE))
        found = await search_memories(engine, principal, "QUINCE-2718", Filters(), 5)
        gone = await forget.delete_memories(engine, principal, [kept.id])
    finally:
        await lifecycle.erase(engine.store, vault.id, _THROW_AWAY)
    if [hit.memory.id for hit in found.hits] != [kept.id] or gone.deleted != (kept.id,):
        return Check("round trip", "failed", "A stored memory was not found or not deleted.")
    return Check("round trip", "ok", "Stored, found and deleted a memory.")


async def _erase_left_behind(engine: Engine) -> None:
    """Vaults of a diagnosis that was killed, and of none that may still run."""
    before = engine.clock.now() - _LONGEST_RUN
    for vault in await engine.store.control.read(control.vaults):
        is_old = vault.status is VaultStatus.READY and vault.created_at < before
        if is_old and _LEFT_BEHIND.fullmatch(vault.name):
            await lifecycle.erase(engine.store, vault.id, _THROW_AWAY)


async def _meaning(engine: Engine) -> Check:
    embedder = await engine.meaning.current()
    if embedder is not None:
        with suppress(EmbedderUnavailable, UpstreamBusy):  # which the state then tells
            await embedder.embed([_PHRASE], "memory")  # the answer to a query may be a kept one
    meaning = engine.meaning.state()
    if meaning.state == "unavailable":
        detail = f"Search by words only: {meaning.reason}"
        return Check("embedder", "warning", detail, "See the settings whose names start embedder.")
    where = f"; texts are sent to {meaning.host}" if meaning.host else ""
    return Check("embedder", "ok", f"{meaning.kind}, {meaning.state}{where}")
