"""The parts that every memory operation needs, put together once by `app.py`.

Holds no state of its own; operations are functions in the files beside it.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta

from rememberd.clock import Clock
from rememberd.engine.meaning import Meaning
from rememberd.model import READ, Mode, Principal
from rememberd.store.store import Store, VaultHandle

LEASE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that shape reflection and usage."""

    reflection_memories: int = 50
    reflection_tokens: int = 20_000
    batch_memories: int = 100
    batch_tokens: int = 24_000
    monthly_token_allowance: int | None = None
    author_boost: bool = True


@dataclass(frozen=True, slots=True)
class Engine:
    store: Store
    meaning: Meaning
    clock: Clock
    limits: Limits
    public_url: str

    def open(self, principal: Principal, mode: Mode) -> AbstractAsyncContextManager[VaultHandle]:
        """The caller's own vault, and no other; read-only for a principal who may only read."""
        return self.store.vault(principal.vault_id, mode if principal.scopes - {READ} else "ro")
