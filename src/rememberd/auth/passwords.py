"""Passwords: argon2id, off the event loop, a few at a time.

Checking costs the same for an unknown account as for a wrong password, so time tells nothing.
"""

from __future__ import annotations

import os
from functools import cached_property

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from rememberd.auth import password_rules

# OWASP's minimum for argon2id: 19 MiB, two passes, one lane.
_KIB, _PASSES, _LANES = 19 * 1024, 2, 1


class Passwords:
    """`at_once` bounds CPU and memory: each check takes one core and 19 MiB for a moment."""

    def __init__(self, at_once: int | None = None) -> None:
        self._hasher = PasswordHasher(memory_cost=_KIB, time_cost=_PASSES, parallelism=_LANES)
        self._room = anyio.CapacityLimiter(at_once or os.cpu_count() or 1)

    @cached_property
    def _nobody(self) -> str:
        return self._hasher.hash(os.urandom(16).hex())

    async def hash(self, password: str, email: str) -> str:
        """A new one, of the account with this email. Raises InvalidInput; see `password_rules`."""
        password_rules.check(password, email)
        return await self.hash_again(password)

    async def hash_again(self, password: str) -> str:
        """One that was let in already, whatever today's rules say of it."""
        return await anyio.to_thread.run_sync(self._hasher.hash, password, limiter=self._room)

    async def matches(self, password: str, stored: str | None) -> bool:
        """Against nothing (`stored` None) it takes as long and is always False."""
        return await anyio.to_thread.run_sync(self._matches, password, stored, limiter=self._room)

    def _matches(self, password: str, stored: str | None) -> bool:
        try:
            self._hasher.verify(stored or self._nobody, password[: password_rules.LONGEST + 1])
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None

    def is_outdated(self, stored: str) -> bool:
        """Made with other parameters than today's: hash again at the next sign-in."""
        return self._hasher.check_needs_rehash(stored)
