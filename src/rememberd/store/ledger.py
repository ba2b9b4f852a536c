"""The append-only side of a database: usage and the audit chain. Never memory text.

Every audit row carries a hash over itself and the row before it, so that a change, a gap or a swap
in the middle shows. The same functions serve a vault and the control database.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rememberd.clock import from_micros, to_micros
from rememberd.errors import QuotaExceeded
from rememberd.store.transaction import Row, Transaction

GENESIS = "0" * 64


def month_of(now: datetime) -> str:
    """The calendar month in UTC that tokens are counted in, such as 2026-11."""
    return now.astimezone(UTC).strftime("%Y-%m")


def used_this_month(tx: Transaction, now: datetime) -> int:
    """Tokens stored in this vault in the current month."""
    return _used(tx.one("last_usage"), month_of(now))


def _used(last: Row | None, month: str) -> int:
    return last["month_total"] if last and last["month"] == month else 0


def meter(tx: Transaction, tokens: int, allowance: int | None, now: datetime) -> None:
    """Count tokens about to be stored. Raises QuotaExceeded, counting nothing, over `allowance`."""
    last, month = tx.one("last_usage"), month_of(now)
    used = _used(last, month)
    if allowance is not None and used + tokens > allowance:
        raise QuotaExceeded(
            f"This vault's allowance of {allowance:,} tokens for {month} does not cover "
            f"{tokens:,} more: {used:,} are used. Nothing was stored; reading goes on. Wait for "
            "the next month, or raise monthly_token_allowance."
        )
    tx.run(
        "add_usage",
        seq=last["seq"] + 1 if last else 1,
        at=to_micros(now),
        month=month,
        tokens=tokens,
        month_total=used + tokens,
    )


@dataclass(frozen=True, slots=True)
class Delta:
    """Tokens of one usage row, to be rolled up into control once."""

    seq: int
    month: str
    tokens: int


def usage_since(tx: Transaction, after: int, limit: int = 1000) -> list[Delta]:
    rows = tx.tuples("usage_since", after=after, limit=limit)
    return [Delta(*row) for row in rows]


def record(
    tx: Transaction, *, actor: str, action: str, subject: str, detail: dict[str, Any], now: datetime
) -> str:
    """Append one audit row; returns its hash. `detail` holds ids and counts only."""
    last = tx.one("last_audit")
    row = {
        "seq": last["seq"] + 1 if last else 1,
        "at": to_micros(now),
        "actor": actor,
        "action": action,
        "subject": subject,
        "detail": json.dumps(detail, sort_keys=True),
    }
    digest = link_hash(last["hash"] if last else GENESIS, row)
    tx.run("add_audit", hash=digest, **row)
    return digest


def link_hash(previous: str, row: Row) -> str:
    """SHA-256 over the hash before and the row in a canonical spelling."""
    names = ("seq", "at", "actor", "action", "subject", "detail")
    canonical = json.dumps([row[name] for name in names], separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{canonical}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a chain, as it was recorded."""

    seq: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


def newest(tx: Transaction, limit: int, before: int | None = None) -> list[Entry]:
    """The last rows, or the last ones before row `before`, newest first."""
    rows = tx.all("newest_audit", before=before or 2**62, limit=limit)
    return [
        Entry(
            row["seq"],
            from_micros(row["at"]),
            row["actor"],
            row["action"],
            row["subject"],
            json.loads(row["detail"]),
        )
        for row in rows
    ]


def head(tx: Transaction) -> str:
    last = tx.one("last_audit")
    return last["hash"] if last else GENESIS


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verifying a chain found; `broken_at` is the first row that does not follow.

    A chain whose end was cut off follows still, so `anchored` says whether it holds the hash that
    stands in a certificate or in another chain.
    """

    rows: int
    head: str
    anchored: bool
    broken_at: int | None = None
    broken_time: datetime | None = None


def verify(tx: Transaction, anchor: str = GENESIS) -> ChainReport:
    """Walk the whole chain, looking out for the hash `anchor`."""
    previous, count, anchored = GENESIS, 0, anchor == GENESIS
    while rows := tx.all("audit_since", after=count, limit=1000):
        for row in rows:
            if row["seq"] != count + 1 or link_hash(previous, row) != row["hash"]:
                at = from_micros(row["at"])
                return ChainReport(count, previous, anchored, row["seq"], at)
            previous, count = row["hash"], row["seq"]
            anchored = anchored or previous == anchor
    return ChainReport(count, previous, anchored)


def note_anchor(tx: Transaction, vault_id: str, head: str, now: datetime) -> None:
    """In control: this is how far the vault's chain had come. Nothing is added for an old head."""
    if head in (GENESIS, last_anchor(tx, vault_id)):
        return
    detail = {"head": head}
    record(tx, actor="rememberd", action="vault.anchored", subject=vault_id, detail=detail, now=now)


def last_anchor(tx: Transaction, vault_id: str) -> str | None:
    """In control: the head of this vault that was noted last."""
    row = tx.one("last_anchor", vault_id=vault_id)
    return _head_in(row) if row else None


def anchors(tx: Transaction) -> dict[str, str]:
    """In control: the last head noted of each vault."""
    return {row["subject"]: _head_in(row) for row in tx.all("anchors")}


def _head_in(row: Row) -> str:
    """A certificate's row names the chain's head too; see `lifecycle`."""
    detail = json.loads(row["detail"])
    head: str = detail["head"] if "head" in detail else detail["vault_head"]
    return head


def note_loss(tx: Transaction, lost_head: str, now: datetime) -> None:
    """In control: its chain once had this head, and has it no more."""
    detail = {"head": lost_head}
    record(tx, actor="rememberd", action="audit.lost", subject="control", detail=detail, now=now)


def losses(tx: Transaction) -> list[datetime]:
    """In control: when it was noticed that rows of its chain were gone."""
    return [from_micros(row["at"]) for row in tx.all("losses")]


def holds(tx: Transaction, digest: str) -> bool:
    """Does this chain have a row of this hash?"""
    return tx.value("audit_by_hash", hash=digest) is not None
