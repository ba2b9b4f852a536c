"""Time and ids, given to whoever needs them so that tests can hold them still.

Times are aware UTC; in databases they are whole microseconds since 1970 (`to_micros`).
Ids are UUIDv7 (RFC 9562 §5.7) behind a prefix that says what they name.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """Where the present and new ids come from."""

    def now(self) -> datetime: ...

    def new_id(self, prefix: str) -> str: ...


class SystemClock:
    """The machine's clock. Ids of one process never run backwards, even when the clock does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def now(self) -> datetime:
        return from_micros(time.time_ns() // 1000)

    def new_id(self, prefix: str) -> str:
        with self._lock:
            # 48 bits of milliseconds and 12 below them (RFC 9562 §6.2, method 3), counted up when
            # the clock stands still, so that ids sort in the order they were made.
            ticks = time.time_ns() * 4096 // 1_000_000
            self._last = ticks = max(ticks, self._last + 1)
        return f"{prefix}_{uuid7_hex(ticks, os.urandom(8))}"


def uuid7_hex(ticks: int, tail: bytes) -> str:
    """32 hex digits of a UUIDv7 from `ticks` (1/4096 ms since 1970) and 8 random bytes."""
    head = (ticks >> 12) << 16 | 0x7000 | ticks & 0xFFF
    variant = int.from_bytes(tail, "big") & (1 << 62) - 1 | 1 << 63
    return f"{head:016x}{variant:016x}"


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970. Raises ValueError for a time without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone cannot be stored")
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Aware UTC time; the inverse of `to_micros`."""
    return EPOCH + timedelta(microseconds=micros)


def isoformat(moment: datetime) -> str:
    """ISO 8601 in UTC with a trailing Z, as every interface shows times."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
