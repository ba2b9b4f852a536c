"""How often somebody may try to sign in: counted by address, and by account.

An attempt counts as failed from its beginning, so that many at once are not more than many in turn.
Where an account signed in before, others' failures do not count: nobody can lock an owner out.
"""

from __future__ import annotations

from collections import OrderedDict

from rememberd.auth.limits import Backoff, Wait, Window
from rememberd.clock import Clock
from rememberd.errors import TooManyAttempts

_MOST_KNOWN = 10_000


class Attempts:
    """`account` is an email, known or not; `address` a key of `limits.address_key`."""

    def __init__(self, clock: Clock) -> None:
        self._by_address = Window(most=30, seconds=300, clock=clock)
        self._by_account = Backoff(clock)
        self._proofs = Backoff(clock)
        self._known: OrderedDict[str, None] = OrderedDict()

    def begin(self, account: str, address: str) -> None:
        """With a password. Raises TooManyAttempts."""
        bucket = self._bucket(account, address)
        _refuse(self._by_account.check(bucket) or self._by_address.take(address))
        self._by_account.failed(bucket)

    def begin_recovery(self, address: str) -> None:
        """With a recovery code, which nobody guesses: counted by address alone, so that it is a way
        in while others guess the password. Raises TooManyAttempts.
        """
        _refuse(self._by_address.take(address))

    def succeeded(self, account: str, address: str) -> None:
        self._by_address.give_back(address)
        self._by_account.succeeded(self._bucket(account, address))
        self._known[_place(account, address)] = None
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def begin_proof(self, account: str) -> None:
        """By somebody who is signed in and has to prove once more who they are; counted by itself,
        so that a browser left open shuts nobody out. Raises TooManyAttempts.
        """
        _refuse(self._proofs.check(account))
        self._proofs.failed(account)

    def proved(self, account: str) -> None:
        self._proofs.succeeded(account)

    def _bucket(self, account: str, address: str) -> str:
        """NIST SP 800-63B §3.2.2 allows to tell apart where a subscriber signed in before."""
        place = _place(account, address)
        return place if place in self._known else account


def _place(account: str, address: str) -> str:
    return f"{account} {address}"


def _refuse(wait: Wait | None) -> None:
    if wait is not None:
        raise TooManyAttempts(
            f"Too many attempts. Wait {wait.seconds} seconds and try again.",
            retry_after=wait.seconds,
        )
