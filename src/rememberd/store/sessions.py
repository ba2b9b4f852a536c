"""Rows about browser sessions. Secrets pass through here as hashes alone.

Functions take an open transaction of control.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rememberd.clock import from_micros, to_micros
from rememberd.model import Account
from rememberd.store import accounts
from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Session:
    """A browser's session; `account` is None before sign-in."""

    digest: bytes
    account: Account | None
    challenge: bytes | None
    signed_in_at: datetime | None
    seen_at: datetime
    expires_at: datetime


def add_session(
    tx: Transaction, digest: bytes, account_id: str | None, now: datetime, until: datetime
) -> None:
    tx.run(
        "add_session",
        digest=digest,
        account_id=account_id,
        created_at=to_micros(now),
        signed_in_at=to_micros(now) if account_id else None,
        expires_at=to_micros(until),
    )


def session(tx: Transaction, digest: bytes, now: datetime) -> Session | None:
    """None when there is none, it has ended, or its account was disabled."""
    row = tx.one("session", digest=digest)
    if row is None or row["expires_at"] <= to_micros(now) or row["disabled_at"] is not None:
        return None
    signed_in = row["signed_in_at"]
    return Session(
        digest,
        accounts.get(tx, row["account_id"]) if row["account_id"] else None,
        bytes(row["challenge"]) if row["challenge"] else None,
        from_micros(signed_in) if signed_in is not None else None,
        from_micros(row["seen_at"]),
        from_micros(row["expires_at"]),
    )


def other_sessions(tx: Transaction, account_id: str, but: bytes, now: datetime) -> int:
    """In how many other browsers the account is signed in."""
    return int(tx.value("count_sessions", account_id=account_id, but=but, now=to_micros(now)))
