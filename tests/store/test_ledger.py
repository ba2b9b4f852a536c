"""The audit chain shows what was done to it, and usage is counted once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rememberd.errors import QuotaExceeded
from rememberd.store import control, ledger, lifecycle
from rememberd.store.ledger import ChainReport, Delta
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import StillClock


def note(tx: Transaction, what: str, now: datetime) -> str:
    return ledger.record(
        tx, actor="key_1", action=what, subject="vlt_1", detail={"ids": ["mem_1"]}, now=now
    )


async def chained(store: Store, vault_id: str, clock: StillClock, rows: int = 5) -> list[str]:
    """Hashes of a chain of so many rows."""
    async with store.vault(vault_id, "record") as vault:
        return [
            await vault.record(lambda tx, number=number: note(tx, f"deed.{number}", clock.now()))
            for number in range(rows)
        ]


async def tampered(store: Store, vault_id: str, sql: str, anchor: str) -> ChainReport:
    """What verifying finds after somebody who holds the vault's key has run `sql`."""

    def work(tx: Transaction) -> ChainReport:
        for number in (1, 2, 3):
            tx.connection.execute(f"DROP TRIGGER audit_is_append_only_{number}").fetchall()
        tx.connection.execute(sql).fetchall()
        return ledger.verify(tx, anchor)

    async with store.vault(vault_id, "rw") as vault:
        return await vault.write(work)


async def test_an_untouched_chain_verifies(store: Store, alice: str, clock: StillClock) -> None:
    hashes = await chained(store, alice, clock)
    async with store.vault(alice, "ro") as vault:
        report = await vault.read(lambda tx: ledger.verify(tx, hashes[2]))
    assert report == ChainReport(rows=5, head=hashes[-1], anchored=True)


async def test_an_empty_chain_verifies(store: Store, alice: str) -> None:
    async with store.vault(alice, "ro") as vault:
        report = await vault.read(ledger.verify)
    assert report == ChainReport(rows=0, head=ledger.GENESIS, anchored=True)


@pytest.mark.parametrize(
    "sql, broken_at",
    [
        ("UPDATE audit SET actor = 'key_2' WHERE seq = 3", 3),
        ("UPDATE audit SET at = at + 1 WHERE seq = 1", 1),
        ("UPDATE audit SET detail = '{}' WHERE seq = 5", 5),
        ("UPDATE audit SET hash = 'x' WHERE seq = 4", 4),
        ("DELETE FROM audit WHERE seq = 3", 4),
        ("DELETE FROM audit WHERE seq = 1", 2),
        ("UPDATE audit SET seq = CASE seq WHEN 2 THEN -3 ELSE -2 END WHERE seq IN (2, 3); "
         "UPDATE audit SET seq = -seq WHERE seq < 0", 2),
        ("DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2", 2),
        ("INSERT INTO audit SELECT 6, at, actor, action, subject, detail, hash FROM audit "
         "WHERE seq = 5", 6),
    ],
)  # fmt: skip
async def test_a_change_a_gap_a_swap_or_an_addition_shows(
    store: Store, alice: str, clock: StillClock, sql: str, broken_at: int
) -> None:
    await chained(store, alice, clock)
    report = await tampered(store, alice, sql, ledger.GENESIS)
    assert report.broken_at == broken_at


async def test_a_tail_that_was_cut_off_shows_against_the_hash_that_was_anchored(
    store: Store, alice: str, clock: StillClock
) -> None:
    hashes = await chained(store, alice, clock)
    report = await tampered(store, alice, "DELETE FROM audit WHERE seq > 3", hashes[-1])
    assert (report.broken_at, report.rows, report.anchored) == (None, 3, False)


async def test_a_certificate_anchors_the_vaults_chain_in_controls(
    store: Store, alice: str, clock: StillClock
) -> None:
    await chained(store, alice, clock)
    proof = await lifecycle.forget_all(store, alice, "key_1")
    async with store.vault(alice, "ro") as vault:
        report = await vault.read(lambda tx: ledger.verify(tx, proof.audit_head))
    assert (report.rows, report.anchored, report.head) == (6, True, proof.audit_head)
    rows = await store.control.read(lambda tx: tx.all("audit_since", after=0, limit=10))
    assert [row["action"] for row in rows] == ["vault.forgotten"]
    assert proof.audit_head in rows[0]["detail"]
    assert (await store.control.read(ledger.verify)).broken_at is None


# -- usage -------------------------------------------------------------------------------------


async def test_tokens_are_counted_by_calendar_month_in_utc(store: Store, alice: str) -> None:
    def at(*when: int) -> datetime:
        return datetime(*when, tzinfo=UTC)  # pyright: ignore[reportArgumentType]

    async with store.vault(alice, "rw") as vault:

        async def meter(tokens: int, now: datetime, allowance: int | None = 100) -> int:
            await vault.write(lambda tx: ledger.meter(tx, tokens, allowance, now))
            return await vault.read(lambda tx: ledger.used_this_month(tx, now))

        assert await meter(60, at(2026, 11, 30, 23, 59, 59)) == 60
        assert await meter(40, at(2026, 11, 30, 23, 59, 59)) == 100
        with pytest.raises(QuotaExceeded, match="100 are used"):
            await meter(1, at(2026, 11, 30, 23, 59, 59))
        assert await meter(100, at(2026, 12, 1)) == 100
        assert await meter(5, at(2026, 12, 1), None) == 105
        with pytest.raises(QuotaExceeded):
            await meter(1, at(2026, 12, 31))
        assert await meter(0, at(2027, 1, 1)) == 0


async def test_usage_is_rolled_up_once_however_often_it_is_sent(store: Store, alice: str) -> None:
    deltas = [Delta(1, "2026-11", 10), Delta(2, "2026-11", 5), Delta(3, "2026-12", 7)]

    async def roll_up(some: list[Delta]) -> dict[str, int]:
        await store.control.write(lambda tx: control.roll_up(tx, alice, some))
        return await store.control.read(lambda tx: control.usage_by_month(tx, alice))

    assert await roll_up(deltas[:2]) == {"2026-11": 15}
    assert await roll_up(deltas) == {"2026-11": 15, "2026-12": 7}
    assert await roll_up(deltas) == {"2026-11": 15, "2026-12": 7}
    assert await roll_up(deltas[:1]) == {"2026-11": 15, "2026-12": 7}
    assert await roll_up([]) == {"2026-11": 15, "2026-12": 7}


async def test_a_roll_up_that_fails_half_way_counts_nothing(store: Store, alice: str) -> None:
    def fail(tx: Transaction) -> None:
        control.roll_up(tx, alice, [Delta(1, "2026-11", 10)])
        raise QuotaExceeded

    with pytest.raises(QuotaExceeded):
        await store.control.write(fail)
    assert await store.control.read(lambda tx: control.usage_by_month(tx, alice)) == {}
    assert await store.control.read(lambda tx: control.rolled_up_to(tx, alice)) == 0
