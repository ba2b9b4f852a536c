"""Things worked out from a vault and kept for the next question, bounded in bytes over all vaults.

Entries are keyed by vault and dropped before a deletion in that vault is acknowledged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol, TypeVar, cast


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


class VaultCache:
    """The least recently used vaults go first when the bound is passed."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, Sized] = OrderedDict()

    def get(self, vault_id: str, make: Callable[[], T]) -> T:
        """This vault's entry, made if there is none."""
        with self._lock:
            entry = self._entries.get(vault_id)
            if entry is None:
                entry = self._entries[vault_id] = make()
            self._entries.move_to_end(vault_id)
            return cast("T", entry)  # one cache holds one kind of entry

    def trim(self) -> None:
        """Drop what is over the bound; call after an entry has grown."""
        with self._lock:
            total = sum(entry.nbytes for entry in self._entries.values())
            while total > self._most and self._entries:
                _, dropped = self._entries.popitem(last=False)
                total -= dropped.nbytes

    def drop(self, vault_id: str) -> None:
        with self._lock:
            self._entries.pop(vault_id, None)
