"""Reads and verifies the audit chains: control's own and each vault's.

A vault's head stands in control's chain from time to time, so a vault's chain that was cut short or
rewritten from the start does not pass either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rememberd.clock import isoformat
from rememberd.engine.engine import Engine
from rememberd.engine.vaults import vault_named
from rememberd.errors import InvalidInput, RememberdError
from rememberd.model import Vault, VaultStatus
from rememberd.store import accounts, control, ledger
from rememberd.store.ledger import ChainReport, Entry
from rememberd.store.transaction import Transaction

MOST_LISTED = 1000
_LOST = "its end was cut off, or an older copy put back"


@dataclass(frozen=True, slots=True)
class ChainResult:
    """`problem` is None for a chain that is whole; `head` is its last hash. `note` says what was
    lost before, and is on record in the chain itself.
    """

    name: str
    rows: int
    head: str
    problem: str | None = None
    note: str | None = None


async def verify(engine: Engine) -> list[ChainResult]:
    """Walk every chain, control's first."""
    store = engine.store
    results = [await _control(engine)]
    anchors = await store.control.read(ledger.anchors)
    vaults = await store.control.read(control.vaults)
    ready = [vault for vault in vaults if vault.status is VaultStatus.READY]
    return results + [await _vault(engine, vault, anchors.get(vault.id)) for vault in ready]


async def _control(engine: Engine) -> ChainResult:
    store = engine.store
    result = _result("control", await store.control.read(ledger.verify))
    if result.problem is not None:
        return result
    try:
        noted = store.keyring.audit_head()
    except RememberdError as error:
        return replace(result, problem=error.message)
    if noted and not await store.control.read(lambda tx: ledger.holds(tx, noted)):
        problem = f"The head that the key store noted is not in this chain: {_LOST}."
        return replace(result, problem=problem)
    losses = await store.control.read(ledger.losses)
    when = " and ".join(isoformat(at) for at in losses)
    return replace(result, note=f"Until {when}: {_LOST}." if losses else None)


async def _vault(engine: Engine, vault: Vault, anchor: str | None) -> ChainResult:
    try:
        async with engine.store.vault(vault.id, "ro") as handle:
            report = await handle.read(ledger.verify)
            known = anchor is None or await handle.read(lambda tx: ledger.holds(tx, anchor))
    except RememberdError as error:
        return ChainResult(vault.name, 0, "", error.message)
    result = _result(vault.name, report)
    if result.problem is None and not known:
        problem = "The head that control noted is not in this chain: rows were cut off or replaced."
        return ChainResult(vault.name, report.rows, report.head, problem)
    return result


def _result(name: str, report: ChainReport) -> ChainResult:
    if report.broken_at is None or report.broken_time is None:
        return ChainResult(name, report.rows, report.head)
    problem = (
        f"Row {report.broken_at} of {isoformat(report.broken_time)} does not follow the row before "
        "it: something was changed, removed or put in."
    )
    return ChainResult(name, report.rows, report.head, problem)


async def newest(
    engine: Engine, vault_name: str | None, limit: int, before: int | None
) -> list[Entry]:
    """Rows of control's chain or of a vault's, newest first. Raises NotFound, InvalidInput."""
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit: {limit} is not from 1 to {MOST_LISTED:,}.", field="limit")
    if vault_name is None:
        return await engine.store.control.read(lambda tx: ledger.newest(tx, limit, before))
    vault = await vault_named(engine, vault_name)
    async with engine.store.vault(vault.id, "ro") as handle:
        return await handle.read(lambda tx: ledger.newest(tx, limit, before))


async def names(engine: Engine) -> dict[str, str]:
    """What the ids in chains stand for: people by their email, the rest by name."""

    def look(tx: Transaction) -> dict[str, str]:
        people = {one.account.id: one.account.email for one in accounts.everybody(tx)}
        places = (*control.organizations(tx), *control.projects(tx), *control.vaults(tx))
        return people | {place.id: place.name for place in places}

    return await engine.store.control.read(look)


async def anchor_control(engine: Engine) -> None:
    """Note the present head of control's chain in the key store, if it has moved.

    Where the head that was noted before is gone, the chain itself says so from then on.
    """
    store = engine.store
    noted, now = store.keyring.audit_head(), engine.clock.now()
    if noted and not await store.control.read(lambda tx: ledger.holds(tx, noted)):
        await store.control.write(lambda tx: ledger.note_loss(tx, noted, now))
    head = await store.control.read(ledger.head)
    if head not in (noted, ledger.GENESIS):
        await store.keyring.note_audit_head(head)


async def anchor(engine: Engine, vault_id: str) -> None:
    """Note a vault's present head in control's chain, if it has moved since the last time."""
    store = engine.store
    async with store.vault(vault_id, "ro") as handle:
        head = await handle.read(ledger.head)
    if head == ledger.GENESIS:
        return
    if head == await store.control.read(lambda tx: ledger.last_anchor(tx, vault_id)):
        return
    now = engine.clock.now()
    await store.control.write(lambda tx: ledger.note_anchor(tx, vault_id, head, now))
